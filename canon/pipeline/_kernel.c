/* The compiled fast path for most URLs: http or https, with an ordinary ASCII host.
 *
 * A Kernel gives the answer of the plain pipeline (canon/pipeline/canonicalizer.py), or None if it
 * cannot tell; tests/canon/pipeline/test_native.py compares the two. canon/pipeline/native.py
 * passes in, as tables, which characters are allowed where and which parameters are tracking.
 * Time is linear in the length of the text.
 */
#include "_kernel.h"

_Static_assert(COUNT < 31, "rules are bits of an int32_t that is not negative");
#define NAME(rule, name) name,
static const char *const names[COUNT] = {RULES(NAME)};

enum { HASH = 8, END = 4, MASK = 4, UNTOLD = -1, NO_KEY = -2, VERSION = 16 }; /* VERSION has to equal _VERSION in native.py: raise both when answers change */
static PyObject *string(PyObject *given, const byte *s, Py_ssize_t n, const byte *out, Py_ssize_t at) {
    if (at == n && PyUnicode_CheckExact(given) && !memcmp(s, out, (size_t)n)) return Py_NewRef(given);
    PyObject *made = PyUnicode_New(at, 127);
    if (made) memcpy(PyUnicode_1BYTE_DATA(made), out, (size_t)at);
    return made;
}

const byte *bytes_of(PyObject *given, Py_ssize_t *n) {
    if (PyUnicode_CheckExact(given) && PyUnicode_IS_COMPACT_ASCII(given)) {
        *n = PyUnicode_GET_LENGTH(given);
        return PyUnicode_1BYTE_DATA(given);
    }
    if (PyUnicode_CheckExact(given)) {
        const char *found = PyUnicode_AsUTF8AndSize(given, n);
        if (!found) PyErr_Clear(); /* a lone surrogate */
        return (const byte *)found;
    }
    if (!PyBytes_CheckExact(given)) return NULL;
    *n = PyBytes_GET_SIZE(given); /* bytes that are not UTF-8 are escaped, too */
    return (const byte *)PyBytes_AS_STRING(given);
}

/* Return the identity of a text of n bytes, or with ``whole`` its Canonical; None if we cannot tell.
 * A str that is canonical already is reused. The key is complete when the lanes were flushed. */
static PyObject *answer(const Kernel *k, PyObject *given, const byte *s, Py_ssize_t n, int whole, Lanes *lanes) {
    byte room[ROOM], *out = room;
    PyObject *identity = NULL, *url = NULL, *key = NULL, *made = NULL;
    Py_ssize_t at = n;
    int acted;
    if (!s) Py_RETURN_NONE;
    int same = is_canonical(k, s, n);
    if (!same) {
        if (n > fitting(ROOM) && !(out = PyMem_Malloc((size_t)room_for(n)))) return PyErr_NoMemory();
        if ((at = write_url(k, s, n, k->rules, out, &acted)) < 0) {
            made = Py_NewRef(Py_None);
            goto end;
        }
        same = at == n && !memcmp(s, out, (size_t)n) && !(k->rules & DECODE_ESCAPES);
    }
    if (!(identity = string(given, s, n, same ? s : out, at))) goto end;
    if (!whole) {
        made = Py_NewRef(identity);
        goto end;
    }
    if (!(key = PyBytes_FromStringAndSize(NULL, DIGEST))) goto end;
    if (same) { /* canonical already */
        url = Py_NewRef(identity);
    } else if ((at = write_url(k, s, n, REQUEST, out, &acted)) < 0) {
        made = Py_NewRef(Py_None);
        goto end;
    } else {
        url = string(given, s, n, out, at);
    }
    if (!url || !(made = k->canonical->tp_alloc(k->canonical, 3))) goto end;
    hash_later(lanes, k->keyed, BLOCK, PyUnicode_1BYTE_DATA(identity), PyUnicode_GET_LENGTH(identity),
               (byte *)PyBytes_AS_STRING(key), DIGEST);
    PyTuple_SET_ITEM(made, 0, Py_NewRef(url));
    PyTuple_SET_ITEM(made, 1, Py_NewRef(identity));
    PyTuple_SET_ITEM(made, 2, Py_NewRef(key));
    PyObject_GC_UnTrack(made); /* texts and bytes alone make no cycles: the collector need not look */
end:
    Py_XDECREF(identity);
    Py_XDECREF(url);
    Py_XDECREF(key);
    if (out != room) PyMem_Free(out);
    return made;
}

