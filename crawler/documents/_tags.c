/* The compiled reader of the tags of an HTML page.
 *
  * It finds the same tags as crawler/documents/tags.py, which explains the rules; input is UTF-8.
  * tests/crawler/documents/test_native_tags.py compares the two. Time is linear in the length, and
  * other threads can run meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

typedef unsigned char byte;

enum { VERSION = 1 }; /* equals VERSION in tags.py; raise both when other tags are read */
enum { MAX_ATTRIBUTES = 1000, MAX_TITLE = 16000, LONGEST_NAME = 9, AT_ONCE = 1 << 18 };

/* Kinds of tag names, as flags. */
enum { LINKS = 1, EMBEDS = 2, TEXT = 4, FOREIGN = 8, TEMPLATE = 16, FORM = 32, TITLE = 64,
       SCRIPT = 128, PLAIN = 256, IS_END = 512 };

static const struct {
    const char *name;
    int kind;
} KNOWN[] = {
    {"a", LINKS}, {"area", LINKS}, {"base", LINKS}, {"form", LINKS | FORM}, {"frame", LINKS},
    {"iframe", LINKS | TEXT}, {"link", LINKS}, {"meta", LINKS}, {"title", LINKS | TEXT | TITLE},
    {"img", EMBEDS}, {"source", EMBEDS}, {"video", EMBEDS}, {"audio", EMBEDS}, {"track", EMBEDS},
    {"embed", EMBEDS}, {"object", EMBEDS}, {"script", EMBEDS | TEXT | SCRIPT}, {"input", EMBEDS},
    {"noembed", TEXT}, {"noframes", TEXT}, {"plaintext", TEXT | PLAIN}, {"style", TEXT},
    {"textarea", TEXT}, {"xmp", TEXT}, {"svg", FOREIGN}, {"math", FOREIGN}, {"template", TEMPLATE},
    {NULL, 0},
};
enum { READ = TEXT | FOREIGN | TEMPLATE, READ_END = FOREIGN | TEMPLATE | FORM };

typedef struct {
    const byte *begin, *end;
    PyObject *add_link, *add_title, *add, *in_attribute;
    int collected; /* LINKS, perhaps with EMBEDS */
    int xml, form;
    Py_ssize_t foreign, templates;
} Reader;

static inline int is_space(byte c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}
static inline int is_end(byte c) { return is_space(c) || c == '/' || c == '>'; }
static inline byte lower(byte c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }
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

static inline const byte *skip_spaces(const byte *p, const byte *end) {
    while (p < end && is_space(*p)) p++;
    return p;
}

/* Return the ">" of a tag, given the end of its name; the end of the page if there is none. */
static const byte *closing(const byte *p, const byte *end) {
    for (int values = 0; p < end && *p != '>'; p++) {
        if (*p != '=') continue;
        if (values++ == MAX_ATTRIBUTES) return find(p, end, '>');
        p = skip_spaces(p + 1, end);
        if (p == end) return end;
        if (*p == '"' || *p == '\'') {
            p = find(p + 1, end, *p);
            if (p == end) return end;
        } else if (*p != '>') {
            while (p < end && *p != '>' && !is_space(*p)) p++;
            p--;
        } else {
            return p;
        }
    }
    return p;
}

static PyObject *text_of(const byte *p, const byte *end) {
    PyObject *text = PyUnicode_DecodeUTF8((const char *)p, end - p, "replace");
    if (text == NULL || memchr(p, 0, (size_t)(end - p)) == NULL) return text;
    PyObject *without = PyObject_CallMethod(text, "replace", "s#s", "\0", (Py_ssize_t)1, "\xef\xbf\xbd");
    Py_DECREF(text);
    return without;
}

static PyObject *value_of(Reader *r, const byte *p, const byte *end) {
    PyObject *text = text_of(p, end);
    if (text == NULL || memchr(p, '&', (size_t)(end - p)) == NULL) return text;
    PyObject *value = PyObject_CallOneArg(r->in_attribute, text);
    Py_DECREF(text);
    return value;
}

static int give(PyObject *to, PyObject *value) { /* takes ownership of the value */
    if (value == NULL) return -1;
    PyObject *done = PyObject_CallOneArg(to, value);
    Py_DECREF(value);
    if (done == NULL) return -1;
    Py_DECREF(done);
    return 0;
}

/* ---- Attributes ---- */

static PyObject *name_of(const byte *p, const byte *end) {
    char lowered[64];
    size_t length = (size_t)(end - p);
    int is_plain = length <= sizeof lowered;
    for (size_t i = 0; is_plain && i < length; i++) {
        is_plain = p[i] && p[i] < 0x80;
        lowered[i] = (char)lower(p[i]);
    }
    if (is_plain) return PyUnicode_DecodeASCII(lowered, (Py_ssize_t)length, NULL);
    PyObject *text = text_of(p, end);
    if (text == NULL) return NULL;
    PyObject *name = PyObject_CallMethod(text, "lower", NULL);
    Py_DECREF(text);
    return name;
}

