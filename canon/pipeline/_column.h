/* The identities and keys of an Arrow column of texts, written as Arrow's buffers, into memory that the
 * caller allocates: Arrow keeps what it has freed, and Python's bytes would be new pages each time.
 *
 * Whatever holds for a single URL holds here; _kernel.c includes this file.
 */
#ifndef CANONRY_COLUMN_H
#define CANONRY_COLUMN_H

typedef struct {
    const byte *data, *offsets, *valid; /* of Arrow; valid is NULL if no value is missing */
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

/* Let a function allocate n bytes; NULL is an error. */
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

enum Stop { ALL_WRITTEN, NO_ROOM, NOT_KNOWN };

/* Return where a value of an Arrow column of texts begins, or with the next one ends. */
static int64_t place(const byte *offsets, int wide, Py_ssize_t i) {
    int64_t large;
    int32_t small;
    if (wide) memcpy(&large, offsets + 8 * i, sizeof large);
    else memcpy(&small, offsets + 4 * i, sizeof small), large = small;
    return large;
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
    lanes.busy = 0;
    for (; c->row < c->count; c->row++) {
        Py_ssize_t i = c->row, bit = c->first + i, n, at;
        if (!c->valid || c->valid[bit / 8] >> bit % 8 & 1) {
            const byte *s = c->data + place(c->offsets, c->wide, i);
            n = (Py_ssize_t)(place(c->offsets, c->wide, i + 1) - place(c->offsets, c->wide, i));
            Py_ssize_t left = c->room - c->used;
            if (n <= left && is_canonical(k, s, n)) memcpy(c->out + c->used, s, (size_t)(at = n));
            else if (n > (left - 8) / 3) stop = NO_ROOM;
            else if ((at = write_url(k, s, n, 1, c->out + c->used)) < 0) stop = NOT_KNOWN;
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

/* Write all rows; a function allocates, another tells what we do not know. ``texts`` has c->room bytes. Return -1
 * for an error, or without one if there are more bytes of identities than Arrow's offsets can count. */
static int write_rows(const Kernel *k, Column *c, Memory *texts, PyObject *function, PyObject *otherwise) {
    for (;;) {
        enum Stop stop;
        Py_BEGIN_ALLOW_THREADS
        stop = write_column(k, c);
        Py_END_ALLOW_THREADS
        if (stop == ALL_WRITTEN) return c->used > INT32_MAX ? -1 : 0;
        if (stop == NO_ROOM) {
            int64_t n = place(c->offsets, c->wide, c->row + 1) - place(c->offsets, c->wide, c->row);
            if (grow(c, texts, function, 3 * (Py_ssize_t)n + 8) < 0) return -1;
            continue;
        }
        PyObject *answer = PyObject_CallFunction(otherwise, "n", c->row);
        int failed = !answer || write_answer(c, texts, function, answer) < 0;
        Py_XDECREF(answer);
        if (failed) return -1;
    }
}

/* Return 1 if offsets increase and stay within so many bytes. */
static int are_places(const byte *offsets, int wide, Py_ssize_t count, Py_ssize_t size) {
    int64_t last = count < 0 ? -1 : place(offsets, wide, 0);
    for (Py_ssize_t i = 1; last >= 0 && i <= count; i++) {
        int64_t next = place(offsets, wide, i);
        last = next < last ? -1 : next;
    }
    return last >= 0 && last <= size;
}

/* Return, for an Arrow column of texts: the bytes of their identities and how many these are, the offsets, the
 * keys or None, and a bit for each row that says whether it has them; None if the identities are too long. */
static PyObject *kernel_column(PyObject *self, PyObject *args) {
    Py_buffer data, offsets, valid = {0};
    PyObject *given, *function, *otherwise, *made = NULL;
    Memory texts = {0}, ends = {0}, keys = {0}, bits = {0};
    int with_keys;
    Column c = {0};
    if (!PyArg_ParseTuple(args, "y*y*pOnpOO", &data, &offsets, &c.wide, &given, &c.first, &with_keys, &function, &otherwise))
        return NULL;
    Py_ssize_t each = c.wide ? 8 : 4;
    c.count = offsets.len / each - 1;
    if (given != Py_None && PyObject_GetBuffer(given, &valid, PyBUF_SIMPLE) < 0) goto end;
    if (offsets.len % each || !are_places(offsets.buf, c.wide, c.count, data.len)) {
        PyErr_SetString(PyExc_ValueError, "offsets have to increase, and to stay in the data");
        goto end;
    }
    if (c.first < 0 || (valid.obj && c.first + c.count > 8 * valid.len)) {
        PyErr_SetString(PyExc_ValueError, "each row needs a bit");
        goto end;
    }
    c.data = data.buf, c.offsets = offsets.buf, c.valid = valid.buf;
    c.room = (Py_ssize_t)(place(c.offsets, c.wide, c.count) - place(c.offsets, c.wide, 0)) + c.count + ROOM;
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

#endif