static PyObject *kernel_identity(PyObject *self, PyObject *text) {
    Py_ssize_t n = 0;
    const byte *s = bytes_of(text, &n);
    return answer((Kernel *)self, text, s, n, 0, NULL);
}

/* Return the Canonical of a text, or of a reference and its base; None if we cannot tell. */
static PyObject *kernel_canonical(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    byte room[ROOM], *joined = room;
    Py_ssize_t n = 0, m = 0, kept = 0;
    Lanes lanes;
    lanes.busy = 0;
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "a text, and perhaps a base");
    PyObject *given = args[0];
    const byte *s = bytes_of(given, &n);
    if (s && count == 2) {
        const byte *base = bytes_of(args[1], &m);
        if (!base || (kept = kept_of((Kernel *)self, base, m, s, n)) < 0) Py_RETURN_NONE;
        if (kept) {
            if (kept + n > ROOM && !(joined = PyMem_Malloc((size_t)(kept + n)))) return PyErr_NoMemory();
            memcpy(joined, base, (size_t)kept);
            memcpy(joined + kept, s, (size_t)n);
            given = Py_None, s = joined, n += kept;
        }
    }
    PyObject *made = answer((Kernel *)self, given, s, n, 1, &lanes);
    flush_lanes(&lanes);
    if (joined != room) PyMem_Free(joined);
    return made;
}

PyObject *copy_of(PyObject *list) {
#if PY_VERSION_HEX < 0x030C0000 /* a finalizer may run as soon as the tuple is allocated */
    int collects = PyGC_Disable();
    PyObject *copy = PyList_AsTuple(list);
    if (collects) PyGC_Enable();
    return copy;
#else
    return PyList_AsTuple(list);
#endif
}

/* Return the answers for a list of texts; where we cannot tell, those of a function, unless it is NULL. */
static PyObject *answers(const Kernel *k, PyObject *given, int whole, PyObject *otherwise) {
    if (!PyList_CheckExact(given)) return PyErr_Format(PyExc_TypeError, "a list is needed");
    PyObject *texts = copy_of(given);
    PyObject *made = texts ? PyList_New(PyTuple_GET_SIZE(texts)) : NULL;
    Lanes lanes; /* they write into keys that the list owns */
    lanes.busy = 0;
    if (made) PyObject_GC_UnTrack(made); /* nobody finds the list before it is complete */
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(texts); i++) {
        Py_ssize_t n = 0;
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        const byte *s = bytes_of(text, &n);
        PyObject *one = answer(k, text, s, n, whole, &lanes);
        if (one == Py_None && otherwise) {
            Py_DECREF(one);
            one = PyObject_CallOneArg(otherwise, text);
        }
        if (!one) {
            Py_CLEAR(made);
            break;
        }
        PyList_SET_ITEM(made, i, one);
    }
    if (made) {
        flush_lanes(&lanes);
        PyObject_GC_Track(made);
    }
    Py_XDECREF(texts);
    return made;
}

static PyObject *kernel_identities(PyObject *self, PyObject *given) {
    return answers((Kernel *)self, given, 0, NULL);
}

static PyObject *kernel_canonicals(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "a list, and perhaps a function");
    return answers((Kernel *)self, args[0], 1, count == 2 ? args[1] : NULL);
}

/* Of the table's rules, the kernel runs the late ones before the early ones. */
static int is_in_order(const Kernel *k, int acted) {
    int early = LETTER_CASE | ARCHIVE_ORDER, late = TRACKING | SESSION_ID;
    return !(acted & BY_PARSER) && !(k->rules & early && acted & late);
}