/* Return the attributes of a tag, by name; the first of each name counts. */
static PyObject *attributes(Reader *r, const byte *p, const byte *end) {
    PyObject *found = PyDict_New();
    int no_double = 0, no_single = 0; /* 1: no further such quote follows */
    for (int count = 0; found != NULL && count < MAX_ATTRIBUTES; count++) {
        while (p < end && is_end(*p)) p++;
        if (p == end) break;
        const byte *name = p++;
        while (p < end && !is_end(*p) && *p != '=') p++;
        const byte *name_end = p, *value = p, *value_end = p, *at = skip_spaces(p, end);
        if (at < end && *at == '=') {
            p = value = value_end = at = skip_spaces(at + 1, end);
            if (at < end && (*at == '"' || *at == '\'')) {
                int *none = *at == '"' ? &no_double : &no_single;
                const byte *quote = *none ? end : find(at + 1, end, *at);
                if (quote < end) {
                    value = at + 1, value_end = quote, p = quote + 1;
                } else {
                    *none = 1;
                }
            } else if (at < end && *at != '>') {
                while (p < end && *p != '>' && !is_space(*p)) p++;
                value_end = p;
            }
        }
        PyObject *key = name_of(name, name_end);
        int known = key == NULL ? -1 : PyDict_Contains(found, key);
        if (known == 0) {
            PyObject *text = value_of(r, value, value_end);
            known = text == NULL ? -1 : PyDict_SetItem(found, key, text);
            Py_XDECREF(text);
        }
        Py_XDECREF(key);
        if (known < 0) Py_CLEAR(found);
    }
    return found;
}

/* A fast path: read a link without rel, given the end of "<a", if all attributes are plain.
 * Return its end and set its reference; return NULL if it is not plain. */
static const byte *plain_link(const byte *p, const byte *end, const byte **from, const byte **to) {
    *from = *to = NULL;
    while (p < end && *p == ' ') {
        const byte *name = ++p;
        while (p < end && ((*p >= 'a' && *p <= 'z') || *p == '-')) p++;
        size_t length = (size_t)(p - name);
        if (!length || end - p < 2 || p[0] != '=' || p[1] != '"') return NULL;
        if (length >= 3 && !memcmp(name, "rel", 3)) return NULL;
        const byte *value = p + 2;
        p = find(value, end, '"');
        if (p == end) return NULL;
        if (*from == NULL && length >= 4 && !memcmp(name, "href", 4)) {
            if (length != 4) return NULL;
            *from = value, *to = p;
        }
        p++;
    }
    return p < end && *p == '>' && *from != NULL ? p + 1 : NULL;
}

/* ---- Text ---- */

/* Return where the "</name" that ends an element is. */
static const byte *end_tag(const byte *p, const byte *end, const char *name, size_t length) {
    for (; (p = find(p, end, '<')) < end; p++)
        if ((size_t)(end - p) > length + 2 && p[1] == '/' && same(p + 2, end, name, length) &&
            is_end(p[2 + length]))
            return p;
    return end;
}

