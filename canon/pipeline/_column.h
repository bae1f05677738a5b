/* The identities and keys of an Arrow column of texts, written as Arrow's buffers.
 *
 * Whatever holds for a single URL holds here; _kernel.c includes this file.
 */
#ifndef CANONRY_COLUMN_H
#define CANONRY_COLUMN_H

typedef struct {
    const byte *data, *offsets, *valid; /* of Arrow; valid is NULL if no value is missing */
    int wide;                           /* offsets of 8 bytes */
    Py_ssize_t first, count, row;       /* the bit of row 0 in valid; rows; the next one */
    byte *out, *keys, *bits;            /* identities in a row; keys, or NULL; which rows have them */
    int32_t *ends;                      /* of identities */
    Py_ssize_t room, used;              /* bytes of out */
} Column;

enum Stop { ALL_WRITTEN, NO_ROOM, NOT_KNOWN };

/* Return where a value of an Arrow column of texts begins, or with the next one ends. */
static int64_t place(const byte *offsets, int wide, Py_ssize_t i) {
    int64_t large;
    int32_t small;
    if (wide) memcpy(&large, offsets + 8 * i, sizeof large);
    else memcpy(&small, offsets + 4 * i, sizeof small), large = small;
    return large;
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
            if (n > (c->room - c->used - 8) / 3) stop = NO_ROOM;
            else if ((at = write_url(k, s, n, 1, c->out + c->used)) < 0) stop = NOT_KNOWN;
            if (stop) break;
            if (c->keys) hash_later(&lanes, k->keyed, BLOCK, c->out + c->used, at, c->keys + DIGEST * i, DIGEST);
            c->bits[i / 8] |= (byte)(1 << i % 8);
            c->used += at;
        }
        c->ends[i + 1] = (int32_t)c->used;
    }
    flush_lanes(&lanes);
    return stop;
}

/* Make room for n bytes more; -1 if there is none, or if Arrow's offsets could not count them. */
static int grow(Column *c, PyObject **texts, Py_ssize_t n) {
    Py_ssize_t most = c->used + n;
    if (most < c->room + c->room / 2) most = c->room + c->room / 2;
    if (c->used + n > INT32_MAX) return -1;
    if (_PyBytes_Resize(texts, most) < 0) return -1;
    c->out = (byte *)PyBytes_AS_STRING(*texts);
    c->room = most;
    return 0;
}

/* Write what a function returns for the next row: a pair of its identity and its key, or None. */
static int write_answer(Column *c, PyObject **texts, PyObject *answer) {
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
        if (n > c->room - c->used && grow(c, texts, n) < 0) return -1;
        memcpy(c->out + c->used, PyBytes_AS_STRING(identity), (size_t)n);
        if (c->keys) memcpy(c->keys + DIGEST * i, PyBytes_AS_STRING(key), DIGEST);
        c->bits[i / 8] |= (byte)(1 << i % 8);
        c->used += n;
    }
    c->ends[i + 1] = (int32_t)c->used;
    return 0;
}

/* Write all rows; a function tells those that we do not know. ``texts`` has c->room bytes. Return -1
 * for an error, or without one if there are more bytes of identities than Arrow's offsets can count. */
static int write_rows(const Kernel *k, Column *c, PyObject **texts, PyObject *otherwise) {
    for (;;) {
        enum Stop stop;
        Py_BEGIN_ALLOW_THREADS
        stop = write_column(k, c);
        Py_END_ALLOW_THREADS
        if (stop == ALL_WRITTEN) return c->used > INT32_MAX ? -1 : 0;
        if (stop == NO_ROOM) {
            int64_t n = place(c->offsets, c->wide, c->row + 1) - place(c->offsets, c->wide, c->row);
            if (grow(c, texts, 3 * (Py_ssize_t)n + 8) < 0) return -1;
            continue;
        }
        PyObject *answer = PyObject_CallFunction(otherwise, "n", c->row);
        int failed = !answer || write_answer(c, texts, answer) < 0;
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

/* Return, for an Arrow column of texts: the bytes of their identities, the offsets of these, the keys if
 * they are wanted, and a bit for each row that says whether it has them; None if the identities are too long. */
static PyObject *kernel_column(PyObject *self, PyObject *args) {
    Py_buffer data, offsets, valid = {0};
    PyObject *given, *otherwise, *made = NULL, *texts = NULL, *ends = NULL, *keys = NULL, *bits = NULL;
    int with_keys;
    Column c = {0};
    if (!PyArg_ParseTuple(args, "y*y*pOnpO", &data, &offsets, &c.wide, &given, &c.first, &with_keys, &otherwise))
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
    texts = PyBytes_FromStringAndSize(NULL, c.room);
    ends = PyBytes_FromStringAndSize(NULL, 4 * (c.count + 1));
    keys = PyBytes_FromStringAndSize(NULL, with_keys ? DIGEST * c.count : 0);
    bits = PyBytes_FromStringAndSize(NULL, (c.count + 7) / 8);
    if (!texts || !ends || !keys || !bits) goto end;
    c.out = (byte *)PyBytes_AS_STRING(texts);
    c.ends = (int32_t *)(void *)PyBytes_AS_STRING(ends);
    c.keys = with_keys ? (byte *)PyBytes_AS_STRING(keys) : NULL;
    c.bits = (byte *)PyBytes_AS_STRING(bits);
    c.ends[0] = 0;
    memset(c.bits, 0, (size_t)(c.count + 7) / 8);
    if (with_keys) memset(c.keys, 0, (size_t)(DIGEST * c.count));
    if (!write_rows((Kernel *)self, &c, &texts, otherwise)) {
        if (_PyBytes_Resize(&texts, c.used) == 0) made = PyTuple_Pack(4, texts, ends, keys, bits);
    } else if (!PyErr_Occurred()) {
        made = Py_NewRef(Py_None);
    }
end:
    Py_XDECREF(texts);
    Py_XDECREF(ends);
    Py_XDECREF(keys);
    Py_XDECREF(bits);
    PyBuffer_Release(&data);
    PyBuffer_Release(&offsets);
    if (valid.obj) PyBuffer_Release(&valid);
    return made;
}

#endif