/* Return the rules that give a line its identity, as merging() finds them where the other spelling
 * shares none of them; UNTOLD if merging() has to be asked. */
static int32_t told(const Kernel *k, const byte *s, Py_ssize_t n, int acted) {
    if (n > fitting(ROOM) || !is_in_order(k, acted)) return UNTOLD;
    if (acted & ENCODE_DISALLOWED)
        for (Py_ssize_t i = 0; i < n; i++)
            if (s[i] >= 0x80) return UNTOLD; /* it may be no text */
    const byte *mark = memchr(s, '#', (size_t)n);
    if (mark && mark > s && mark[-1] <= ' ') return UNTOLD; /* the end of what is left without the fragment */
    return acted | (mark && mark + 1 < s + n ? FRAGMENT : 0);
}

/* Write the key of every line, the hash of its text if that is not canonical, and the rules that
 * acted. Uses no Python objects, so that it can run without the GIL. Return how many lines there
 * are, or ``count`` + 1 if there are more than ``count``; -1 if memory runs out. */
static Py_ssize_t key_lines(const Kernel *k, const byte *s, const byte *end, Py_ssize_t count, byte *key,
                            byte *text, byte *rules, byte *ends) {
    byte room[4 * ROOM], *out = room; /* of the lanes' texts that are not lines themselves */
    const byte *start = s;
    Py_ssize_t size = sizeof room, used = 0, line = 0;
    uint64_t plain[8];
    Lanes lanes;
    int acted;
    lanes.busy = 0;
    start_hash(plain, HASH, NULL, 0);
    for (int more = 1; more && line++ < count; key += DIGEST, text += HASH, rules += MASK, ends += END) {
        const byte *stop = memchr(s, '\n', (size_t)(end - s)), *identity = s;
        Py_ssize_t n = (stop ? stop : end) - s, at = n;
        uint32_t place = (uint32_t)(s + n - start);
        int32_t found = 0;
        memcpy(ends, &place, sizeof place);
        if (!is_canonical(k, s, n)) {
            if (used + room_for(n) > size) {
                flush_lanes(&lanes);
                used = 0;
            }
            if (room_for(n) > size) {
                byte *larger = PyMem_RawRealloc(out == room ? NULL : out, (size_t)room_for(n));
                if (!larger) {
                    line = -1;
                    break;
                }
                out = larger, size = room_for(n);
            }
            identity = out + used;
            at = write_url(k, s, n, k->rules, out + used, &acted);
            if (at != n || memcmp(s, identity, (size_t)n)) {
                hash_later(&lanes, plain, 0, s, n, text, HASH);
                found = at < 0 ? NO_KEY : told(k, s, n, acted);
            }
            if (at > 0) used += at;
        }
        memcpy(rules, &found, sizeof found);
        if (at >= 0) hash_later(&lanes, k->keyed, BLOCK, identity, at, key, DIGEST);
        more = stop != NULL;
        s = more ? stop + 1 : s;
    }
    flush_lanes(&lanes);
    if (out != room) PyMem_RawFree(out);
    return line;
}

/* Return, for all lines of a block: their keys, their hashes, the rules that acted, and where they
 * end. A canonical line has a hash of zeros: its key is enough. */
