/* The compiled scan of a page for its sketch.
 *
 * It gives, byte for byte, what crawler/content/plain_scan.py gives, which also says what counts as
 * text; tests/crawler/content/test_native_sketch.py compares the two. Time is linear in the length.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { VERSION = 6 }; /* has to equal VERSION in plain_scan.py: raise both when what it gives changes */
enum { SHINGLES = 15, NUMBERS = 32, PASSAGES = 24, IN_HEADINGS = 64, CACHE = 256 };
enum { HEAD = 9 + NUMBERS + PASSAGES / 2 + 1 };

static const uint64_t M = 0x9E3779B97F4A7C15u;
static const uint64_t K1 = 0xD6E8FEB86659FD93u, K2 = 0xA0761D6478BD642Fu, K3 = 0xE7037ED1A0B428DBu;

/* What nearly every word changes: kept in registers. */
typedef struct {
    uint64_t words[3]; /* the last three, the latest last */
    uint64_t count, run, text;
} Hot;

typedef struct {
    const byte *begin, *end;
    uint64_t last; /* the last word, when markup begins */
    uint64_t heading, text;
    int in_heading;      /* words of it that still count */
    int title, h1;       /* 1: was seen */
    int no_double, no_single; /* 1: no such quote follows any more */
    int kept, whole;
    uint32_t most; /* the largest shingle that may be kept */
    uint32_t shingles[SHINGLES]; /* ascending */
    uint32_t cache[CACHE];       /* shingles that were seen a moment ago */
    byte numbers[NUMBERS];
    uint64_t style, part; /* hashes of the last class, and of the last tag of a part of a page */
    uint64_t passage;    /* hash of what the passage is called */
    int places[2];       /* its buckets */
    byte passages[PASSAGES];
    byte links;
    uint32_t *read; /* receives the hashes of all that the page says; NULL: they are not wanted */
    size_t number;  /* of these */
} Scan;

enum { END, START, LINK, IMAGE }; /* what a tag is; links and images are start tags */

/* ---- Bytes, eight at a time ---- */

#define EACH(x) ((uint64_t)(x) * 0x0101010101010101u)
static const uint64_t HIGH = EACH(0x80);

