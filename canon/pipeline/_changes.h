/* Which rules merge two spellings of one URL: the plain pipeline's steps, one by one.
 *
 * canon/pipeline/canonical.py does the same for any URL, with texts for people. If the steps below
 * do not lead to the kernel's identity, the rules are unknown. _kernel.c includes this file.
 */
#ifndef CANONRY_CHANGES_H
#define CANONRY_CHANGES_H

/* The lossless rules that may act on the kernel's URLs, after the bits of RULES. */
static const char *const LOSSLESS[] = {
    "encode-disallowed", "percent-case", "percent-unreserved", "scheme-case", "host-case",
    "dot-segments", "empty-port", "port-zeros", "default-port", "empty-path",
};
enum { LOSSLESS_COUNT = sizeof LOSSLESS / sizeof *LOSSLESS, STEPS = COUNT + LOSSLESS_COUNT };
enum {
    ENCODED, UPPER_ESCAPE, DECODED, LOWER_SCHEME, LOWER_HOST, NO_DOTS, NO_COLON, NO_ZEROS, NO_PORT, ROOT_PATH,
};
_Static_assert(STEPS <= 31, "rules are bits of an int32_t that is not negative");

typedef struct { /* what a rule removed, and then what it inserted */
    Py_ssize_t at, removed, inserted;
} Change;

typedef struct {
    int32_t rules; /* that acted, as bits */
    Change changes[STEPS];
    byte room[2 * ROOM]; /* the texts of the changes */
    Py_ssize_t used;
    byte now[ROOM], before[ROOM]; /* the URL, and as it was before the last step */
    Py_ssize_t n, was, path, query; /* lengths; where path and query begin (at the "?", or the end) */
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

/* Write the escapes of characters that are not allowed, and of lone percent signs. */
static void encode_disallowed(const Kernel *k, Trace *t) {
    Py_ssize_t at = t->path, query = t->query, end = t->was;
    for (Py_ssize_t i = t->path; i < end; i++) {
        byte c = t->before[i];
        if (i == query) t->query = at;
        if (i == query || (i < query ? k->guesses.path : k->guesses.query)[c] ||
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

static void decode_unreserved(const Kernel *k, Trace *t) {
    Py_ssize_t at = t->path, query = t->query, end = t->n;
    for (Py_ssize_t i = t->path; i < end; i++) {
        byte c = t->now[i];
        if (i == query) t->query = at;
        if (c == '%' && k->unreserved[hex(t->now[i + 1]) << 4 | hex(t->now[i + 2])]) {
            c = (byte)(hex(t->now[i + 1]) << 4 | hex(t->now[i + 2]));
            i += 2;
        }
        t->now[at++] = c;
    }
    t->n = at;
    if (query == end) t->query = at;
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

/* Remove the port's colon, its zeros, or all of it: three steps. */
static int change_port(Trace *t, Py_ssize_t host) {
    const byte *colon = memchr(t->now + host, ':', (size_t)(t->path - host));
    Py_ssize_t at = colon ? colon - t->now : -1;
    if (!colon) return 1;
    if (at + 1 == t->path) {
        replace(t, at, t->path, "");
        return note(t, COUNT + NO_COLON);
    }
    while (t->now[at + 1] == '0' && at + 2 < t->path) replace(t, at + 1, at + 2, "");
    if (!note(t, COUNT + NO_ZEROS)) return 0;
    int secure = host == 8;
    if (t->path - at == (secure ? 4 : 3) && !memcmp(t->now + at, secure ? ":443" : ":80", secure ? 4 : 3))
        replace(t, at, t->path, "");
    return note(t, COUNT + NO_PORT);
}

/* Remove tracking parameters, each with a "&". */
static void drop_tracking(const Kernel *k, Trace *t) {
    Py_ssize_t at = t->query + 1, end = t->n, field = at;
    int dropped = 0, kept = 0;
    while (field <= end) {
        const byte *stop = memchr(t->now + field, '&', (size_t)(end - field));
        Py_ssize_t next = stop ? stop - t->now : end;
        if (is_tracking(k, t->now + field, next - field)) {
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
static int practise(const Kernel *k, Trace *t, int rule) {
    Py_ssize_t end = t->n;
    if (rule == TRACKING) {
        if (t->n > t->query + 1) drop_tracking(k, t);
    } else if (rule == EMPTY_QUERY) {
        if (t->n == t->query + 1) t->n = t->query;
    } else if (!(rule & IN_PASSING)) {
        if ((end = guess(&k->guesses, rule, t->now, t->path, t->query, t->n)) < 0) return 0;
        t->n = end;
        const byte *path = memchr(t->now + 8, '/', (size_t)(end - 8));
        const byte *query = memchr(t->now, '?', (size_t)end);
        t->path = path - t->now;
        t->query = query ? query - t->now : end;
    }
    return 1;
}

/* Run all steps over a URL without a fragment; return 0 if they do not lead to its identity. */
static int trace(const Kernel *k, const byte *s, Py_ssize_t n, Trace *t) {
    byte identity[ROOM];
    Py_ssize_t host, end;
    if (n < 8 || n > fitting(ROOM) || s[n - 1] <= ' ') return 0;
    if ((end = write_url(k, s, n, 1, identity)) < 0) return 0;
    t->rules = 0, t->used = 0;
    if (end == n && !memcmp(s, identity, (size_t)n)) return 1;
    memcpy(t->now, s, (size_t)n);
    memcpy(t->before, s, (size_t)n);
    t->n = t->was = n;
    host = s[4] == ':' ? 7 : 8;
    for (t->path = host; t->path < n && s[t->path] != '/' && s[t->path] != '?'; t->path++) continue;
    const byte *mark = memchr(s + t->path, '?', (size_t)(n - t->path));
    t->query = mark ? mark - s : n;
    encode_disallowed(k, t);
    if (!note(t, COUNT + ENCODED)) return 0;
    if (memchr(t->now + t->path, '%', (size_t)(t->n - t->path))) {
        upper_escapes(t);
        if (!note(t, COUNT + UPPER_ESCAPE)) return 0;
        decode_unreserved(k, t);
        if (!note(t, COUNT + DECODED)) return 0;
    }
    for (Py_ssize_t i = 0; i < host; i++) t->now[i] = lower(t->now[i]);
    if (!note(t, COUNT + LOWER_SCHEME)) return 0;
    for (Py_ssize_t i = host; i < t->path; i++) t->now[i] = lower(t->now[i]);
    if (!note(t, COUNT + LOWER_HOST)) return 0;
    if (t->query > t->path) remove_dots(t);
    if (!note(t, COUNT + NO_DOTS) || !change_port(t, host)) return 0;
    if (t->query == t->path) replace(t, t->path, t->path, "/"), t->path--;
    if (!note(t, COUNT + ROOT_PATH)) return 0;
    for (size_t i = 0; i < COUNT; i++)
        if (k->guesses.rules & RULES[i].rule && !(practise(k, t, RULES[i].rule) && note(t, (int)i))) return 0;
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
    if (k->guesses.rules & FRAGMENT) { /* other changes in it do not count */
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

#endif