static PyObject *kernel_lines(PyObject *self, PyObject *args) {
    PyObject *given;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "Sn", &given, &count)) return NULL;
    const byte *s = (const byte *)PyBytes_AS_STRING(given), *end = s + PyBytes_GET_SIZE(given);
    if (count < 1 || count > end - s + 1 || end - s > UINT32_MAX) return PyErr_Format(PyExc_ValueError, "a block has one line or more, and less than 4 GiB");
    PyObject *keys = PyBytes_FromStringAndSize(NULL, DIGEST * count);
    PyObject *texts = PyBytes_FromStringAndSize(NULL, HASH * count);
    PyObject *rules = PyBytes_FromStringAndSize(NULL, MASK * count), *made = NULL;
    PyObject *ends = PyBytes_FromStringAndSize(NULL, END * count);
    if (keys && texts && rules && ends) {
        Py_ssize_t done;
        byte *key = (byte *)PyBytes_AS_STRING(keys), *text = (byte *)PyBytes_AS_STRING(texts);
        byte *mask = (byte *)PyBytes_AS_STRING(rules), *stop = (byte *)PyBytes_AS_STRING(ends);
        memset(key, 0, (size_t)(DIGEST * count));
        memset(text, 0, (size_t)(HASH * count));
        Py_BEGIN_ALLOW_THREADS
        done = key_lines((Kernel *)self, s, end, count, key, text, mask, stop);
        Py_END_ALLOW_THREADS
        if (done < 0) PyErr_NoMemory();
        else if (done != count) PyErr_SetString(PyExc_ValueError, "the block has another number of lines");
        else made = PyTuple_Pack(4, keys, texts, rules, ends);
    }
    Py_XDECREF(keys);
    Py_XDECREF(texts);
    Py_XDECREF(rules);
    Py_XDECREF(ends);
    return made;
}

/* Find the rules that act on a URL without a fragment; return 0 if they alone do not explain its identity. */
static int find_rules(const Kernel *k, Name url, int *rules) {
    byte out[ROOM];
    if (url.length > fitting(ROOM) || write_url(k, url.text, url.length, k->rules, out, rules) < 0) return 0;
    return is_in_order(k, *rules);
}

/* What a rule removed and inserted, within the URL before and after it. */
typedef struct {
    byte room[2][ROOM]; /* of the URL: the last text, and the one before it */
    int last, done;     /* which is the last; the rules that led to it; -1: there is none yet */
    Py_ssize_t n;       /* its length */
    Name removed, inserted;
} Change;

/* Find what one of the rules that act on a URL changes, after those before it; return 0 if we cannot tell. */
static int find_change(const Kernel *k, Name url, int rules, int rule, Change *change) {
    byte *before = change->room[change->last], *after = change->room[!change->last];
    int acted, earlier = rules & (rule - 1);
    Py_ssize_t n = change->n, m, head = 0, tail = 0;
    if (change->done != earlier && earlier) n = write_url(k, url.text, url.length, k->rules & (rule - 1), before, &acted);
    else if (change->done != earlier) memcpy(before, url.text, (size_t)(n = url.length));
    m = write_url(k, url.text, url.length, k->rules & (2 * rule - 1), after, &acted);
    if (n < 0 || m < 0) return 0;
    while (head < n && head < m && before[head] == after[head]) head++;
    while (tail < n - head && tail < m - head && before[n - 1 - tail] == after[m - 1 - tail]) tail++;
    change->removed = (Name){before + head, n - head - tail};
    change->inserted = (Name){after + head, m - head - tail};
    change->last = !change->last, change->done = earlier | rule, change->n = m;
    return 1;
}

static int differ(Name a, Name b) { return a.length != b.length || (a.length && memcmp(a.text, b.text, (size_t)a.length)); }

/* Cut the fragment off a URL and return it; the same for none and an empty one. */
static Name cut_fragment(Name *url) {
    const byte *mark = url->length ? memchr(url->text, '#', (size_t)url->length) : NULL;
    if (!mark) return (Name){NULL, 0};
    Name fragment = {mark + 1, url->text + url->length - mark - 1};
    url->length = mark - url->text;
    return fragment;
}

/* Return the rules that merge two spellings, or one and its identity if the other has no text: those
 * that changed one in a way in which they did not change the other; UNTOLD if we cannot tell. */
