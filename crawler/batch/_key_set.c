/* A set of 16-byte keys in memory, each with its first line; and a function that selects lines.
 *
 * The keys are spread over shards, each an open-addressing table with linear probing that grows by
 * itself: growing needs room for one shard more, not for the whole set. crawler/batch/key_set.py
 * uses it. Nothing here touches Python objects while the GIL is released.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { VERSION = 5 }; /* equals _VERSION in key_set.py; raise both when results change */
enum { KEY = 16, END = 4, SHARDS = 256, SMALLEST = 64, AHEAD = 8 };
/* Kinds of lines, as in key_set.py. NEEDED: a flag of a first line that is not canonical. */
enum { FIRST = 0, ALIKE = 1, MERGED = 2, NEEDED = 0x10 };

typedef struct {
    uint64_t high, low;
    uint64_t first; /* 0: empty; 2 * place + 3 of a canonical line; 2 * its number + 2 of another */
} Slot;

typedef struct {
    Slot *slots;
    uint64_t room, used;
} Shard;

typedef struct { /* a first line that is not canonical */
    uint64_t place, text;
    int32_t rules; /* that gave it its identity */
} Odd;

typedef struct {
    PyObject_HEAD
    Shard shards[SHARDS];
    Odd *odd;
    uint64_t odd_used, odd_room, used, most, bytes, limit, secret[2];
    atomic_int busy; /* a thread is at work, perhaps without the GIL */
} KeySet;

static inline uint64_t mixed(const KeySet *k, uint64_t low) {
    return (low ^ k->secret[0]) * (k->secret[1] | 1);
}

static inline Shard *shard_of(KeySet *k, uint64_t mix) { return &k->shards[mix >> 56]; }

static inline uint64_t slot_of(const Shard *shard, uint64_t mix) {
    return (uint64_t)((unsigned __int128)(mix << 8) * shard->room >> 64);
}

/* Return the slot of a key: its own, or the empty one where it belongs. */
static inline Slot *find(const Shard *shard, uint64_t mix, uint64_t high, uint64_t low) {
    uint64_t at = slot_of(shard, mix);
    for (;;) {
        Slot *slot = &shard->slots[at];
        if (!slot->first || (slot->low == low && slot->high == high)) return slot;
        if (++at == shard->room) at = 0;
    }
}

/* Grow a shard: double it while the set is small, later add a quarter. */
static int grow(KeySet *k, Shard *shard) {
    uint64_t room = k->bytes < k->limit / 4 ? 2 * shard->room : shard->room + shard->room / 4;
    Shard larger = {NULL, room < SMALLEST ? SMALLEST : room, shard->used};
    if (!(larger.slots = PyMem_RawCalloc((size_t)larger.room, sizeof(Slot)))) return 0;
    for (uint64_t i = 0; i < shard->room; i++) {
        const Slot *slot = &shard->slots[i];
        if (slot->first) *find(&larger, mixed(k, slot->low), slot->high, slot->low) = *slot;
    }
    k->bytes += (larger.room - shard->room) * sizeof(Slot);
    PyMem_RawFree(shard->slots);
    *shard = larger;
    return 1;
}

static int note_odd(KeySet *k, uint64_t place, uint64_t text, int32_t rules) {
    if (k->odd_used == k->odd_room) {
        uint64_t room = k->odd_room ? k->odd_room + k->odd_room / 2 : 1024;
        Odd *more = PyMem_RawRealloc(k->odd, (size_t)room * sizeof(Odd));
        if (!more) return 0;
        k->bytes += (room - k->odd_room) * sizeof(Odd);
        k->odd = more, k->odd_room = room;
    }
    k->odd[k->odd_used++] = (Odd){place, text, rules};
    return 1;
}

/* Add rows; write for each its kind, the place of its first line, and that line's rules. Return 0 if
 * memory is used up. */
static int add_rows(KeySet *k, Py_ssize_t count, const byte *keys, const uint64_t *texts,
                    const int32_t *rules, const uint64_t *places, byte *kinds, uint64_t *firsts,
                    int32_t *theirs) {
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t high, low;
        if (i + AHEAD < count) {
            uint64_t next;
            memcpy(&next, keys + KEY * (i + AHEAD) + 8, 8);
            next = mixed(k, next);
            const Shard *there = shard_of(k, next);
            if (there->room) __builtin_prefetch(&there->slots[slot_of(there, next)]);
        }
        memcpy(&high, keys + KEY * i, 8);
        memcpy(&low, keys + KEY * i + 8, 8);
        uint64_t mix = mixed(k, low);
        Shard *shard = shard_of(k, mix);
        if (5 * shard->used >= 4 * shard->room && !grow(k, shard)) return 0;
        Slot *slot = find(shard, mix, high, low);
        if (!slot->first) {
            if (texts[i] && !note_odd(k, places[i], texts[i], rules[i])) return 0;
            *slot = (Slot){high, low, texts[i] ? 2 * k->odd_used : 2 * places[i] + 3};
            shard->used++, k->used++;
            kinds[i] = texts[i] ? FIRST | NEEDED : FIRST;
            firsts[i] = places[i], theirs[i] = rules[i];
        } else if (slot->first & 1) {
            firsts[i] = (slot->first - 3) / 2, theirs[i] = 0;
            kinds[i] = texts[i] ? MERGED : ALIKE;
        } else {
            const Odd *odd = &k->odd[slot->first / 2 - 1];
            firsts[i] = odd->place, theirs[i] = odd->rules;
            kinds[i] = odd->text == texts[i] ? ALIKE : MERGED;
        }
    }
    return 1;
}

