/* Which rules merge two spellings of one URL: the plain pipeline's steps, one by one.
 *
 * canon/pipeline/canonical.py does the same for any URL, with texts for people. write_url does all steps in
 * one pass, in a third of the time; where the steps do not lead to its identity, the rules are unknown.
 */
#include "_kernel.h"

_Static_assert(STEPS <= 31, "rules are bits of an int32_t that is not negative");

typedef struct { /* what a rule removed, and then what it inserted */
    Py_ssize_t at, removed, inserted;
} Change;

typedef struct {
    const Kernel *k;
    int32_t rules; /* that acted, as bits */
    Change changes[STEPS];
    byte room[2 * ROOM]; /* the texts of the changes */
    Py_ssize_t used;
    byte now[ROOM], before[ROOM]; /* the URL, and as it was before the last step */
    Py_ssize_t n, was; /* their lengths */
    Py_ssize_t host, path, query; /* where these begin: the query at the "?", or the end */
} Trace;

/* Record what a step changed in the URL, if anything; return 0 if there is no room for it. */
static int note(Trace *t, int step) {
    Py_ssize_t least = t->n < t->was ? t->n : t->was, head = 0, tail = 0;
    if (t->n == t->was && !memcmp(t->now, t->before, (size_t)t->n)) return 1;
    while (head < least && t->now[head] == t->before[head]) head++;
    while (tail < least - head && t->now[t->n - 1 - tail] == t->before[t->was - 1 - tail]) tail++;
    Change change = {t->used, t->was - head - tail, t->n - head - tail};
    if (t->used + change.removed + change.inserted > (Py_ssize_t)sizeof t->room) return 0;
    memcpy(t->room + t->used, t->before + head, (size_t)change.removed);
    memcpy(t->room + t->used + change.removed, t->now + head, (size_t)change.inserted);
    t->used += change.removed + change.inserted;
    t->changes[step] = change;
    t->rules |= 1 << step;
    memcpy(t->before, t->now, (size_t)t->n);
    t->was = t->n;
    return 1;
}

/* Replace part of the URL; path and query move along if they come later. */
static void replace(Trace *t, Py_ssize_t from, Py_ssize_t to, const char *text) {
    Py_ssize_t size = (Py_ssize_t)strlen(text), by = size - (to - from);
    memmove(t->now + from + size, t->now + to, (size_t)(t->n - to));
    memcpy(t->now + from, text, (size_t)size);
    t->n += by;
    if (t->path >= to) t->path += by;
    if (t->query >= to) t->query += by;
}

static int is_escape(const byte *s, const byte *end) {
    return s + 2 < end && *s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0;
}

/* Escape characters that are not allowed, and lone percent signs. */
static void encode_disallowed(Trace *t) {
    Py_ssize_t at = t->path, query = t->query, end = t->was;
    for (Py_ssize_t i = t->path; i < end; i++) {
        byte c = t->before[i];
        if (i == query) t->query = at;
        if (i == query || (i < query ? t->k->heuristics.path : t->k->heuristics.query)[c] ||
            is_escape(t->before + i, t->before + (i < query ? query : end))) t->now[at++] = c;
        else at = put_escape(t->now, at, c);
    }
    t->n = at;
    if (query == end) t->query = at;
}

/* Convert the digits of escapes to upper case; all percent signs begin one. */
static void upper_escapes(Trace *t) {
    for (Py_ssize_t i = t->path; i < t->n; i++)
        if (t->now[i] == '%') put_escape(t->now, i, (byte)(hex(t->now[i + 1]) << 4 | hex(t->now[i + 2])));
}

static void decode_unreserved(Trace *t) {
    Py_ssize_t at = t->path, query = t->query, end = t->n;
    for (Py_ssize_t i = t->path; i < end; i++) {
        byte c = t->now[i];
        if (i == query) t->query = at;
        if (c == '%' && t->k->unreserved[hex(t->now[i + 1]) << 4 | hex(t->now[i + 2])]) {
            c = (byte)(hex(t->now[i + 1]) << 4 | hex(t->now[i + 2]));
            i += 2;
        }
        t->now[at++] = c;
    }
    t->n = at;
    if (query == end) t->query = at;
}

static void lower_scheme(Trace *t) {
    for (Py_ssize_t i = 0; i < t->host; i++) t->now[i] = lower(t->now[i]);
}

static void lower_host(Trace *t) {
    for (Py_ssize_t i = t->host; i < t->path; i++) t->now[i] = lower(t->now[i]);
}

