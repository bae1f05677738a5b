/* Reads the blocks of a page; the compiled twin of plain_blocks.py.
 *
  * Both return the same bytes; plain_blocks.py says what a block is, and
  * tests/crawler/learn/text/test_blocks.py compares the two. Time is linear in the length.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { VERSION = 1 }; /* equals VERSION in plain_blocks.py; raise both when the output changes */
enum { MOST = 4096, DEPTH = 6, MOST_OPEN = 64, WORDS = 16, LONG = 48, NAME = 12 };

static const uint64_t M = 0x9E3779B97F4A7C15u;

typedef struct {
    byte name[NAME]; /* lower case; longer names are distinguished by their hash */
    int length;
    uint64_t tag, mixed; /* hashes of the name, and of name and class */
} Element;

typedef struct {
    const byte *begin, *end;
    Element open[MOST_OPEN];
    int depth;
    int is_plain, in_lines; /* 1: the end of a line ends a block */
    uint64_t place, rest;
    const byte *no_quote[2]; /* no such quote follows after this point */
    uint32_t blocks[2 * MOST + 2];
    int count; /* of 32-bit words in there */
} Page;

static inline int is_space(byte c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline int is_text_space(byte c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
static inline int is_letter(byte c) { return (byte)((c | 0x20) - 'a') < 26; }
static inline int is_digit(byte c) { return (byte)(c - '0') < 10; }
static inline byte lower(byte c) { return (byte)(c - 'A') < 26 ? c | 0x20 : c; }

static uint64_t hash_of(const byte *p, size_t length, uint64_t seed) {
    uint64_t mixed = (seed ^ length) * M;
    for (size_t at = 0; at < length; at += 8) {
        uint64_t x = 0;
        for (size_t i = 0; i < 8 && at + i < length; i++) x |= (uint64_t)p[at + i] << 8 * i;
        mixed = (mixed ^ x) * M;
        mixed ^= mixed >> 32;
    }
    return mixed;
}

static void put(Page *s, uint64_t mixed) {
    if (s->count < 2 * MOST) {
        s->blocks[s->count++] = (uint32_t)(s->place >> 32);
        s->blocks[s->count++] = (uint32_t)(mixed >> 32);
    } else
        s->rest = (s->rest ^ mixed) * M;
}

static void find_place(Page *s) {
    s->place = 0;
    s->in_lines = s->is_plain;
    for (int at = 0; at < s->depth; at++)
        s->in_lines |= s->open[at].length == 3 && !memcmp(s->open[at].name, "pre", 3);
    for (int at = s->depth > DEPTH ? s->depth - DEPTH : 0; at < s->depth; at++) {
        s->place = (s->place ^ s->open[at].mixed) * M;
        s->place ^= s->place >> 29;
    }
}

static void add_text(Page *s, const byte *p, const byte *end) {
    uint64_t mixed = 0;
    int count = 0;
    while (p < end) {
        for (; p < end && is_text_space(*p); p++)
            if (*p == '\n' && s->in_lines && count) {
                put(s, mixed);
                mixed = 0, count = 0;
            }
        const byte *word = p;
        while (p < end && !is_text_space(*p)) p++;
        for (; word < p; word += LONG) {
            size_t left = (size_t)(p - word), length = left < LONG ? left : LONG;
            mixed = hash_of(word, length, mixed);
            int ends = left <= LONG && (p[-1] == '.' || p[-1] == '!' || p[-1] == '?');
            if (++count == WORDS || ends) {
                put(s, mixed);
                mixed = 0, count = 0;
            }
            if (left <= LONG) break;
        }
    }
    if (count) put(s, mixed);
}

/* Return where the value of an attribute begins, and set *stop to its end; NULL if there is none. */
static const byte *attribute(const byte *p, const byte *end, const char *name, int is_source, const byte **stop) {
    size_t length = strlen(name);
    for (; (size_t)(end - p) > length; p++) {
        if (!is_space(*p)) continue;
        size_t same = 0;
        while (same < length && lower(p[1 + same]) == (byte)name[same]) same++;
        if (same < length) continue;
        const byte *v = p + 1 + length;
        while (v < end && is_space(*v)) v++;
        if (v >= end || *v != '=') continue;
        for (v++; v < end && is_space(*v);) v++;
        if (v >= end) continue;
        const byte *q;
        if (*v == '"' || *v == '\'') {
            for (q = v + 1; q < end && *q != *v && !(is_source && (*q == '?' || *q == '#'));) q++;
            if (is_source || q < end) {
                *stop = q;
                return v + 1;
            }
        }
        for (q = v; q < end && !is_space(*q) && *q != '>' && !(is_source && (*q == '?' || *q == '#'));) q++;
        if (q == v) continue;
        *stop = q;
        return v;
    }
    return NULL;
}

static void add_image(Page *s, const byte *p, const byte *end) {
    const byte *stop, *value = attribute(p, end, "src", 1, &stop);
    if (!value || value == stop) return;
    static const char DATA[] = "data:";
    int same = 0;
    while (same < 5 && value + same < stop && lower(value[same]) == (byte)DATA[same]) same++;
    if (same < 5) put(s, hash_of(value, (size_t)(stop - value), 1));
}

static int is_same(const Element *e, const byte *name, int length, uint64_t tag) {
    return e->length == length && e->tag == tag && !memcmp(e->name, name, (size_t)(length < NAME ? length : NAME));
}

static int is_one_of(const byte *name, int length, const char *names) { /* each between two spaces */
    if (length >= NAME) return 0;
    char wanted[NAME + 3] = " ";
    memcpy(wanted + 1, name, (size_t)length);
    strcpy(wanted + 1 + length, " ");
    return strstr(names, wanted) != NULL;
}

static void open_element(Page *s, const byte *name, int length, const byte *p, const byte *end) {
    uint64_t tag = hash_of(name, (size_t)length, 0);
    if (s->depth && is_one_of(name, length, " li p tr td th dt dd option ") &&
        is_same(&s->open[s->depth - 1], name, length, tag))
        s->depth--;
    if (s->depth < MOST_OPEN) {
        const byte *stop = NULL, *value = attribute(p, end, "class", 0, &stop);
        if (value) {
            const byte *digit = value;
            while (digit < stop && !is_digit(*digit)) digit++;
            stop = digit;
            while (value < stop && is_space(*value)) value++;
            while (stop > value && is_space(stop[-1])) stop--;
        }
        Element *e = &s->open[s->depth++];
        memcpy(e->name, name, (size_t)(length < NAME ? length : NAME));
        e->length = length, e->tag = tag;
        e->mixed = hash_of(value, value ? (size_t)(stop - value) : 0, tag);
    }
    find_place(s);
}

static void close_element(Page *s, const byte *name, int length) {
    uint64_t tag = hash_of(name, (size_t)length, 0);
    for (int at = s->depth - 1; at >= 0; at--)
        if (is_same(&s->open[at], name, length, tag)) {
            s->depth = at;
            find_place(s);
            return;
        }
}

static const byte *find(const byte *p, const byte *end, const char *text) {
    size_t length = strlen(text);
    for (; (size_t)(end - p) >= length && (p = memchr(p, text[0], (size_t)(end - p))) != NULL; p++)
        if ((size_t)(end - p) >= length && !memcmp(p, text, length)) return p;
    return NULL;
}

/* Return the end of a tag, given the end of its name. */
static const byte *after_tag(Page *s, const byte *p) {
    const byte *begin = p, *end = s->end;
    for (; p < end; p++) {
        if (*p == '>') return p + 1;
        if (*p != '"' && *p != '\'') continue;
        const byte **none = &s->no_quote[*p == '"'];
        const byte *found = *none && p >= *none ? NULL : memchr(p + 1, *p, (size_t)(end - p - 1));
        if (!found) {
            *none = p;
            break;
        }
        p = found;
    }
    const byte *found = begin < end ? memchr(begin, '>', (size_t)(end - begin)) : NULL;
    return found ? found + 1 : end;
}

static const byte *after_hidden(const Page *s, const byte *p, const byte *name, int length) {
    for (; p + 2 + length <= s->end && (p = memchr(p, '<', (size_t)(s->end - p))) != NULL; p++) {
        if (p + 2 + length > s->end || p[1] != '/') continue;
        int same = 0;
        while (same < length && lower(p[2 + same]) == name[same]) same++;
        if (same == length) return p;
    }
    return s->end;
}

static const byte *after_markup(Page *s, const byte *p) {
    const byte *start = p, *end = s->end;
    byte c = p + 1 < end ? p[1] : 0;
    int is_end = c == '/';
    p += 1 + is_end;
    if (p >= end || !is_letter(*p)) {
        const byte *found;
        if (end - start >= 4 && !memcmp(start, "<!--", 4)) return (found = find(start + 2, end, "-->")) ? found + 3 : end;
        if (end - start >= 9 && !memcmp(start, "<![CDATA[", 9)) return start + 9;
        if (c == '!' || c == '?' || c == '/') return (found = find(start, end, ">")) ? found + 1 : end;
        return start + 1;
    }
    const byte *name = p;
    while (p < end && (is_letter(*p) || is_digit(*p) || *p == '-')) p++;
    byte lowered[64];
    int length = (int)(p - name < 64 ? p - name : 64); /* no tag has such a name */
    for (int i = 0; i < length; i++) lowered[i] = lower(name[i]);
    const byte *after = after_tag(s, p);
    if (is_end) {
        close_element(s, lowered, length);
        return after;
    }
    if (is_one_of(lowered, length, " script style noscript template ")) return after_hidden(s, after, lowered, length);
    if (is_one_of(lowered, length, " img ")) add_image(s, p, after);
    int is_closed = after - p >= 2 && after[-1] == '>' && after[-2] == '/';
    if (!is_closed && !is_one_of(lowered, length, " area base br col embed hr img input link meta param source track wbr "))
        open_element(s, lowered, length, p, after);
    return after;
}

static PyObject *read_blocks(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer body;
    int markup;
    if (!PyArg_ParseTuple(args, "y*p", &body, &markup)) return NULL;
    Page *s = PyMem_RawCalloc(1, sizeof *s);
    if (!s) {
        PyBuffer_Release(&body);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS
    s->begin = body.buf, s->end = s->begin + body.len;
    s->is_plain = s->in_lines = !markup;
    for (const byte *p = s->begin; p < s->end;) {
        const byte *tag = markup ? memchr(p, '<', (size_t)(s->end - p)) : NULL;
        add_text(s, p, tag ? tag : s->end);
        p = tag ? after_markup(s, tag) : s->end;
    }
    if (s->rest) s->blocks[s->count++] = 0, s->blocks[s->count++] = (uint32_t)(s->rest >> 32);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&body);
    PyObject *found = PyBytes_FromStringAndSize((const char *)s->blocks, (Py_ssize_t)s->count * 4);
    PyMem_RawFree(s);
    return found;
}

static PyMethodDef methods[] = {
    {"read", read_blocks, METH_VARARGS, "Return the blocks of a body; the second argument is True for markup."},
    {NULL, NULL, 0, NULL},
};

static int run(PyObject *module) { return PyModule_AddIntConstant(module, "VERSION", VERSION); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, run},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* it has no global state */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_blocks",
    .m_doc = "The compiled reading of a page's blocks.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__blocks(void) { return PyModuleDef_Init(&module); }