static inline uint64_t load(const byte *p) { /* little-endian on every machine */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static inline uint64_t load_until(const byte *p, const byte *end) { /* zeros beyond the end */
    if (end - p >= 8) return load(p);
    uint64_t x = 0;
    for (int i = 0; p + i < end; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

/* The high bits of the bytes that are ASCII and from one character to another. */
static inline uint64_t among(uint64_t x, byte from, byte to) {
    uint64_t low = x & ~HIGH;
    return ((low + EACH(0x80 - from)) ^ (low + EACH(0x7F - to))) & ~x & HIGH;
}

static inline uint64_t lowered(uint64_t x) { return x | among(x, 'A', 'Z') >> 2; }

static inline int zeros(uint64_t x) { /* before the first bit that is set */
#if defined(__GNUC__)
    return __builtin_ctzll(x);
#else
    int n = 0;
    while (!(x >> n & 1)) n++;
    return n;
#endif
}

static inline uint64_t mix(uint64_t x) { return (x ^ x >> 32) * M; }

static inline int is_space(byte c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static inline int is_letter(byte c) { return (byte)((c | 0x20) - 'a') < 26; }

static inline int is_word(byte c) {
    return is_letter(c) || (byte)(c - '0') < 10 || c >= 0x80;
}

/* The hash of some bytes, in lower case. */
static uint64_t hash_of(const byte *p, const byte *end) {
    uint64_t mixed = (uint64_t)(end - p) * K3;
    for (; p < end; p += 8) {
        mixed = (mixed ^ lowered(load_until(p, end))) * M;
        mixed ^= mixed >> 32;
    }
    return mixed;
}

/* ---- What is kept ---- */

static void keep(Scan *s, uint32_t shingle) {
    uint32_t *cached = &s->cache[shingle % CACHE];
    if (*cached == shingle) return;
    *cached = shingle;
    int at = s->kept;
    while (at > 0 && s->shingles[at - 1] > shingle) at--;
    if (at > 0 && s->shingles[at - 1] == shingle) return;
    if (s->kept == SHINGLES)
        s->whole = 0;
    else
        s->kept++;
    memmove(&s->shingles[at + 1], &s->shingles[at], (size_t)(s->kept - 1 - at) * sizeof *s->shingles);
    s->shingles[at] = shingle;
    if (s->kept == SHINGLES) s->most = s->shingles[SHINGLES - 1];
}

/* Something that the page says. A word, with what ends it, takes two bytes of it or more, and a number
 * is noted twice: so there are at most as many as bytes, and one more. */
static inline void note(Scan *s, uint64_t mixed) {
    if (s->read) s->read[s->number++] = (uint32_t)(mixed >> 32);
}

static inline int bucket(uint64_t last) { /* of numbers after a word */
    return 1 + (int)((mix(last) >> 32) * (NUMBERS - 1) >> 32);
}

static void begin_passage(Scan *s, uint64_t tag) {
    s->passage = mix(mix(tag + s->style * K1 + s->part * K2));
    s->places[0] = (int)((s->passage >> 32) * PASSAGES >> 32);
    s->places[1] = (int)((s->passage & 0xFFFFFFFF) * (PASSAGES - 1) >> 32);
    s->places[1] += s->places[1] >= s->places[0];
}

static inline void add_to_passage(Scan *s, uint64_t word) { /* four bits in each bucket */
    uint64_t added = mix(word + s->passage);
    s->passages[s->places[0]] += (byte)(added >> 60);
    s->passages[s->places[1]] += (byte)(added >> 56);
}

static inline void add_word(Scan *s, Hot *h, uint64_t word, int is_number) {
    int in_heading = s->in_heading > 0;
    if (in_heading) s->in_heading--;
    if (is_number) {
        h->run = mix(word + h->run);
        note(s, mix(h->run + h->words[2]));
        note(s, mix(h->words[0] * K3 + h->words[1] * K2 + h->words[2] * K1 + h->run));
        s->numbers[in_heading ? 0 : bucket(h->words[2])] += (byte)(h->run >> 56);
        add_to_passage(s, h->run);
        return;
    }
    h->run = 0;
    h->text = (h->text ^ word) * M;
    if (in_heading) s->heading = (s->heading ^ word) * M;
    add_to_passage(s, word);
    uint64_t shingle = mix(h->words[0] * K3 + h->words[1] * K2 + h->words[2] * K1 + word);
    note(s, shingle);
    h->words[0] = h->words[1], h->words[1] = h->words[2], h->words[2] = word;
    if (++h->count >= 4) {
        uint32_t found = (uint32_t)(shingle >> 40);
        if (found > s->most)
            s->whole = 0;
        else
            keep(s, found);
    }
}

/* The mixed hash of the last segment of a URL's path; 0 if that is empty. */
static uint64_t last_segment(const byte *p, const byte *end) {
    const byte *name = p;
    for (; p < end && *p != '?' && *p != '#' && *p != ';'; p++)
        if (*p == '/') name = p + 1;
    return name < p ? mix(hash_of(name, p)) : 0;
}

/* The last segment of the path of an image is a number of the page. */
static void add_image(Scan *s, const byte *p, const byte *end) {
    static const char DATA[] = "data:";
    int same = 0;
    while (same < 5 && p + same < end && (p[same] >= 'A' && p[same] <= 'Z' ? p[same] | 0x20 : p[same]) == DATA[same]) same++;
    if (same == 5) return;
    uint64_t name = last_segment(p, end);
    if (!name) return;
    note(s, mix(name + K1));
    s->numbers[bucket(s->last)] += (byte)(name >> 56);
}

/* The last segment of the path of a link, in any order. */
static void add_link(Scan *s, const byte *p, const byte *end) {
    uint64_t name = last_segment(p, end);
    if (!name) return;
    note(s, mix(name + K2));
    s->links += (byte)(name >> 56);
}

/* ---- Markup ---- */

static const byte *find(const byte *p, const byte *end, byte c) {
    return p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
}

/* Return where a quoted value ends, at its quote; NULL if it is not closed. */
static const byte *closing(Scan *s, const byte *p, byte quote) {
    int *none = quote == '"' ? &s->no_double : &s->no_single;
    const byte *found = *none ? NULL : find(p, s->end, quote);
    if (!found) *none = 1;
    return found;
}

static void take_style(Scan *s, const byte *p, const byte *end) { /* "post-17" is as "post-18" */
    const byte *stop = p;
    while (stop < end && (byte)(*stop - '0') >= 10) stop++;
    s->style = hash_of(p, stop);
}

static inline int is_letters(const byte *p, const char *name, int length) {
    for (int i = 0; i < length; i++)
        if ((p[i] | 0x20) != (byte)name[i]) return 0;
    return 1;
}

/* Return what follows a tag, from the end of its name on: note its class, and add where it leads. Of
 * an end tag, note nothing. */
static const byte *after_tag(Scan *s, const byte *p, int kind) {
    const byte *begin = p;
    while (p < s->end) {
        if (s->end - p >= 8) { /* skip what is neither ">" nor "=" */
            uint64_t x = load(p) ^ EACH('='), high = x & HIGH;
            /* "=" is 0 now, ">" is 3; "<" is 1 and "?" is 2, which the check below passes over */
            uint64_t near = ~((x & ~HIGH) + EACH(0x7C)) & HIGH & ~high;
            if (!near) {
                p += 8;
                continue;
            }
            p += zeros(near) >> 3;
        }
        byte c = *p++;
        if (c == '>') return p;
        if (c != '=') continue;
        const byte *value = p;
        while (value < s->end && is_space(*value)) value++;
        const byte *stop = NULL;
        int quoted = value < s->end && (*value == '"' || *value == '\'');
        if (quoted && (stop = closing(s, value + 1, *value))) value++;
        int is_source = kind == IMAGE && p - 4 >= begin && is_letters(p - 4, "src", 3);
        int is_link = kind == LINK && p - 5 >= begin && is_letters(p - 5, "href", 4);
        int is_style = kind != END && p - 6 >= begin && is_letters(p - 6, "class", 5);
        if ((is_source || is_link || is_style) && (stop || !quoted)) {
            const byte *last = stop;
            if (!stop)
                for (last = value; last < s->end && *last != '>' && !is_space(*last);) last++;
            if (is_source)
                add_image(s, value, last);
            else if (is_link)
                add_link(s, value, last);
            else
                take_style(s, value, last);
        }
        if (stop) p = stop + 1;
    }
    return s->end;
}

static int is_name(const byte *p, const byte *end, const char *name, size_t length) {
    if ((size_t)(end - p) != length) return 0;
    for (size_t i = 0; i < length; i++)
        if ((p[i] | 0x20) != (byte)name[i] && p[i] != (byte)name[i]) return 0;
    return 1;
}

#define IS(text) is_name(name, p, text, sizeof text - 1)

static int is_part(const byte *name, const byte *p) { /* of a page */
    switch (p - name) {
    case 2: return ((*name | 0x20) == 'h' && (byte)(name[1] - '1') < 6) || IS("ul") || IS("ol") || IS("dl");
    case 3: return IS("nav");
    case 4: return IS("main") || IS("form");
    case 5: return IS("table") || IS("aside");
    case 6: return IS("footer") || IS("header");
    case 7: return IS("section") || IS("article");
    default: return 0;
    }
}

/* Return the end tag of an element whose content is hidden. */
static const byte *hidden(const Scan *s, const byte *p, const char *name, size_t length) {
    while ((p = find(p, s->end, '<')) != NULL) {
        if ((size_t)(s->end - p) < length + 2) break;
        if (p[1] == '/' && is_name(p + 2, p + 2 + length, name, length)) return p;
        p++;
    }
    return s->end;
}

static const byte *after_ending(const Scan *s, const byte *p) { /* of a declaration */
    const byte *found = find(p, s->end, '>');
    return found ? found + 1 : s->end;
}

static const byte *after_comment(const Scan *s, const byte *p) {
    while ((p = find(p, s->end, '>')) != NULL) {
        if (p[-1] == '-' && p[-2] == '-') return p + 1;
        p++;
    }
    return s->end;
}

/* Return where the text goes on after "<", which p points to. */
static const byte *after_markup(Scan *s, const byte *p) {
    const byte *end = s->end, *start = p;
    if (end - p < 2) return end;
    byte c = p[1];
    int is_end = c == '/';
    p += 1 + is_end;
    if (p < end && is_letter(*p)) {
        const byte *name = p;
        while (p < end && (is_letter(*p) || (byte)(*p - '0') < 10)) p++;
        int kind = is_end ? END : IS("a") ? LINK : IS("img") ? IMAGE : START;
        const byte *after = after_tag(s, p, kind);
        if (after == end && end[-1] != '>') return end;
        if (IS("title") || IS("h1")) {
            int *seen = p - name == 2 ? &s->h1 : &s->title;
            s->in_heading = is_end || *seen ? 0 : IN_HEADINGS;
            if (!is_end) *seen = 1;
        }
        if (IS("script")) return is_end ? after : hidden(s, after, "script", 6);
        if (IS("style")) return is_end ? after : hidden(s, after, "style", 5);
        if (IS("noscript")) return is_end ? after : hidden(s, after, "noscript", 8);
        if (IS("template")) return is_end ? after : hidden(s, after, "template", 8);
        if (IS("img")) return after;
        uint64_t tag = hash_of(name, p) + (uint64_t)is_end;
        if (is_part(name, p)) s->part = tag;
        begin_passage(s, tag);
        return after;
    }
    if (c == '!' && end - start >= 4 && start[2] == '-' && start[3] == '-')
        return after_comment(s, start + 4);
    if (c == '!' && end - start >= 9 && !memcmp(start, "<![CDATA[", 9)) return start + 9;
    return c == '!' || c == '?' || c == '/' ? after_ending(s, start + 2) : start + 1;
}

/* ---- Text ---- */

static int is_entity(const Scan *s, const byte *start, const byte *end) {
    if (end == s->end || *end != ';' || start == s->begin) return 0;
    return start[-1] == '&' || (start[-1] == '#' && start - s->begin > 1 && start[-2] == '&');
}

/* Sixty-four bytes: a bit for each, the first one lowest. */
typedef struct {
    uint64_t words, digits, tags; /* what belongs to words, what is a digit, what is "<" */
} Block;

static inline uint64_t bits(uint64_t high) { /* the high bits of eight bytes, in a row */
    return (high >> 7) * 0x0102040810204080u >> 56;
}

static inline Block block_at(const byte *p, const byte *end) {
    Block b = {0, 0, 0};
    byte copy[64];
    if (end - p < 64) {
        memset(copy, 0, sizeof copy);
        p = memcpy(copy, p, (size_t)(end - p));
    }
    for (int i = 0; i < 64; i += 8) {
        uint64_t x = load(p + i), digits = among(x, '0', '9');
        b.digits |= bits(digits) << i;
        b.words |= bits((among(x | EACH(0x20), 'a', 'z') | digits | x) & HIGH) << i;
        b.tags |= bits(among(x, '<', '<')) << i;
    }
    return b;
}

static inline void take_word(Scan *s, Hot *h, const byte *p, const byte *end, int is_number) {
    if (end < s->end && *end == ';' && is_entity(s, p, end)) return;
    size_t length = (size_t)(end - p);
    if (length > 8 || s->end - p < 8) {
        add_word(s, h, hash_of(p, end), is_number);
        return;
    }
    uint64_t word = (length * K3 ^ lowered(load(p) << (64 - 8 * length) >> (64 - 8 * length))) * M;
    add_word(s, h, word ^ word >> 32, is_number);
}

/* Add a word that fills a block; return its end. */
static const byte *take_long_word(Scan *s, Hot *h, const byte *p) {
    const byte *start = p;
    int is_number = 0;
    for (; p < s->end && is_word(*p); p++) is_number |= (byte)(*p - '0') < 10;
    take_word(s, h, start, p, is_number);
    return p;
}

/* Add the words of a block up to a tag, or to a word that goes on; return where that begins. */
static inline const byte *take_block(Scan *s, Hot *h, const byte *p, int markup) {
    Block b = block_at(p, s->end);
    if (!markup) b.tags = 0;
    for (int at = 0; at < 64;) {
        uint64_t next = (b.words | b.tags) >> at;
        if (!next) break;
        at += zeros(next);
        if (b.tags >> at & 1) {
            s->last = h->words[2];
            return after_markup(s, p + at);
        }
        uint64_t others = ~b.words >> at;
        int length = others ? zeros(others) : 64;
        if (at + length >= 64) return at ? p + at : take_long_word(s, h, p);
        uint64_t digits = b.digits >> at & (((uint64_t)1 << length) - 1);
        take_word(s, h, p + at, p + at + length, digits != 0);
        at += length;
    }
    return p + 64;
}

static void scan_all(Scan *s, int markup) {
    Hot h = {{0, 0, 0}, 0, 0, 0};
    for (const byte *p = s->begin; p < s->end;) p = take_block(s, &h, p, markup);
    s->text = h.text;
}

static byte *put(byte *out, uint32_t value, int bytes) { /* big-endian */
    while (bytes--) *out++ = (byte)(value >> 8 * bytes);
    return out;
}

/* Scan the body that a function was called with; return 0, with an error, if that is not possible.
 * If all that it says is wanted, the caller frees the hashes. */
static int scanned(Scan *s, PyObject *args, int is_read) {
    Py_buffer body;
    int markup;
    if (!PyArg_ParseTuple(args, "y*p", &body, &markup)) return 0;
    *s = (Scan){.begin = body.buf, .end = (const byte *)body.buf + body.len, .whole = 1, .most = 0xFFFFFF};
    memset(s->cache, 0xFF, sizeof s->cache);
    begin_passage(s, 0);
    if (is_read && !(s->read = PyMem_RawMalloc(sizeof *s->read * ((size_t)body.len + 1)))) {
        PyBuffer_Release(&body);
        PyErr_NoMemory();
        return 0;
    }
    Py_BEGIN_ALLOW_THREADS
    scan_all(s, markup);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&body);
    return 1;
}

static PyObject *scan(PyObject *module, PyObject *args) {
    (void)module;
    Scan s;
    if (!scanned(&s, args, 0)) return NULL;
    byte out[HEAD + 3 * SHINGLES], *end = out;
    end = put(end, (uint32_t)(s.kept | (s.whole ? 0x80 : 0)), 1);
    end = put(end, (uint32_t)(s.heading >> 32), 4);
    end = put(end, (uint32_t)(s.text >> 32), 4);
    memcpy(end, s.numbers, NUMBERS);
    end += NUMBERS;
    for (int i = 0; i < PASSAGES; i += 2)
        *end++ = (byte)(s.passages[i] << 4 | (s.passages[i + 1] & 0xF));
    *end++ = s.links;
    for (int i = 0; i < s.kept; i++) end = put(end, s.shingles[i], 3);
    return PyBytes_FromStringAndSize((const char *)out, end - out);
}

static PyObject *read_all(PyObject *module, PyObject *args) {
    (void)module;
    Scan s;
    if (!scanned(&s, args, 1)) return NULL;
    PyObject *found = PyBytes_FromStringAndSize((const char *)s.read, (Py_ssize_t)(s.number * sizeof *s.read));
    PyMem_RawFree(s.read);
    return found;
}

static PyMethodDef methods[] = {
    {"read", read_all, METH_VARARGS, "Return the hashes of all that a body says; the arguments are those of scan."},
    {"scan", scan, METH_VARARGS, "Return the encoded sketch of a body; the second argument is True for markup."},
    {NULL, NULL, 0, NULL},
};

static int run(PyObject *module) { return PyModule_AddIntConstant(module, "VERSION", VERSION); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, run},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* a scan keeps nothing */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_sketch",
    .m_doc = "The compiled scan of a page for its sketch.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__sketch(void) { return PyModuleDef_Init(&module); }