/* Take the set for this thread; return 0, with an error, if another one has it. */
static int take(KeySet *k) {
    int no = 0;
    if (atomic_compare_exchange_strong(&k->busy, &no, 1)) return 1;
    PyErr_SetString(PyExc_RuntimeError, "another thread is using this set");
    return 0;
}

/* Add rows of keys; return None if they may exceed the memory limit. */
static PyObject *set_add(PyObject *self, PyObject *args) {
    KeySet *k = (KeySet *)self;
    Py_buffer keys, texts, rules, places;
    PyObject *kinds = NULL, *firsts = NULL, *theirs = NULL, *made = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*y*", &keys, &texts, &rules, &places)) return NULL;
    Py_ssize_t count = keys.len / KEY;
    if (keys.len % KEY || texts.len != 8 * count || rules.len != 4 * count || places.len != 8 * count) {
        PyErr_SetString(PyExc_ValueError, "for each key of 16 bytes, 8 of text, 4 of rules and 8 of place");
        goto end;
    }
    if (!take(k)) goto end;
    if (k->used + (uint64_t)count > k->most || k->bytes + sizeof(Odd) * (uint64_t)count > k->limit) {
        made = Py_NewRef(Py_None);
        goto give;
    }
    kinds = PyBytes_FromStringAndSize(NULL, count);
    firsts = PyBytes_FromStringAndSize(NULL, 8 * count);
    theirs = PyBytes_FromStringAndSize(NULL, 4 * count);
    if (!kinds || !firsts || !theirs) goto give;
    byte *kind = (byte *)PyBytes_AS_STRING(kinds);
    uint64_t *first = (uint64_t *)PyBytes_AS_STRING(firsts);
    int32_t *acted = (int32_t *)PyBytes_AS_STRING(theirs);
    int done;
    Py_BEGIN_ALLOW_THREADS
    done = add_rows(k, count, keys.buf, texts.buf, rules.buf, places.buf, kind, first, acted);
    Py_END_ALLOW_THREADS
    made = done ? PyTuple_Pack(3, kinds, firsts, theirs) : PyErr_NoMemory();
give:
    atomic_store(&k->busy, 0);
end:
    Py_XDECREF(kinds);
    Py_XDECREF(firsts);
    Py_XDECREF(theirs);
    PyBuffer_Release(&keys);
    PyBuffer_Release(&texts);
    PyBuffer_Release(&rules);
    PyBuffer_Release(&places);
    return made;
}

/* Return the keys of one shard, with the hashes and places of their first lines. */
static PyObject *set_rows(PyObject *self, PyObject *number) {
    KeySet *k = (KeySet *)self;
    Py_ssize_t n = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0 || n >= SHARDS) return PyErr_Format(PyExc_IndexError, "there are %d shards", SHARDS);
    if (!take(k)) return NULL;
    const Shard *shard = &k->shards[n];
    PyObject *keys = PyBytes_FromStringAndSize(NULL, KEY * (Py_ssize_t)shard->used);
    PyObject *texts = PyBytes_FromStringAndSize(NULL, 8 * (Py_ssize_t)shard->used);
    PyObject *places = PyBytes_FromStringAndSize(NULL, 8 * (Py_ssize_t)shard->used), *made = NULL;
    if (keys && texts && places) {
        byte *key = (byte *)PyBytes_AS_STRING(keys), *text = (byte *)PyBytes_AS_STRING(texts);
        byte *place = (byte *)PyBytes_AS_STRING(places);
        for (uint64_t i = 0; i < shard->room; i++) {
            const Slot *slot = &shard->slots[i];
            if (!slot->first) continue;
            Odd odd = {(slot->first - 3) / 2, 0, 0};
            if (!(slot->first & 1)) odd = k->odd[slot->first / 2 - 1];
            memcpy(key, &slot->high, 8), memcpy(key + 8, &slot->low, 8), key += KEY;
            memcpy(text, &odd.text, 8), text += 8;
            memcpy(place, &odd.place, 8), place += 8;
        }
        made = PyTuple_Pack(3, keys, texts, places);
    }
    atomic_store(&k->busy, 0);
    Py_XDECREF(keys);
    Py_XDECREF(texts);
    Py_XDECREF(places);
    return made;
}