/* Remove "." and ".." from the path (RFC 3986 section 5.2.4). */
static void remove_dots(Trace *t) {
    byte *s = t->now;
    Py_ssize_t at = t->path, end = t->query, i = t->path;
    while (i < end) { /* at a slash */
        const byte *stop = memchr(s + i + 1, '/', (size_t)(end - i - 1));
        Py_ssize_t next = stop ? stop - s : end, length = next - i - 1;
        if (length == 1 && s[i + 1] == '.') length = 0;
        else if (length == 2 && s[i + 1] == '.' && s[i + 2] == '.') {
            while (at > t->path && s[--at] != '/') continue;
            length = 0;
        } else {
            memmove(s + at, s + i, (size_t)(next - i));
            at += next - i;
            i = next;
            continue;
        }
        if (next == end) s[at++] = '/'; /* the last segment: a directory remains */
        i = next;
    }
    memmove(s + at, s + end, (size_t)(t->n - end));
    t->n -= end - at;
    t->query = at;
}

/* Return where the port's colon is, or the path's begin if there is none. */
static Py_ssize_t colon(const Trace *t) {
    const byte *found = memchr(t->now + t->host, ':', (size_t)(t->path - t->host));
    return found ? found - t->now : t->path;
}

static void drop_colon(Trace *t) {
    if (colon(t) + 1 == t->path) replace(t, colon(t), t->path, "");
}

static void drop_zeros(Trace *t) {
    for (Py_ssize_t at = colon(t) + 1; at + 1 < t->path && t->now[at] == '0';) replace(t, at, at + 1, "");
}

static void drop_default_port(Trace *t) {
    const char *port = t->host == 8 ? ":443" : ":80";
    Py_ssize_t at = colon(t), size = (Py_ssize_t)strlen(port);
    if (t->path - at == size && !memcmp(t->now + at, port, (size_t)size)) replace(t, at, t->path, "");
}

static void put_root(Trace *t) {
    if (t->query == t->path) replace(t, t->path, t->path, "/"), t->path--;
}

const char *const LOSSLESS[LOSSLESS_COUNT] = {
    "encode-disallowed", "percent-case", "percent-unreserved", "scheme-case", "host-case",
    "dot-segments", "empty-port", "port-zeros", "default-port", "empty-path",
};
static void (*const lossless[LOSSLESS_COUNT])(Trace *) = { /* what these do, in their order */
    encode_disallowed, upper_escapes, decode_unreserved, lower_scheme, lower_host,
    remove_dots, drop_colon, drop_zeros, drop_default_port, put_root,
};

/* Remove tracking parameters, each with a "&". */
static void drop_tracking(Trace *t) {
    Py_ssize_t at = t->query + 1, end = t->n, field = at;
    int dropped = 0, kept = 0;
    while (field <= end) {
        const byte *stop = memchr(t->now + field, '&', (size_t)(end - field));
        Py_ssize_t next = stop ? stop - t->now : end;
        if (is_tracking(t->k, t->now + field, next - field)) {
            dropped = 1;
        } else {
            if (kept++) t->now[at++] = '&';
            memmove(t->now + at, t->now + field, (size_t)(next - field));
            at += next - field;
        }
        field = next + 1;
    }
    if (dropped) t->n = kept ? at : t->query;
}

/* Run a rule of practice alone; return 0 if it cannot tell. */
static int practise(Trace *t, int rule) {
    if (rule == TRACKING) {
        if (t->n > t->query + 1) drop_tracking(t);
    } else if (rule == EMPTY_QUERY) {
        if (t->n == t->query + 1) t->n = t->query;
    } else if (!(rule & IN_PASSING)) {
        Py_ssize_t end = apply_heuristics(&t->k->heuristics, rule, t->now, t->path, t->query, t->n);
        if (end < 0) return 0;
        t->n = end;
        t->path = (byte *)memchr(t->now + 8, '/', (size_t)(end - 8)) - t->now;
        const byte *query = memchr(t->now, '?', (size_t)end);
        t->query = query ? query - t->now : end;
    }
    return 1;
}

/* Run all steps over a URL without a fragment; return 0 if they do not lead to its identity. */
static int trace(const Kernel *k, const byte *s, Py_ssize_t n, Trace *t) {
    byte identity[ROOM];
    Py_ssize_t end;
    if (n < 8 || n > fitting(ROOM) || s[n - 1] <= ' ') return 0;
    if ((end = write_url(k, s, n, 1, identity)) < 0) return 0;
    t->k = k, t->rules = 0, t->used = 0;
    if (end == n && !memcmp(s, identity, (size_t)n)) return 1;
    memcpy(t->now, s, (size_t)n);
    memcpy(t->before, s, (size_t)n);
    t->n = t->was = n;
    t->host = s[4] == ':' ? 7 : 8;
    for (t->path = t->host; t->path < n && s[t->path] != '/' && s[t->path] != '?'; t->path++) continue;
    const byte *mark = memchr(s + t->path, '?', (size_t)(n - t->path));
    t->query = mark ? mark - s : n;
    for (int i = 0; i < LOSSLESS_COUNT; i++) {
        lossless[i](t);
        if (!note(t, COUNT + i)) return 0;
    }
    for (int i = 0; i < COUNT; i++)
        if (k->heuristics.rules & 1 << i && !(practise(t, 1 << i) && note(t, i))) return 0;
    return t->n == end && !memcmp(t->now, identity, (size_t)end);
}