static int32_t merging(const Kernel *k, Name one, Name other) {
    Change a, b;
    int found = 0, ones, others = 0;
    if (k->rules & FRAGMENT) { /* other changes in it do not count */
        Name end = cut_fragment(&one);
        if (differ(end, cut_fragment(&other))) found = FRAGMENT;
    }
    if (other.text && !differ(one, other)) return found;
    if (!find_rules(k, one, &ones) || (other.text && !find_rules(k, other, &others))) return UNTOLD;
    found |= ones ^ others;
    a.last = b.last = 0, a.done = b.done = -1;
    for (int both = ones & others; both; both &= both - 1) {
        int rule = both & -both;
        if (!find_change(k, one, ones, rule, &a) || !find_change(k, other, others, rule, &b)) return UNTOLD;
        if (differ(a.removed, b.removed) || differ(a.inserted, b.inserted)) found |= rule;
    }
    return found;
}

/* Borrow the bytes of a text; return 0 if it has none, or if they are escapes to the pipeline. */
static int text_of(PyObject *given, Name *url) {
    Py_ssize_t plain = 0;
    if (!(url->text = bytes_of(given, &url->length))) return 0;
    while (PyBytes_CheckExact(given) && plain < url->length && url->text[plain] < 0x80) plain++;
    if (!PyBytes_CheckExact(given) || plain == url->length) return 1;
    PyObject *text = PyUnicode_DecodeUTF8((const char *)url->text, url->length, "strict");
    if (!text) PyErr_Clear();
    Py_XDECREF(text);
    return text != NULL;
}

/* Return the rules that merge each of some texts with another, or with its identity if that is None. */
static PyObject *kernel_merging(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "two lists of one length are needed");
    PyObject *ones = copy_of(args[0]), *others = copy_of(args[1]), *made = NULL;
    Py_ssize_t size = ones ? PyTuple_GET_SIZE(ones) : 0;
    if (ones && others && PyTuple_GET_SIZE(others) != size)
        PyErr_SetString(PyExc_TypeError, "two lists of one length are needed");
    else if (ones && others) made = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(int32_t));
    for (Py_ssize_t i = 0; made && i < size; i++) {
        PyObject *other = PyTuple_GET_ITEM(others, i);
        Name url, same = {NULL, 0};
        int given = text_of(PyTuple_GET_ITEM(ones, i), &url) && (other == Py_None || text_of(other, &same));
        int32_t rules = given ? merging((Kernel *)self, url, same) : UNTOLD;
        memcpy(PyBytes_AS_STRING(made) + i * (Py_ssize_t)sizeof rules, &rules, sizeof rules);
    }
    Py_XDECREF(ones);
    Py_XDECREF(others);
    return made;
}

/* Point to the names in a tuple of bytes. */
static int name_all(Names *names, PyObject *tuple) {
    if (!PyTuple_CheckExact(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a list of names has to be a tuple");
        return -1;
    }
    names->all = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof *names->all);
    if (!names->all) {
        PyErr_NoMemory();
        return -1;
    }
    for (; names->count < PyTuple_GET_SIZE(tuple); names->count++) {
        char *text;
        Name *name = &names->all[names->count];
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, names->count), &text, &name->length) < 0) return -1;
        name->text = (const byte *)text;
    }
    return 0;
}

/* Return the rules that a tuple names, as bits; -1 if one is unknown. */
static int rules_of(PyObject *tuple) {
    int found = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        size_t n = 0;
        PyObject *name = PyTuple_GET_ITEM(tuple, i);
        while (n < COUNT && !(PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, names[n]))) n++;
        if (n == COUNT) {
            PyErr_Format(PyExc_ValueError, "no rule %R", name);
            return -1;
        }
        found |= 1 << n;
    }
    return found;
}