static Py_ssize_t set_length(PyObject *self) { return (Py_ssize_t)((KeySet *)self)->used; }

static int set_init(PyObject *self, PyObject *args, PyObject *named) {
    static char *words[] = {"limit", "secret", NULL};
    KeySet *k = (KeySet *)self;
    Py_buffer secret;
    unsigned long long limit;
    if (!PyArg_ParseTupleAndKeywords(args, named, "Ky*", words, &limit, &secret)) return -1;
    int fit = secret.len == sizeof k->secret && !k->limit && limit > 0;
    if (fit) {
        memcpy(k->secret, secret.buf, sizeof k->secret);
        k->limit = limit;
        k->most = limit * 64 / 100 / sizeof(Slot); /* 4/5 load, times 4/5 to leave room for growing */
    } else {
        PyErr_SetString(PyExc_ValueError, "a set has a limit above 0 and a secret of 16 bytes, once");
    }
    PyBuffer_Release(&secret);
    return fit ? 0 : -1;
}

static void set_dealloc(PyObject *self) {
    KeySet *k = (KeySet *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < SHARDS; i++) PyMem_RawFree(k->shards[i].slots);
    PyMem_RawFree(k->odd);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Copy the lines that a mask selects, each with a line end; return how many bytes, or -1 if the ends of
 * lines are not in the block. */
static Py_ssize_t copy_lines(const byte *s, Py_ssize_t length, const byte *mask, const byte *ends,
                             Py_ssize_t count, byte *out) {
    byte *at = out;
    uint32_t from = 0, to = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!mask[i]) continue;
        if (i) memcpy(&from, ends + END * (i - 1), sizeof from), from++;
        while (i + 1 < count && mask[i + 1]) i++; /* lines in a row */
        memcpy(&to, ends + END * i, sizeof to);
        if (from > to || to > length || at - out + to - from > length) return -1;
        memcpy(at, s + from, to - from);
        at += to - from;
        *at++ = '\n';
    }
    return at - out;
}

/* Return the lines of a block that a mask selects, given the ends of all lines. */
static PyObject *selected(PyObject *module, PyObject *args) {
    Py_buffer block, mask, ends;
    PyObject *made = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*", &block, &mask, &ends)) return NULL;
    Py_ssize_t size;
    if (ends.len != END * mask.len) {
        PyErr_SetString(PyExc_ValueError, "a mask has one byte for each line, and ends have four");
    } else if ((made = PyBytes_FromStringAndSize(NULL, block.len + 1))) {
        byte *out = (byte *)PyBytes_AS_STRING(made);
        Py_BEGIN_ALLOW_THREADS
        size = copy_lines(block.buf, block.len, mask.buf, ends.buf, mask.len, out);
        Py_END_ALLOW_THREADS
        if (size < 0) {
            Py_CLEAR(made);
            PyErr_SetString(PyExc_ValueError, "lines end in the block");
        } else {
            _PyBytes_Resize(&made, size);
        }
    }
    PyBuffer_Release(&block);
    PyBuffer_Release(&mask);
    PyBuffer_Release(&ends);
    return made;
}

static PyMethodDef methods[] = {
    {"add", set_add, METH_VARARGS, "Add keys; return what each line is, its first line, and the rules of that."},
    {"rows", set_rows, METH_O, "Return the keys, texts and places of a shard."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A set of keys, each with the place of its first line."},
    {Py_tp_init, set_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, set_dealloc},
    {Py_tp_methods, methods},
    {Py_sq_length, set_length},
    {0, NULL},
};

static PyType_Spec spec = {"canonry.crawler.batch._key_set.KeySet", sizeof(KeySet), 0,
                           Py_TPFLAGS_DEFAULT, slots};

static PyMethodDef functions[] = {
    {"selected", selected, METH_VARARGS, "Return the lines of a block that a mask selects."},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    int result = type ? PyModule_AddObjectRef(module, "KeySet", type) : -1;
    if (!result) result = PyModule_AddIntConstant(module, "VERSION", VERSION);
    if (!result) result = PyModule_AddIntConstant(module, "SHARDS", SHARDS);
    Py_XDECREF(type);
    return result;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* a set that is busy refuses other threads */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "canonry.crawler.batch._key_set", "Keys in memory.", 0, functions,
    module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__key_set(void) { return PyModuleDef_Init(&module); }
