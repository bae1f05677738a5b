/* The compiled scan of a page: its links with their attributes, and the blocks of its text.
 *
 * It gives what crawler/documents/page_scan.py gives; tokenizer.py and text_blocks.py explain the
 * rules. Input is UTF-8. tests/crawler/documents/test_page_scan.py compares the two. Time is linear
 * in the length. Other threads run during the scan: tags are collected, and given in batches.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { VERSION = 1 }; /* equals VERSION in page_scan.py; raise both when the output changes */
enum { MAX_ATTRIBUTES = 1000, MAX_TITLE = 64000, LONGEST_NAME = 64, PADDED = 12, AT_ONCE = 256, SMALL = 1 << 13 };
enum { MOST_BLOCKS = 4096, DEPTH = 6, MOST_OPEN = 64, WORDS = 16, LONG = 6 };

/* Kinds of elements, as flags. */
enum { LINKS = 1, EMBEDS = 2, RAW = 4, FOREIGN = 8, TEMPLATE = 16, FORM = 32, TITLE = 64,
       SCRIPT = 128, PLAIN = 256, HIDDEN = 512, VOID = 1024, REPEATED = 2048, PRE = 4096,
       IMAGE = 8192, ANCHOR = 1 << 14 };

typedef struct {
    const byte *from, *to; /* from is NULL: there is none */
} Span;

typedef struct {
    char name[PADDED]; /* with zeros */
    int kind;
} Known;

static const Known KNOWN[26][8] = { /* by their first letter */
    ['a' - 'a'] = {{"a", LINKS | ANCHOR}, {"area", LINKS | ANCHOR | VOID}, {"audio", EMBEDS}},
    ['b' - 'a'] = {{"br", VOID}, {"base", LINKS | VOID}},
    ['c' - 'a'] = {{"col", VOID}},
    ['d' - 'a'] = {{"dt", REPEATED}, {"dd", REPEATED}},
    ['e' - 'a'] = {{"embed", EMBEDS | VOID}},
    ['f' - 'a'] = {{"form", LINKS | FORM}, {"frame", LINKS | VOID}},
    ['h' - 'a'] = {{"hr", VOID}},
    ['i' - 'a'] = {{"img", EMBEDS | VOID | IMAGE}, {"input", EMBEDS | VOID}, {"iframe", LINKS | RAW | HIDDEN}},
    ['l' - 'a'] = {{"li", REPEATED}, {"link", LINKS | VOID}},
    ['m' - 'a'] = {{"meta", LINKS | VOID}, {"math", FOREIGN}},
    ['n' - 'a'] = {{"noscript", HIDDEN}, {"noembed", RAW | HIDDEN}, {"noframes", RAW | HIDDEN}},
    ['o' - 'a'] = {{"option", REPEATED}, {"object", EMBEDS}},
    ['p' - 'a'] = {{"p", REPEATED}, {"pre", PRE}, {"param", VOID}, {"plaintext", RAW | PLAIN}},
    ['s' - 'a'] = {{"script", EMBEDS | RAW | SCRIPT | HIDDEN}, {"style", RAW | HIDDEN}, {"svg", FOREIGN},
                   {"source", EMBEDS | VOID}},
    ['t' - 'a'] = {{"td", REPEATED}, {"tr", REPEATED}, {"th", REPEATED}, {"title", LINKS | RAW | TITLE},
                   {"textarea", RAW}, {"template", TEMPLATE}, {"track", EMBEDS | VOID}},
    ['v' - 'a'] = {{"video", EMBEDS}},
    ['w' - 'a'] = {{"wbr", VOID}},
    ['x' - 'a'] = {{"xmp", RAW}},
};
static const Known OTHER = {"", 0};

typedef struct {
    const char *name; /* NULL: a link without rel */
    Span span;        /* its reference, or a title, or the attributes of any other tag */
} Tag;

typedef struct {
    Span href, rel, class, src; /* the first of each */
    int is_closed;              /* 1: the tag ends with "/>" */
} Attributes;

typedef struct {
    uint64_t tag, mixed; /* hashes of the name, and of name and class */
    int in_lines;        /* 1: the end of a line ends a block */
} Element;