static int kernel_init(PyObject *self, PyObject *args, PyObject *named) {
    static char *words[] = {"canonical", "label", "tables", "rules", "lists", NULL};
    Kernel *k = (Kernel *)self;
    PyObject *canonical, *rules, *lists;
    Py_buffer label = {0}, tables = {0};
    int result = -1;
    if (k->canonical) {
        PyErr_SetString(PyExc_TypeError, "a kernel is initialized only once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!y*y*O!O!", words, &PyType_Type, &canonical,
                                     &label, &tables, &PyTuple_Type, &rules, &PyTuple_Type, &lists))
        return -1;
    if (tables.len != 7 * 256 || label.len < 1 || label.len > LONGEST_KEY || PyTuple_GET_SIZE(lists) != 4 ||
        k->lists || !PyType_IsSubtype((PyTypeObject *)canonical, &PyTuple_Type)) {
        PyErr_SetString(PyExc_ValueError, "seven tables of 256, a label of 1 to 64 bytes, four lists, a tuple");
        goto end;
    }
    const byte *table = tables.buf;
    memcpy(k->request_path, table, 256);
    memcpy(k->request_query, table + 256, 256);
    memcpy(k->identity_path, table + 512, 256);
    memcpy(k->identity_query, table + 768, 256);
    memcpy(k->unreserved, table + 1024, 256);
    memcpy(k->heuristics.path, table + 1280, 256);
    memcpy(k->heuristics.query, table + 1536, 256);
    if ((k->rules = rules_of(rules)) < 0) goto end;
    k->rules |= LOSSLESS;
    k->lists = Py_NewRef(lists);
    Names *names[] = {&k->tracking, &k->leading, &k->heuristics.session, &k->heuristics.index_files};
    for (Py_ssize_t i = 0; i < 4; i++)
        if (name_all(names[i], PyTuple_GET_ITEM(lists, i)) < 0) goto end;
    prepare(k);
    start_hash(k->keyed, DIGEST, label.buf, (int)label.len);
    k->canonical = (PyTypeObject *)Py_NewRef(canonical);
    result = 0;
end:
    PyBuffer_Release(&label);
    PyBuffer_Release(&tables);
    return result;
}

static void kernel_dealloc(PyObject *self) {
    Kernel *k = (Kernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(k->tracking.all);
    PyMem_Free(k->leading.all);
    PyMem_Free(k->heuristics.session.all);
    PyMem_Free(k->heuristics.index_files.all);
    Py_XDECREF(k->lists);
    Py_XDECREF(k->canonical);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"identity", kernel_identity, METH_O, "Return the identity of a text, or None."},
    {"canonical", (PyCFunction)(void (*)(void))kernel_canonical, METH_FASTCALL, "Return the Canonical of a text, or of a reference and its base, or None."},
    {"identities", kernel_identities, METH_O, "Return the identity, or None, of each in a list."},
    {"canonicals", (PyCFunction)(void (*)(void))kernel_canonicals, METH_FASTCALL, "Return the Canonical, or None, of each in a list; or what a function returns instead of None."},
    {"lines", kernel_lines, METH_VARARGS, "Return the keys of so many lines, hashes of those not canonical, which rules acted (-1: unknown; -2: no key), and where the lines end."},
    {"merging", (PyCFunction)(void (*)(void))kernel_merging, METH_FASTCALL, "Return the rules that merge each of some texts with another, as bits of an int32_t; -1: unknown."},
    {"column", kernel_column, METH_VARARGS, "Return the identities of an Arrow column, and perhaps the keys."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Gives the plain pipeline's answers for ordinary web URLs."},
    {Py_tp_init, kernel_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"canonry.canon.pipeline._kernel.Kernel", sizeof(Kernel), 0, Py_TPFLAGS_DEFAULT, slots};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    PyObject *rules = PyTuple_New(COUNT);
    int result = type && rules ? PyModule_AddObjectRef(module, "Kernel", type) : -1;
    for (int i = 0; !result && i < COUNT; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        result = name ? PyTuple_SetItem(rules, i, name) : -1;
    }
    if (!result) result = PyModule_AddObjectRef(module, "RULES", rules);
    if (!result) result = PyModule_AddIntConstant(module, "VERSION", VERSION);
    Py_XDECREF(rules);
    Py_XDECREF(type);
    return result;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* a kernel never changes once it is made */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "canonry.canon.pipeline._kernel", "The compiled fast path.", 0, NULL, module_slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