/* Return the rules that changed one URL in a way in which they did not change the other. */
static int32_t difference(const Trace *one, const Trace *other) {
    int32_t found = one->rules ^ other->rules, both = one->rules & other->rules;
    for (int step = 0; both >> step; step++) {
        const Change *a = &one->changes[step], *b = &other->changes[step];
        if (!(both >> step & 1)) continue;
        if (a->removed != b->removed || a->inserted != b->inserted ||
            memcmp(one->room + a->at, other->room + b->at, (size_t)(a->removed + a->inserted)))
            found |= 1 << step;
    }
    return found;
}

/* Return the rules that merge a spelling with another of the same identity, or with the identity
 * itself if ``other`` is NULL; -1 if we cannot tell. */
static int32_t merging(const Kernel *k, const byte *one, Py_ssize_t n, const byte *other, Py_ssize_t m,
                       Trace traces[2]) {
    const byte *here = NULL, *there = NULL;
    int32_t fragment = 0;
    if (k->heuristics.rules & FRAGMENT) { /* other changes in it do not count */
        Py_ssize_t a = 0, b = 0;
        if ((here = memchr(one, '#', (size_t)n))) a = n - (here - one) - 1, n = here - one;
        if (other && (there = memchr(other, '#', (size_t)m))) b = m - (there - other) - 1, m = there - other;
        if (a != b || (a && memcmp(here + 1, there + 1, (size_t)a))) fragment = FRAGMENT;
    }
    if (other && n == m && !memcmp(one, other, (size_t)n)) return fragment;
    if (!trace(k, one, n, &traces[0])) return -1;
    if (!other) return traces[0].rules | fragment;
    if (!trace(k, other, m, &traces[1])) return -1;
    return difference(&traces[0], &traces[1]) | fragment;
}

/* Return the rules that merge a text with another, or with its identity if ``other`` is None. */
static int32_t merging_of(const Kernel *k, PyObject *one, PyObject *other, Trace traces[2]) {
    PyObject *given[] = {one, other};
    const byte *texts[2] = {NULL, NULL};
    Py_ssize_t sizes[2] = {0, 0};
    for (int i = 0; i < 2 && given[i] != Py_None; i++) {
        if (!(texts[i] = bytes_of(given[i], &sizes[i]))) return -1;
        Py_ssize_t plain = 0;
        while (PyBytes_CheckExact(given[i]) && plain < sizes[i] && texts[i][plain] < 0x80) plain++;
        if (!PyBytes_CheckExact(given[i]) || plain == sizes[i]) continue;
        PyObject *text = PyUnicode_DecodeUTF8((const char *)texts[i], sizes[i], "strict");
        if (!text) { /* other bytes are escapes to the pipeline, before any rule acts */
            PyErr_Clear();
            return -1;
        }
        Py_DECREF(text);
    }
    return texts[0] ? merging(k, texts[0], sizes[0], texts[1], sizes[1], traces) : -1;
}

PyObject *kernel_merging(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "two lists of one length are needed");
    PyObject *ones = copy_of(args[0]), *others = copy_of(args[1]), *made = NULL;
    Trace *traces = PyMem_Malloc(2 * sizeof *traces);
    Py_ssize_t size = ones ? PyTuple_GET_SIZE(ones) : 0;
    if (!traces) PyErr_NoMemory();
    else if (ones && others && PyTuple_GET_SIZE(others) != size)
        PyErr_SetString(PyExc_TypeError, "two lists of one length are needed");
    else if (ones && others) made = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(int32_t));
    for (Py_ssize_t i = 0; made && i < size; i++) {
        int32_t rules = merging_of((Kernel *)self, PyTuple_GET_ITEM(ones, i), PyTuple_GET_ITEM(others, i), traces);
        memcpy(PyBytes_AS_STRING(made) + i * (Py_ssize_t)sizeof rules, &rules, sizeof rules);
    }
    PyMem_Free(traces);
    Py_XDECREF(ones);
    Py_XDECREF(others);
    return made;
}