typedef struct {
    Element open[MOST_OPEN];
    int depth, in_lines, is_placed;
    uint64_t hidden; /* the name of the element that hides what is in it; 0: none */
    uint64_t place, rest;
    int count; /* of 32-bit words in there: */
    uint32_t words[2 * MOST_BLOCKS + 2];
} Blocks;

typedef struct {
    const byte *at, *end;
    int collected; /* LINKS, perhaps with EMBEDS; 0: no tags */
    int xml, form, count;
    Py_ssize_t foreign, templates;
    Blocks *blocks; /* NULL: not asked for */
    Tag tags[AT_ONCE];
} Scan;

static inline int is_space(byte c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
static inline int ends_name(byte c) { return is_space(c) || c == '/' || c == '>'; }
static inline byte lower(byte c) { return (byte)(c - 'A') < 26 ? c | 0x20 : c; }
static inline int is_letter(byte c) { return (byte)((c | 0x20) - 'a') < 26; }

static inline const byte *find(const byte *p, const byte *end, byte c) {
    const byte *found = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
    return found ? found : end;
}

static int same(const byte *p, const byte *end, const char *name, size_t length) {
    if ((size_t)(end - p) < length) return 0;
    for (size_t i = 0; i < length; i++)
        if (lower(p[i]) != (byte)name[i]) return 0;
    return 1;
}

/* ---- Blocks of text ---- */

static const uint64_t M = 0x9E3779B97F4A7C15u;

static inline uint64_t mix(uint64_t mixed, uint64_t x) {
    mixed = (mixed ^ x) * M;
    return mixed ^ mixed >> 32;
}

/* Return up to 8 bytes as a number, the first one lowest. So many can be read up to the limit. */
static inline uint64_t load(const byte *p, const byte *end, const byte *limit) {
    uint64_t x = 0;
    if (limit - p >= 8)
        memcpy(&x, p, 8);
    else
        memcpy(&x, p, (size_t)(end - p));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return end - p >= 8 ? x : x & (((uint64_t)1 << 8 * (end - p)) - 1);
}

static uint64_t hash_of(Span text, const byte *limit, uint64_t seed) {
    uint64_t mixed = (seed ^ (uint64_t)(text.to - text.from)) * M;
    for (const byte *p = text.from; p < text.to; p += 8) mixed = mix(mixed, load(p, text.to, limit));
    return mixed;
}

static void put(Blocks *b, uint64_t mixed) {
    if (!b->is_placed) {
        b->is_placed = 1, b->place = 0;
        for (int at = b->depth > DEPTH ? b->depth - DEPTH : 0; at < b->depth; at++) {
            b->place = (b->place ^ b->open[at].mixed) * M;
            b->place ^= b->place >> 29;
        }
    }
    if (b->count < 2 * MOST_BLOCKS) {
        b->words[b->count++] = (uint32_t)(b->place >> 32);
        b->words[b->count++] = (uint32_t)(mixed >> 32);
    } else
        b->rest = (b->rest ^ mixed) * M;
}

static void add_text(Blocks *b, const byte *p, const byte *end, const byte *limit) {
    const int in_lines = b->depth ? b->open[b->depth - 1].in_lines : b->in_lines;
    const uint64_t low = 0x0101010101010101u, high = low << 7;
    uint64_t mixed = 0;
    int count = 0;
    for (;;) {
        for (; p < end && *p <= ' '; p++)
            if (*p == '\n' && in_lines && count) {
                put(b, mixed);
                mixed = 0, count = 0;
            }
        if (p == end) break;
        for (int parts = 1;; parts++) {
            uint64_t x = load(p, end, limit), spaces = (x - low * 33) & ~x & high; /* its lowest bit is right */
            int length = spaces ? __builtin_ctzll(spaces) >> 3 : 8, ends = 0;
            p += length;
            if (spaces) { /* the word ends, with one space */
                x = (x & (((uint64_t)1 << 8 * length) - 1)) | (uint64_t)' ' << 8 * length;
                ends = p[-1] == '.' || p[-1] == '!' || p[-1] == '?';
            }
            mixed = mix(mixed, x);
            if ((spaces || parts % LONG == 0) && (++count == WORDS || ends)) {
                put(b, mixed);
                mixed = 0, count = 0;
            }
            if (spaces) break;
        }
    }
    if (count) put(b, mixed);
}

static void add_image(Blocks *b, Span source, const byte *limit) {
    const byte *p = source.from;
    while (p < source.to && *p != '?' && *p != '#') p++;
    source.to = p;
    if (p > source.from && !same(source.from, p, "data:", 5)) put(b, hash_of(source, limit, 1));
}

static void open_element(Blocks *b, uint64_t tag, int kind, Span class, const byte *limit) {
    b->is_placed = 0;
    if (kind & REPEATED && b->depth && b->open[b->depth - 1].tag == tag) b->depth--;
    if (b->depth == MOST_OPEN) return;
    const byte *stop = class.from;
    while (stop < class.to && (byte)(*stop - '0') >= 10) stop++;
    while (class.from < stop && is_space(*class.from)) class.from++;
    while (stop > class.from && is_space(stop[-1])) stop--;
    class.to = stop;
    int in_lines = b->in_lines || (b->depth && b->open[b->depth - 1].in_lines) || kind & PRE;
    b->open[b->depth++] = (Element){tag, hash_of(class, limit, tag), in_lines};
}

static void close_element(Blocks *b, uint64_t tag) {
    for (int at = b->depth - 1; at >= 0; at--)
        if (b->open[at].tag == tag) {
            b->depth = at, b->is_placed = 0;
            return;
        }
}

/* ---- Tags ---- */

/* Read the attribute at p (HTML Standard sections 13.2.5.33 to 39); return its end, NULL for none. */
static inline const byte *attribute(const byte *p, const byte *end, Span *name, Span *value) {
    name->from = p++;
    while (p < end && !ends_name(*p) && *p != '=') p++;
    name->to = value->from = value->to = p;
    while (p < end && is_space(*p)) p++;
    if (p == end || *p != '=') return value->to;
    for (p++; p < end && is_space(*p);) p++;
    if (p == end) return NULL;
    if (*p == '"' || *p == '\'') {
        value->from = p + 1, value->to = find(p + 1, end, *p);
        return value->to == end ? NULL : value->to + 1;
    }
    value->from = p;
    while (p < end && *p != '>' && !is_space(*p)) p++;
    return value->to = p;
}

/* Read up to the ">" of a tag, and return it; NULL if it has none. */
static const byte *read_attributes(const byte *p, const byte *end, Attributes *found) {
    memset(found, 0, sizeof *found);
    for (int count = 0; p != NULL; count++) {
        const byte *gap = p;
        while (p < end && (is_space(*p) || *p == '/')) p++;
        if (p == end) return NULL;
        if (*p == '>') {
            found->is_closed = p > gap && p[-1] == '/';
            return p;
        }
        Span name, value, *kept = NULL;
        p = attribute(p, end, &name, &value);
        switch (name.to - name.from) {
        case 3:
            kept = same(name.from, end, "src", 3) ? &found->src : same(name.from, end, "rel", 3) ? &found->rel : NULL;
            break;
        case 4: kept = same(name.from, end, "href", 4) ? &found->href : NULL; break;
        case 5: kept = same(name.from, end, "class", 5) ? &found->class : NULL; break;
        }
        if (kept != NULL && kept->from == NULL && count < MAX_ATTRIBUTES) *kept = value;
    }
    return NULL;
}

static const Known *known(const byte *name, size_t length) { /* in lower case, with zeros */
    if (length < PADDED)
        for (const Known *one = KNOWN[*name - 'a']; *one->name; one++)
            if (!memcmp(name, one->name, PADDED) && one->name[length - 1]) return one;
    return &OTHER;
}

/* Return where the "</name" that ends an element is. */
static const byte *end_tag(const byte *p, const byte *end, const char *name) {
    size_t length = strlen(name);
    for (; (p = find(p, end, '<')) < end; p++)
        if ((size_t)(end - p) > length + 2 && p[1] == '/' && same(p + 2, end, name, length) &&
            ends_name(p[2 + length]))
            return p;
    return end;
}

static const byte *end_of_script(const byte *p, const byte *end) {
    int comment = 0, nested = 0; /* in a comment, another script may be nested */
    for (; p < end && (comment || (p = find(p, end, '<')) < end); p++) {
        if (*p == '-') {
            if (end - p >= 3 && p[1] == '-' && p[2] == '>') comment = nested = 0, p += 2;
        } else if (*p == '<' && end - p >= 4 && !memcmp(p, "<!--", 4)) {
            comment = 1, p += 1;
        } else if (*p == '<') {
            int slash = p + 1 < end && p[1] == '/';
            const byte *name = p + 1 + slash;
            if (end - name <= 6 || !same(name, end, "script", 6) || !ends_name(name[6])) continue;
            if (!slash) {
                nested = comment;
            } else if (nested) {
                nested = 0;
            } else {
                return p;
            }
            p = name + 5;
        }
    }
    return end;
}

/* Collect what a page may link with a start tag. */
static void add_tag(Scan *s, const Known *element, const Attributes *found, Span rest, Span content) {
    int kind = element->kind;
    Tag tag = {element->name, rest};
    if (!(kind & s->collected)) return;
    if (kind & ANCHOR && found->href.from == NULL) return;
    if (kind & ANCHOR && found->rel.from == NULL) tag = (Tag){NULL, found->href};
    if (kind & FORM && s->form) return; /* in another form, which is ignored */
    if (kind & FORM) s->form = 1;
    if (kind & TITLE && (s->foreign || content.from == NULL)) return;
    if (kind & TITLE) {
        int is_long = content.to - content.from > MAX_TITLE;
        tag.span = (Span){content.from, is_long ? content.from + MAX_TITLE : content.to};
    }
    s->tags[s->count++] = tag;
}

static const byte *read_start(Scan *s, const Known *element, uint64_t tag, const Attributes *found, Span rest) {
    int kind = element->kind;
    int is_empty = found->is_closed && (s->foreign || s->xml || kind & FOREIGN);
    const byte *content = rest.to + 1, *p = content;
    if (!is_empty) {
        s->foreign += (kind & FOREIGN) != 0;
        s->templates += (kind & TEMPLATE) != 0;
        if (kind & PLAIN) p = s->end;
        else if (kind & SCRIPT) p = end_of_script(p, s->end);
        else if (kind & RAW) p = end_tag(p, s->end, element->name);
    }
    if (s->templates) return p;
    add_tag(s, element, found, rest, (Span){is_empty ? NULL : content, p});
    Blocks *b = s->blocks;
    if (b == NULL || b->hidden) return p;
    if (kind & IMAGE && found->src.from != NULL) add_image(b, found->src, s->end);
    if (kind & VOID || is_empty) return p;
    if (kind & HIDDEN) {
        b->hidden = tag;
        return p;
    }
    open_element(b, tag, kind, found->class, s->end);
    add_text(b, content, p, s->end);
    return p;
}

/* Read the tag whose name is at p; return where reading continues. */
static const byte *read_tag(Scan *s, const byte *p, int is_end) {
    byte name[LONGEST_NAME + 8] = {0};
    size_t length = 0;
    for (; p < s->end && !ends_name(*p); p++)
        if (length < LONGEST_NAME) name[length++] = lower(*p);
    Attributes found;
    Span rest = {p, read_attributes(p, s->end, &found)};
    if (rest.to == NULL) return s->end;
    const Known *element = known(name, length);
    uint64_t tag = s->blocks != NULL ? hash_of((Span){name, name + length}, name + sizeof name, 0) : 0;
    if (!is_end) return read_start(s, element, tag, &found, rest);
    int is_hidden = s->templates > 0;
    s->foreign -= s->foreign > 0 && element->kind & FOREIGN;
    s->templates -= s->templates > 0 && element->kind & TEMPLATE;
    if (is_hidden) return rest.to + 1;
    if (element->kind & FORM) s->form = 0;
    if (s->blocks != NULL && s->blocks->hidden) {
        if (s->blocks->hidden == tag) s->blocks->hidden = 0;
    } else if (s->blocks != NULL) {
        close_element(s->blocks, tag);
    }
    return rest.to + 1;
}

static const byte *after_comment(const byte *p, const byte *end) {
    if (p < end && *p == '>') return p + 1;
    if (end - p >= 2 && p[0] == '-' && p[1] == '>') return p + 2;
    for (; (p = find(p, end, '-')) < end; p++) {
        if (end - p >= 3 && p[1] == '-' && p[2] == '>') return p + 3;
        if (end - p >= 4 && p[1] == '-' && p[2] == '!' && p[3] == '>') return p + 4;
    }
    return end;
}

/* Read on until the end of the page, or until there is no room for further tags. */
static void scan(Scan *s) {
    const byte *p = s->at, *end = s->end;
    while (p < end && s->count < AT_ONCE) {
        const byte *text = p;
        for (; (p = find(p, end, '<')) < end; p++)
            if (p + 1 < end && (is_letter(p[1]) || p[1] == '/' || p[1] == '!' || p[1] == '?')) break;
        if (s->blocks != NULL && !s->blocks->hidden && !s->templates) add_text(s->blocks, text, p, end);
        if (p == end) break;
        int slash = p[1] == '/';
        const byte *next = p + 1 + slash;
        if (next < end && is_letter(*next)) {
            p = read_tag(s, next, slash);
        } else if (end - p >= 4 && !memcmp(p, "<!--", 4)) {
            p = after_comment(p + 4, end);
        } else if (s->xml && end - p >= 9 && !memcmp(p, "<![CDATA[", 9)) {
            p += 9;
        } else {
            p = find(next, end, '>');
            p += p < end;
        }
    }
    s->at = p;
}

/* ---- Python ---- */

static PyObject *text_of(Span span) {
    size_t length = (size_t)(span.to - span.from);
    PyObject *text = PyUnicode_DecodeUTF8((const char *)span.from, (Py_ssize_t)length, "replace");
    if (text == NULL || memchr(span.from, 0, length) == NULL) return text;
    PyObject *without = PyObject_CallMethod(text, "replace", "s#s", "\0", (Py_ssize_t)1, "\xef\xbf\xbd");
    Py_DECREF(text);
    return without;
}

static PyObject *value_of(Span span, PyObject *in_attribute) {
    PyObject *text = text_of(span);
    if (text == NULL || memchr(span.from, '&', (size_t)(span.to - span.from)) == NULL) return text;
    PyObject *value = PyObject_CallOneArg(in_attribute, text);
    Py_DECREF(text);
    return value;
}

static PyObject *name_of(Span name) {
    char lowered[32];
    size_t length = (size_t)(name.to - name.from), i = 0;
    for (; i < length && i < sizeof lowered && (byte)(name.from[i] - 1) < 0x7F; i++)
        lowered[i] = (char)lower(name.from[i]);
    if (i == length) return PyUnicode_DecodeASCII(lowered, (Py_ssize_t)length, NULL);
    PyObject *text = text_of(name);
    PyObject *found = text == NULL ? NULL : PyObject_CallMethod(text, "lower", NULL);
    Py_XDECREF(text);
    return found;
}

/* Return the attributes of a tag, by name; the first of each name counts. */
static PyObject *attributes(Span rest, PyObject *in_attribute) {
    PyObject *found = PyDict_New();
    const byte *p = rest.from, *end = rest.to + 1; /* with the ">" */
    for (int count = 0; found != NULL && count < MAX_ATTRIBUTES; count++) {
        while (is_space(*p) || *p == '/') p++;
        if (*p == '>') break;
        Span name, value;
        p = attribute(p, end, &name, &value);
        PyObject *key = name_of(name);
        int is_known = key == NULL ? -1 : PyDict_Contains(found, key);
        if (is_known == 0) {
            PyObject *text = value_of(value, in_attribute);
            is_known = text == NULL ? -1 : PyDict_SetItem(found, key, text);
            Py_XDECREF(text);
        }
        Py_XDECREF(key);
        if (is_known < 0) Py_CLEAR(found);
    }
    return found;
}

static int give_tag(const Tag *tag, PyObject *page[4]) {
    PyObject *add_link = page[0], *add_title = page[1], *add = page[2], *in_attribute = page[3], *done = NULL;
    if (tag->name != NULL && strcmp(tag->name, "title")) {
        PyObject *found = attributes(tag->span, in_attribute);
        if (found != NULL) done = PyObject_CallFunction(add, "sN", tag->name, found);
    } else {
        PyObject *text = tag->name == NULL ? value_of(tag->span, in_attribute) : text_of(tag->span);
        if (text != NULL) done = PyObject_CallOneArg(tag->name == NULL ? add_link : add_title, text);
        Py_XDECREF(text);
    }
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static Blocks *new_blocks(int in_lines) {
    Blocks *b = PyMem_RawMalloc(sizeof *b);
    if (b == NULL) return NULL;
    memset(b, 0, offsetof(Blocks, words));
    b->in_lines = in_lines;
    return b;
}

static PyObject *encoded(Blocks *b) {
    if (b == NULL) Py_RETURN_NONE;
    if (b->rest) b->words[b->count++] = 0, b->words[b->count++] = (uint32_t)(b->rest >> 32);
    return PyBytes_FromStringAndSize((const char *)b->words, (Py_ssize_t)b->count * 4);
}

static PyObject *scan_page(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer body;
    int xml, embeds, blocks, fault = 0;
    PyObject *page[4] = {NULL};
    if (!PyArg_ParseTuple(args, "y*ppp|OOOO", &body, &xml, &blocks, &embeds, &page[0], &page[1], &page[2], &page[3]))
        return NULL;
    Scan *s = PyMem_RawMalloc(sizeof *s);
    Blocks *b = s == NULL || !blocks ? NULL : new_blocks(0);
    if (s == NULL || (blocks && b == NULL)) fault = 1, PyErr_NoMemory();
    if (!fault) {
        memset(s, 0, offsetof(Scan, tags));
        s->at = body.buf, s->end = s->at + body.len;
        s->xml = xml, s->blocks = b;
        s->collected = page[3] == NULL ? 0 : embeds ? LINKS | EMBEDS : LINKS;
    }
    while (!fault && s->at < s->end) {
        PyThreadState *thread = s->end - s->at > SMALL ? PyEval_SaveThread() : NULL;
        s->count = 0;
        scan(s);
        if (thread != NULL) PyEval_RestoreThread(thread);
        for (int i = 0; i < s->count && !fault; i++) fault = give_tag(&s->tags[i], page) < 0;
    }
    PyObject *found = fault ? NULL : encoded(b);
    PyMem_RawFree(b);
    PyMem_RawFree(s);
    PyBuffer_Release(&body);
    return found;
}

static PyObject *scan_text(PyObject *module, PyObject *text) {
    (void)module;
    Py_buffer body;
    if (PyObject_GetBuffer(text, &body, PyBUF_SIMPLE) < 0) return NULL;
    Blocks *b = new_blocks(1);
    if (b != NULL) {
        Py_BEGIN_ALLOW_THREADS
        const byte *end = (const byte *)body.buf + body.len;
        add_text(b, body.buf, end, end);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&body);
    PyObject *found = b == NULL ? PyErr_NoMemory() : encoded(b);
    PyMem_RawFree(b);
    return found;
}

static PyMethodDef methods[] = {
    {"scan_page", scan_page, METH_VARARGS,
     "Return the blocks of a page in UTF-8, and give its tags. The arguments are the page; whether it\n"
     "is XML; whether to return blocks; whether to read what it embeds; what takes links, titles,\n"
     "other tags; what reads character references. Without the last four no tags are read."},
    {"scan_text", scan_text, METH_O, "Return the blocks of a body that is plain text."},
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
    .m_name = "_page_scan",
    .m_doc = "The compiled scan of a page.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__page_scan(void) { return PyModuleDef_Init(&module); }
