/* The identities and keys of an Arrow column of texts, written as Arrow's buffers, into memory that the
 * caller allocates: Arrow keeps what it has freed, and Python's bytes would be new pages each time.
 *
 * The results are those of single URLs.
 */
#include "_kernel.h"

typedef struct {
    const byte *data, *offsets, *valid; /* of Arrow; valid is NULL if no value is missing */
    Py_ssize_t size;                    /* bytes of data */
    int wide;                           /* offsets of 8 bytes */
    Py_ssize_t first, count, row;       /* the bit of row 0 in valid; rows; the next one */
    byte *out, *keys, *bits, *ends;     /* identities in a row; keys, or NULL; which rows have them; int32_t */
    Py_ssize_t room, used;              /* bytes of out */
} Column;

typedef struct { /* memory of the caller's */
    PyObject *owner;
    Py_buffer view;
} Memory;

static void release(Memory *memory) {
    if (memory->owner) PyBuffer_Release(&memory->view);
    Py_CLEAR(memory->owner);
}

/* Let a function allocate n bytes; return NULL for an error. */
static byte *allocate(Memory *memory, PyObject *function, Py_ssize_t n) {
    PyObject *made = PyObject_CallFunction(function, "n", n);
    if (!made) return NULL;
    if (PyObject_GetBuffer(made, &memory->view, PyBUF_WRITABLE) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    memory->owner = made;
    if (memory->view.len == n) return memory->view.buf;
    release(memory);
    PyErr_SetString(PyExc_ValueError, "memory has another size than it was asked for");
    return NULL;
}

static const char OFFSETS[] = "offsets have to increase, and to stay in the data";

enum Stop { ALL_WRITTEN, NO_ROOM, NOT_KNOWN, NO_PLACE };

/* Return an offset of an Arrow column of texts: where a value begins, and the one before it ends. */
static int64_t place(const Column *c, Py_ssize_t i) {
    int64_t large;
    int32_t small;
    if (c->wide) memcpy(&large, c->offsets + 8 * i, sizeof large);
    else memcpy(&small, c->offsets + 4 * i, sizeof small), large = small;
    return large;
}

/* Return how many bytes some rows have, from ``*begin`` on; -1 if these are not in the data. Each
 * use checks this again: a callback for other rows, or another thread, may have changed offsets. */
static Py_ssize_t length_of(const Column *c, Py_ssize_t row, Py_ssize_t next, const byte **begin) {
    int64_t from = place(c, row), to = place(c, next);
    if (from < 0 || to < from || to > c->size) return -1;
    *begin = c->data + from;
    return (Py_ssize_t)(to - from);
}

static void put_end(Column *c, Py_ssize_t i) {
    int32_t end = (int32_t)c->used;
    memcpy(c->ends + 4 * (i + 1), &end, sizeof end);
}

/* Write the rows from the next one on, until one is not known or needs more room. Uses no Python
 * objects, so that it can run without the GIL. */
static enum Stop write_column(const Kernel *k, Column *c) {
    enum Stop stop = ALL_WRITTEN;
    Lanes lanes;
    int acted;
    lanes.busy = 0;
    for (; c->row < c->count; c->row++) {
        Py_ssize_t i = c->row, bit = c->first + i, n, at;
        if (!c->valid || c->valid[bit / 8] >> bit % 8 & 1) {
            const byte *s;
            Py_ssize_t left = c->room - c->used;
            if ((n = length_of(c, i, i + 1, &s)) < 0) stop = NO_PLACE;
            else if (n <= left && is_canonical(k, s, n)) memcpy(c->out + c->used, s, (size_t)(at = n));
            else if (n > fitting(left)) stop = NO_ROOM;
            else if ((at = write_url(k, s, n, k->rules, c->out + c->used, &acted)) < 0) stop = NOT_KNOWN;
            if (stop) break;
            if (c->keys) hash_later(&lanes, k->keyed, BLOCK, c->out + c->used, at, c->keys + DIGEST * i, DIGEST);
            c->bits[i / 8] |= (byte)(1 << i % 8);
            c->used += at;
        } else if (c->keys) {
            memset(c->keys + DIGEST * i, 0, DIGEST);
        }
        put_end(c, i);
    }
    flush_lanes(&lanes);
    return stop;
}

/* Make room for n bytes more; -1 if there is none, or if Arrow's offsets could not count them. */
static int grow(Column *c, Memory *texts, PyObject *function, Py_ssize_t n) {
    Memory larger = {0};
    Py_ssize_t most = c->used + n;
    if (most < c->room + c->room / 2) most = c->room + c->room / 2;
    if (c->used + n > INT32_MAX) return -1;
    byte *out = allocate(&larger, function, most);
    if (!out) return -1;
    memcpy(out, c->out, (size_t)c->used);
    release(texts);
    *texts = larger, c->out = out, c->room = most;
    return 0;
}

/* Write what a function returns for the next row: a pair of its identity and its key, or None. */
static int write_answer(Column *c, Memory *texts, PyObject *function, PyObject *answer) {
    PyObject *identity, *key;
    Py_ssize_t i = c->row++, n;
    if (answer != Py_None) {
        if (!PyTuple_Check(answer)) PyErr_SetString(PyExc_TypeError, "an identity and a key are needed");
        if (PyErr_Occurred() || !PyArg_ParseTuple(answer, "SS", &identity, &key)) return -1;
        n = PyBytes_GET_SIZE(identity);
        if (PyBytes_GET_SIZE(key) != DIGEST) {
            PyErr_SetString(PyExc_ValueError, "a key has 16 bytes");
            return -1;
        }
        if (n > c->room - c->used && grow(c, texts, function, n) < 0) return -1;
        memcpy(c->out + c->used, PyBytes_AS_STRING(identity), (size_t)n);
        if (c->keys) memcpy(c->keys + DIGEST * i, PyBytes_AS_STRING(key), DIGEST);
        c->bits[i / 8] |= (byte)(1 << i % 8);
        c->used += n;
    } else if (c->keys) {
        memset(c->keys + DIGEST * i, 0, DIGEST);
    }
    put_end(c, i);
    return 0;
}

/* Write all rows. ``function`` allocates, ``otherwise`` answers for unknown rows, ``texts`` has
 * c->room bytes. Return -1 for an error, or without one if Arrow's offsets cannot count the bytes
 * of the identities. */
static int write_rows(const Kernel *k, Column *c, Memory *texts, PyObject *function, PyObject *otherwise) {
    for (;;) {
        enum Stop stop;
        Py_BEGIN_ALLOW_THREADS
        stop = write_column(k, c);
        Py_END_ALLOW_THREADS
        if (stop == ALL_WRITTEN) return c->used > INT32_MAX ? -1 : 0;
        const byte *s;
        Py_ssize_t n = length_of(c, c->row, c->row + 1, &s);
        if (stop == NO_PLACE || n < 0) {
            PyErr_SetString(PyExc_ValueError, OFFSETS);
            return -1;
        }
        if (stop == NO_ROOM) {
            if (grow(c, texts, function, room_for(n)) < 0) return -1;
            continue;
        }
        PyObject *answer = PyObject_CallFunction(otherwise, "n", c->row);
        int failed = !answer || write_answer(c, texts, function, answer) < 0;
        Py_XDECREF(answer);
        if (failed) return -1;
    }
}

/* Return, for an Arrow column of texts: the bytes of their identities and how many these are, the offsets, the
 * keys or None, and a bit for each row that says whether it has them; None if the identities are too long. */
PyObject *kernel_column(PyObject *self, PyObject *args) {
    Py_buffer data, offsets, valid = {0};
    PyObject *given, *function, *otherwise, *made = NULL;
    Memory texts = {0}, ends = {0}, keys = {0}, bits = {0};
    const byte *begin;
    int with_keys;
    Column c = {0};
    if (!PyArg_ParseTuple(args, "y*y*pOnpOO", &data, &offsets, &c.wide, &given, &c.first, &with_keys, &function, &otherwise))
        return NULL;
    Py_ssize_t each = c.wide ? 8 : 4;
    c.count = offsets.len / each - 1;
    if (given != Py_None && PyObject_GetBuffer(given, &valid, PyBUF_SIMPLE) < 0) goto end;
    c.data = data.buf, c.size = data.len, c.offsets = offsets.buf, c.valid = valid.buf;
    if (offsets.len % each || c.count < 0 || (c.room = length_of(&c, 0, c.count, &begin)) < 0) {
        PyErr_SetString(PyExc_ValueError, OFFSETS);
        goto end;
    }
    if (c.first < 0 || (valid.obj && c.first > 8 * valid.len - c.count)) {
        PyErr_SetString(PyExc_ValueError, "each row needs a bit");
        goto end;
    }
    c.room += c.count + ROOM;
    if (!(c.out = allocate(&texts, function, c.room))) goto end;
    if (!(c.ends = allocate(&ends, function, 4 * (c.count + 1)))) goto end;
    if (!(c.bits = allocate(&bits, function, (c.count + 7) / 8))) goto end;
    if (with_keys && !(c.keys = allocate(&keys, function, DIGEST * c.count))) goto end;
    memset(c.ends, 0, 4);
    memset(c.bits, 0, (size_t)(c.count + 7) / 8);
    if (!write_rows((Kernel *)self, &c, &texts, function, otherwise)) {
        made = Py_BuildValue("OnOOO", texts.owner, c.used, ends.owner, with_keys ? keys.owner : Py_None, bits.owner);
    } else if (!PyErr_Occurred()) {
        made = Py_NewRef(Py_None);
    }
end:
    release(&texts);
    release(&ends);
    release(&keys);
    release(&bits);
    PyBuffer_Release(&data);
    PyBuffer_Release(&offsets);
    if (valid.obj) PyBuffer_Release(&valid);
    return made;
}
