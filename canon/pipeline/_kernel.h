/* What the kernel's files share: its tables, and what each file offers to the others.
 *
 * _kernel.c    the Python type, and answers for one text, a list, a block of lines
 * _identity.c  from a URL to its identity: syntax, and what is dropped in passing
 * _heuristics.c   rules of practice on what _identity.c wrote
 * _merging.c   which rules merge two spellings
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

/* The rules that a kernel can have, in the order of the table; their names are RULES. */
enum {
    SCHEME_FOLD = 1 << 0,
    HOST_DOT = 1 << 1,
    USERINFO = 1 << 2,
    WWW = 1 << 3,
    DECODE_ESCAPES = 1 << 4,
    LETTER_CASE = 1 << 5,
    ALL_SLASHES = 1 << 6,
    ARCHIVE_SESSION = 1 << 7,
    ARCHIVE_ORDER = 1 << 8,
    TRACKING = 1 << 9,
    SESSION_ID = 1 << 10,
    SORTED_QUERY = 1 << 11,
    EMPTY_QUERY = 1 << 12,
    DUPLICATE_SLASHES = 1 << 13,
    INDEX_FILE = 1 << 14,
    TRAILING_SLASH = 1 << 15,
    FRAGMENT = 1 << 16,
    COUNT = 17, /* of them */
    /* No heuristic acts for these: the kernel leaves such URLs to the pipeline, or did it already. */
    IN_PASSING = HOST_DOT | USERINFO | TRACKING | EMPTY_QUERY | FRAGMENT,
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
    int rules;
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
    PyObject *lists;                 /* a tuple of tuples of bytes; the arrays point into them */
    Names tracking, leading;
    uint64_t initials[256];          /* by first letter: a bit for each length of a tracking name */
    byte request_path[256], request_query[256], identity_path[256], identity_query[256];
    byte unreserved[256];
    Runs run_path[2], run_query[2];  /* bytes to copy unchanged, [rules] */
    Runs run_host;                   /* bytes of a host in lower case */
    byte suspect[256];               /* 1: a tracking name may begin with this byte */
    int skips;                       /* 1: no heuristic, so a canonical URL is its identity */
    byte host[256];                  /* a host's characters in lower case; 0: not allowed */
    Heuristics heuristics;
    uint64_t keyed[8];               /* BLAKE2b's state after the key's block */
} Kernel;

extern const char *const RULES[COUNT];

/* The lossless rules that may act on the kernel's URLs are the bits after those of RULES. */
enum { LOSSLESS_COUNT = 10, STEPS = COUNT + LOSSLESS_COUNT };
extern const char *const LOSSLESS[LOSSLESS_COUNT];

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

/* Write the identity (or, without rules, what to request) of s; return its length or -1. White space
 * at the end of s is no part of the URL (URL Standard section 4.4). */
Py_ssize_t write_url(const Kernel *k, const byte *s, Py_ssize_t n, int rules, byte *out);

/* Return 1 if a text is its own identity, as nine of ten are; 0 if that is not known. */
int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n);

/* Return how many bytes of a base to put before a reference (RFC 3986 section 5.2.2, and the URL
 * Standard's repairs), or -1 if we cannot tell. Dot segments are not removed yet. */
Py_ssize_t kept_of(const Kernel *k, const byte *base, Py_ssize_t m, const byte *s, Py_ssize_t n);

/* Return 1 for a field of a query that has the name of a tracking parameter. */
int is_tracking(const Kernel *k, const byte *field, Py_ssize_t length);

/* Apply these rules to a URL that ends at ``end``; its path is from ``path`` to ``query``. Return
 * the new end, or -1. The origin is "http://" or "https://", a host, and perhaps a port. */
Py_ssize_t apply_heuristics(const Heuristics *g, int rules, byte *out, Py_ssize_t path, Py_ssize_t query, Py_ssize_t end);

/* Return the rules that merge each of some texts with another, for Python. */
PyObject *kernel_merging(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* Return the identities of an Arrow column, and perhaps the keys, for Python. */
PyObject *kernel_column(PyObject *self, PyObject *args);

/* Borrow the bytes of a text; a str is read as UTF-8. Return NULL if it has none. */
const byte *bytes_of(PyObject *given, Py_ssize_t *n);

/* Copy a list into a tuple: finalizers and other threads may change the list meanwhile. */
PyObject *copy_of(PyObject *list);

#endif
