/* How often each line of a text occurs, as for the hosts of a block. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

PyObject *tally(PyObject *module, PyObject *args); /* for _key_set.c */

typedef struct { /* a line, and how often it has occurred */
    const byte *text;
    Py_ssize_t size;
    uint64_t hash, count;
} Counted;

typedef struct {
    Counted *lines; /* in the order in which they first occurred */
    uint32_t *slots; /* open addressing: the number of a line and one; 0: empty */
    uint64_t used, mask;
} Tally;

static inline uint64_t folded(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* Hash a line with random bytes: nobody can choose lines that collide. */
static inline uint64_t hash_line(const byte *text, Py_ssize_t size, const uint64_t secret[2]) {
    uint64_t hash = secret[0] ^ (uint64_t)size, part;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&part, text, 8);
        hash = folded(hash ^ part, secret[1] | 1);
    }
    part = 0;
    for (Py_ssize_t i = 0; i < size; i++) part = part << 8 | text[i];
    return folded(hash ^ part, secret[1] | 1);
}

/* Give the slots twice as much room, and the lines half of that; return 0 without memory. */
static int widen(Tally *t) {
    uint64_t room = t->mask ? 2 * (t->mask + 1) : 1024;
    uint32_t *slots = PyMem_RawCalloc((size_t)room, sizeof *slots);
    Counted *lines = slots ? PyMem_RawRealloc(t->lines, (size_t)room / 2 * sizeof *lines) : NULL;
    if (!lines) {
        PyMem_RawFree(slots);
        return 0;
    }
    t->lines = lines, t->mask = room - 1;
    PyMem_RawFree(t->slots);
    t->slots = slots;
    for (uint64_t n = 0; n < t->used; n++) {
        uint64_t at = lines[n].hash & t->mask;
        while (slots[at]) at = (at + 1) & t->mask;
        slots[at] = (uint32_t)n + 1;
    }
    return 1;
}

/* Count lines, each of which ends with a line feed; return 0 without memory. */
static int count_lines(Tally *t, const byte *s, const byte *end, const uint64_t secret[2]) {
    const byte *stop;
    for (; s < end && (stop = memchr(s, '\n', (size_t)(end - s))); s = stop + 1) {
        Py_ssize_t size = stop - s;
        uint64_t hash = hash_line(s, size, secret), at;
        if (2 * t->used >= t->mask && !widen(t)) return 0;
        Counted *line = NULL;
        for (at = hash & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
            line = &t->lines[t->slots[at] - 1];
            if (line->hash == hash && line->size == size && !memcmp(line->text, s, (size_t)size)) break;
        }
        if (t->slots[at]) {
            line->count++;
        } else {
            t->lines[t->used++] = (Counted){s, size, hash, 1};
            t->slots[at] = (uint32_t)t->used;
        }
    }
    return 1;
}

/* Return how often each line of a text occurs, as a dictionary in the order of the first ones. */
PyObject *tally(PyObject *module, PyObject *args) {
    PyObject *given, *made = NULL;
    Py_buffer secret;
    Tally found = {NULL, NULL, 0, 0};
    (void)module;
    if (!PyArg_ParseTuple(args, "Sy*", &given, &secret)) return NULL;
    const byte *s = (const byte *)PyBytes_AS_STRING(given), *end = s + PyBytes_GET_SIZE(given);
    int done = 0;
    if (secret.len != 16 || end - s > UINT32_MAX || (s < end && end[-1] != '\n')) {
        PyErr_SetString(PyExc_ValueError, "whole lines, less than 4 GiB of them, and a secret of 16 bytes");
    } else {
        uint64_t random[2];
        memcpy(random, secret.buf, sizeof random);
        Py_BEGIN_ALLOW_THREADS
        done = count_lines(&found, s, end, random);
        Py_END_ALLOW_THREADS
        if (!done) PyErr_NoMemory();
    }
    if (done && (made = PyDict_New())) {
        for (uint64_t n = 0; made && n < found.used; n++) {
            const Counted *one = &found.lines[n];
            PyObject *text = PyUnicode_DecodeUTF8((const char *)one->text, one->size, NULL);
            PyObject *count = PyLong_FromUnsignedLongLong(one->count);
            if (!text || !count || PyDict_SetItem(made, text, count)) Py_CLEAR(made);
            Py_XDECREF(text);
            Py_XDECREF(count);
        }
    }
    PyMem_RawFree(found.lines);
    PyMem_RawFree(found.slots);
    PyBuffer_Release(&secret);
    return made;
}
