/* What the kernel's files share: its tables, and what each file offers to the others.
 *
 * _kernel.c    the Python type, answers for one text, a list, a block of lines; which rules merge two
 * _identity.c  from a URL to its identity: syntax, and what is dropped in passing
 * _heuristics.c   rules of practice on what _identity.c wrote
 * _column.c    answers for an Arrow column
 * _blake2b.c   keys
 */
#ifndef CANONRY_KERNEL_H
#define CANONRY_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "_blake2b.h"

enum { ROOM = 4096, SPARE = 8, DIGEST = 16 };

/* Return how many bytes a text may take: each may be escaped, and eight are stored at a time. */
static inline Py_ssize_t room_for(Py_ssize_t n) { return 3 * n + SPARE; }

/* Return how long a text may be so that ``room`` bytes are enough for it. */
static inline Py_ssize_t fitting(Py_ssize_t room) { return (room - SPARE) / 3; }

/* The rules that a kernel knows, in the order of the table (canon/rules/table.py); first those that
 * always run. */
#define RULES(ROW) \
    ROW(ENCODE_DISALLOWED, "encode-disallowed") \
    ROW(PERCENT_CASE, "percent-case") \
    ROW(PERCENT_UNRESERVED, "percent-unreserved") \
    ROW(SCHEME_CASE, "scheme-case") \
    ROW(HOST_CASE, "host-case") \
    ROW(DOT_SEGMENTS, "dot-segments") \
    ROW(EMPTY_PORT, "empty-port") \
    ROW(PORT_ZEROS, "port-zeros") \
    ROW(DEFAULT_PORT, "default-port") \
    ROW(EMPTY_PATH, "empty-path") \
    ROW(USERINFO, "userinfo") \
    ROW(SCHEME_FOLD, "scheme-fold") \
    ROW(HOST_DOT, "host-dot") \
    ROW(WWW, "www") \
    ROW(DECODE_ESCAPES, "decode-escapes") \
    ROW(LETTER_CASE, "letter-case") \
    ROW(ALL_SLASHES, "all-slashes") \
    ROW(ARCHIVE_SESSION, "archive-session") \
    ROW(ARCHIVE_ORDER, "archive-order") \
    ROW(TRACKING, "tracking") \
    ROW(SESSION_ID, "session-id") \
    ROW(SORTED_QUERY, "sorted-query") \
    ROW(EMPTY_QUERY, "empty-query") \
    ROW(DUPLICATE_SLASHES, "duplicate-slashes") \
    ROW(INDEX_FILE, "index-file") \
    ROW(TRAILING_SLASH, "trailing-slash") \
    ROW(FRAGMENT, "fragment")

#define PLACE(rule, name) rule##_PLACE,
#define BIT(rule, name) rule = 1 << rule##_PLACE,
enum { RULES(PLACE) COUNT };
enum {
    RULES(BIT)
    BY_PARSER = 1 << COUNT, /* no rule, but the URL Standard's parser acted */
    LOSSLESS = USERINFO - 1,
    /* What to request is a URL without these. */
    ON_ESCAPES = ENCODE_DISALLOWED | PERCENT_CASE | PERCENT_UNRESERVED,
    REQUEST = LOSSLESS & ~ON_ESCAPES,
    /* No heuristic acts for these: the kernel leaves such URLs to the pipeline, or did it already. */
    IN_PASSING = LOSSLESS | HOST_DOT | USERINFO | TRACKING | EMPTY_QUERY | FRAGMENT,
    ON_PATHS = DECODE_ESCAPES | LETTER_CASE | ALL_SLASHES | ARCHIVE_SESSION | SESSION_ID |
               DUPLICATE_SLASHES | INDEX_FILE | TRAILING_SLASH,
    ON_QUERIES = DECODE_ESCAPES | LETTER_CASE | ARCHIVE_SESSION | ARCHIVE_ORDER | SESSION_ID | SORTED_QUERY,
};

typedef struct {
    const byte *text;
    Py_ssize_t length;
} Name;

typedef struct {
    Name *all; /* few, and unsorted */
    Py_ssize_t count;
} Names;

typedef struct {
    Names session, index_files;
    byte path[256], query[256]; /* the characters that RFC 3986 allows there */
} Heuristics;

typedef struct {
    byte run[256];  /* 1: copy unchanged */
    byte rows[32];  /* the same below 128, by low half: a bit for each high half; twice */
} Runs;

typedef struct {
    PyObject_HEAD
    PyTypeObject *canonical;         /* canonry.Canonical, a tuple of three */
    int rules;                       /* those of an identity */
    PyObject *lists;                 /* a tuple of tuples of bytes; the arrays point into them */
    Names tracking, leading;
    uint64_t initials[256];          /* by first letter: a bit for each length of a tracking name */
    byte request_path[256], request_query[256], identity_path[256], identity_query[256];
    byte unreserved[256];
    Runs run_path[2], run_query[2];  /* bytes to copy unchanged: to request, and in identities */
    Runs run_host;                   /* bytes of a host in lower case */
    byte suspect[256];               /* 1: a tracking name may begin with this byte */
    int skips;                       /* 1: no heuristic, so a canonical URL is its identity */
    byte host[256];                  /* a host's characters in lower case; 0: not allowed */
    Heuristics heuristics;
    uint64_t keyed[8];               /* BLAKE2b's state after the key's block */
} Kernel;

static inline int hex(byte c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline byte lower(byte c) { return c >= 'A' && c <= 'Z' ? c | 32 : c; }

static inline Py_ssize_t put_escape(byte *out, Py_ssize_t at, byte c) {
    static const char digits[] = "0123456789ABCDEF";
    out[at] = '%', out[at + 1] = digits[c >> 4], out[at + 2] = digits[c & 15];
    return at + 3;
}

/* Prepare what write_url and is_canonical read, from the tables that the kernel was given. */
void prepare(Kernel *k);

/* Write what some rules make of s; return its length, or -1 if we cannot tell. These are the kernel's,
 * for its identity; the first of them, for what they make of it by then; or REQUEST. ``acted`` gets
 * the rules that changed something. White space at the end of s is no part of the URL (URL Standard
 * section 4.4). */
Py_ssize_t write_url(const Kernel *k, const byte *s, Py_ssize_t n, int rules, byte *out, int *acted);

/* Return 1 if a text is its own identity, as nine of ten are; 0 if that is not known. */
int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n);

/* Return how many bytes of a base to put before a reference (RFC 3986 section 5.2.2, and the URL
 * Standard's repairs), or -1 if we cannot tell. Dot segments are not removed yet. */
Py_ssize_t kept_of(const Kernel *k, const byte *base, Py_ssize_t m, const byte *s, Py_ssize_t n);

/* Return 1 for a field of a query that has the name of a tracking parameter. */
int is_tracking(const Kernel *k, const byte *field, Py_ssize_t length);

/* Apply these rules to a URL that ends at ``end``; its path is from ``path`` to ``query``. Return
 * the new end, or -1. The origin is "http://" or "https://", a host, and perhaps a port. */
Py_ssize_t apply_heuristics(const Heuristics *g, int rules, byte *out, Py_ssize_t path, Py_ssize_t query, Py_ssize_t end, int *acted);

/* Return the identities of an Arrow column, and perhaps the keys, for Python. */
PyObject *kernel_column(PyObject *self, PyObject *args);

/* Borrow the bytes of a text; a str is read as UTF-8. Return NULL if it has none. */
const byte *bytes_of(PyObject *given, Py_ssize_t *n);

/* Copy a list into a tuple: finalizers and other threads may change the list meanwhile. */
PyObject *copy_of(PyObject *list);

#endif