static const byte *end_of_script(const byte *p, const byte *end) {
    const byte *stop = end_tag(p, end, "script", 6), *at = p;
    while ((at = find(at, stop, '<')) < stop && !(stop - at >= 4 && !memcmp(at, "<!--", 4))) at++;
    if (at == stop) return stop;
    int comment = 0, nested = 0;
    for (; p < end; p++) {
        if (*p == '-') {
            if (end - p >= 3 && p[1] == '-' && p[2] == '>') comment = nested = 0, p += 2;
        } else if (*p == '<' && end - p >= 4 && !memcmp(p, "<!--", 4)) {
            comment = 1, p += 1;
        } else if (*p == '<') {
            int slash = p + 1 < end && p[1] == '/';
            const byte *name = p + 1 + slash;
            if (end - name <= 6 || !same(name, end, "script", 6) || !is_end(name[6])) continue;
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

static const byte *end_of_text(Reader *r, const byte *p, int known) {
    if (KNOWN[known].kind & PLAIN) return r->end;
    if (KNOWN[known].kind & SCRIPT) return end_of_script(p, r->end);
    return end_tag(p, r->end, KNOWN[known].name, strlen(KNOWN[known].name));
}

/* ---- Tags ---- */

/* Return the index in KNOWN of the name at p if such tags are read; -1 for any other name. */
static int known_name(const Reader *r, const byte *p, int is_end_tag, size_t *length) {
    const byte *name = p;
    while (p < r->end && p - name <= LONGEST_NAME && is_letter(*p)) p++;
    *length = (size_t)(p - name);
    if (p == r->end || !is_end(*p)) return -1;
    for (int i = 0; KNOWN[i].name != NULL; i++)
        if (lower(*name) == (byte)KNOWN[i].name[0] && strlen(KNOWN[i].name) == *length &&
            same(name, p, KNOWN[i].name, *length))
            return KNOWN[i].kind & (is_end_tag ? READ_END : READ | r->collected) ? i : -1;
    return -1;
}

/* Track open foreign elements, templates and forms; return 1 if content follows the tag. */
static int opens(Reader *r, int kind, int is_end_tag, byte last) {
    if (is_end_tag) {
        r->foreign -= r->foreign > 0 && kind & FOREIGN;
        r->templates -= r->templates > 0 && kind & TEMPLATE;
        if (kind & FORM) r->form = 0;
        return 0;
    }
    if (last == '/' && (r->foreign || r->xml || kind & FOREIGN)) return 0;
    r->foreign += (kind & FOREIGN) != 0;
    r->templates += (kind & TEMPLATE) != 0;
    return 1;
}

/* Pass a tag to the page; return where reading continues, NULL for an error. */
static const byte *read_tag(Reader *r, int known, int is_end_tag, const byte *rest, const byte *close) {
    int kind = KNOWN[known].kind;
    const byte *content = close + 1, *at = content;
    if (is_end_tag || kind & READ || r->templates) {
        int follows = opens(r, kind, is_end_tag, close > rest ? close[-1] : 0);
        if (follows && kind & TEXT) at = end_of_text(r, content, known);
        if (is_end_tag || r->templates || !(kind & r->collected)) return at;
    }
    if (kind & FORM) { /* a form in a form is ignored */
        if (r->form) return at;
        r->form = 1;
    }
    if (kind & TITLE) {
        if (r->foreign) return at;
        const byte *stop = at - content > 4 * MAX_TITLE ? content + 4 * MAX_TITLE : at;
        return give(r->add_title, text_of(content, stop)) < 0 ? NULL : at;
    }
    PyObject *found = attributes(r, rest, close);
    if (found == NULL) return NULL;
    PyObject *done = PyObject_CallFunction(r->add, "sN", KNOWN[known].name, found);
    if (done == NULL) return NULL;
    Py_DECREF(done);
    return at;
}

/* Read the markup at the "<" at p; return where reading continues, NULL for an error. */
static const byte *read_markup(Reader *r, const byte *p) {
    const byte *end = r->end, *next = p + 1;
    if (next == end) return end;
    int slash = *next == '/';
    const byte *name = next + slash;
    if (name < end && is_letter(*name)) {
        const byte *from, *to, *after;
        if (lower(*next) == 'a' && (after = plain_link(next + 1, end, &from, &to)) != NULL) {
            if (!r->templates && give(r->add_link, value_of(r, from, to)) < 0) return NULL;
            return after;
        }
        size_t length;
        int known = known_name(r, name, slash, &length);
        const byte *rest = known < 0 ? name + 1 : name + length, *close = closing(rest, end);
        if (known < 0) return close == end ? end : close + 1;
        return close == end ? end : read_tag(r, known, slash, rest, close);
    }
    if (*next == '!' && end - next >= 3 && next[1] == '-' && next[2] == '-') {
        p = next + 3;
        if (p < end && *p == '>') return p + 1;
        if (end - p >= 2 && p[0] == '-' && p[1] == '>') return p + 2;
        for (; (p = find(p, end, '-')) < end; p++) {
            if (end - p >= 3 && p[1] == '-' && p[2] == '>') return p + 3;
            if (end - p >= 4 && p[1] == '-' && p[2] == '!' && p[3] == '>') return p + 4;
        }
        return end;
    }
    if (*next == '!' || *next == '?' || slash) {
        const byte *close = find(next + 1, end, '>');
        return close == end ? end : close + 1;
    }
    return next;
}

static PyObject *read_tags(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer body;
    Reader r = {0};
    int embeds;
    if (!PyArg_ParseTuple(args, "y*ppOOOO", &body, &embeds, &r.xml, &r.add_link, &r.add_title, &r.add,
                          &r.in_attribute))
        return NULL;
    r.begin = body.buf, r.end = r.begin + body.len;
    r.collected = embeds ? LINKS | EMBEDS : LINKS;
    const byte *p = r.begin, *pause = r.begin + (body.len < AT_ONCE ? body.len : AT_ONCE);
    while (p != NULL && (p = find(p, r.end, '<')) < r.end) {
        p = read_markup(&r, p);
        if (p == NULL || p < pause) continue;
        pause = r.end - p > AT_ONCE ? p + AT_ONCE : r.end;
        Py_BEGIN_ALLOW_THREADS /* let waiting threads run */
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&body);
    if (p == NULL) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"read_tags", read_tags, METH_VARARGS,
     "Give a page its tags. The arguments are the page in UTF-8; whether to read what it embeds;\n"
     "whether it is XML; what takes links, titles, other tags; what reads character references."},
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
    .m_name = "_tags",
    .m_doc = "The compiled reader of the tags of an HTML page.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__tags(void) { return PyModuleDef_Init(&module); }
