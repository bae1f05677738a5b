/* The compiled fast path for most URLs: http or https, with an ordinary ASCII host.
 *
 * A Kernel gives the answer of the plain pipeline (canon/pipeline/canonicalizer.py), or None if it
 * cannot tell; tests/canon/pipeline/test_native.py compares the two. canon/pipeline/native.py
 * passes in, as tables, which characters are allowed where and which parameters are tracking.
 * Time is linear in the length of the text.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "_blake2b.h"
#include "_spans.h"
#include "_guesses.h"

enum { VERSION = 13 }; /* has to equal _VERSION in native.py: raise both when answers change */
enum { REFUSE = 0, KEEP = 1, ENCODE = 2 }; /* what to do with a character */
enum { MAX_HOST = 253, MAX_KEY = 64, DIGEST = 16, HASH = 8, END = 4, COUNT = sizeof RULES / sizeof *RULES };

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
    int skips;                       /* 1: no guess, so a canonical URL is its identity */
    byte host[256];                           /* a host's characters in lower case; 0: not allowed */
    Guesses guesses;
    uint64_t keyed[8];               /* BLAKE2b's state after the key's block */
} Kernel;

/* Copy s[i] to out[at] as a table says; return how many bytes were read, 0 for a refusal.
 * Normalizing converts escapes to upper case, decodes those of unreserved characters (RFC 3986
 * sections 6.2.2.1 and 6.2.2.2) and escapes lone percent signs. */
static inline int put(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t end,
                      const byte *table, int normalize, byte *out, Py_ssize_t *at) {
    byte c = s[i];
    if (c != '%') {
        if (table[c] == KEEP) out[(*at)++] = c;
        else if (table[c] == ENCODE) *at = put_escape(out, *at, c);
        else return 0;
        return 1;
    }
    if (!normalize) {
        out[(*at)++] = c;
        return 1;
    }
    int high = i + 2 < end ? hex(s[i + 1]) : -1, low = i + 2 < end ? hex(s[i + 2]) : -1;
    if (high < 0 || low < 0) {
        *at = put_escape(out, *at, '%');
        return 1;
    }
    byte value = (byte)(high << 4 | low);
    if (k->unreserved[value]) out[(*at)++] = value;
    else *at = put_escape(out, *at, value);
    return 3;
}

/* Return 1 for ".", 2 for "..", escaped or not, and 0 for any other segment. */
static int dots(const byte *segment, Py_ssize_t length) {
    int found = 0;
    for (Py_ssize_t i = 0; i < length; found++) {
        if (found == 2) return 0;
        if (segment[i] == '.') i++;
        else if (length - i >= 3 && segment[i] == '%' && segment[i + 1] == '2' &&
                 (segment[i + 2] | 32) == 'e') i += 3;
        else return 0;
    }
    return found;
}

/* Write canonical scheme, host and port; return where the path begins, -1 for a refusal. */
static Py_ssize_t put_origin(const Kernel *k, const byte *s, Py_ssize_t n, byte *out,
                             Py_ssize_t *at) {
    static const char web[] = "https://";
    Py_ssize_t i = 0, colon;
    int secure;
    while (i < 4 && i < n && lower(s[i]) == (byte)web[i]) i++;
    if (i < 4 || n < 8) return -1;
    secure = lower(s[4]) == 's';
    colon = secure ? 5 : 4;
    if (n < colon + 4 || s[colon] != ':' || s[colon + 1] != '/' || s[colon + 2] != '/') return -1;
    memcpy(out, web, 5);
    memcpy(out + colon, "://", 3);
    Py_ssize_t host = *at = colon + 3, label = host, end;
    for (i = host; i < n; i++) { /* one byte in, one byte out: out keeps pace with s */
        byte c = k->host[s[i]];
        if (!c) break;
        out[i] = c;
        if (c == '.') {
            if (i == label) return -1; /* an empty label */
            label = i + 1;
        } else if (c == '-' && i - label == 3 && !memcmp(out + label, "xn-", 3)) {
            return -1; /* punycode needs its own parser */
        }
    }
    if (i < n && s[i] != '/' && s[i] != '?' && s[i] != '#' && s[i] != ':') return -1;
    end = i;
    if (end == label || end - host > MAX_HOST) return -1;
    if (out[label] >= '0' && out[label] <= '9') { /* perhaps a number: then this is no name */
        int number = 1, octets = 0, digits = 0, value = 0;
        for (Py_ssize_t j = label; j < end; j++) number &= out[j] >= '0' && out[j] <= '9';
        if (!number && end - label >= 2 && out[label + 1] == 'x') return -1;
        for (Py_ssize_t j = host; number && j <= end; j++) { /* it has to be an IPv4 address */
            if (j == end || out[j] == '.') {
                octets++;
                if (digits == 0 || value > 255) return -1;
                digits = value = 0;
            } else {
                if (out[j] < '0' || out[j] > '9' || digits == 3) return -1;
                if (digits && !value) return -1; /* a leading zero: octal */
                value = value * 10 + out[j] - '0', digits++;
            }
        }
        if (number && octets != 4) return -1;
    }
    *at = end;
    if (i < n && s[i] == ':') {
        long port = 0;
        Py_ssize_t start = ++i;
        for (; i < n && s[i] >= '0' && s[i] <= '9' && i - start < 6; i++) port = port * 10 + s[i] - '0';
        if (i - start > 5 || port > 65535) return -1;
        if (i < n && s[i] != '/' && s[i] != '?' && s[i] != '#') return -1;
        if (i > start && port != (secure ? 443 : 80)) {
            char digits[8];
            int length = snprintf(digits, sizeof digits, ":%ld", port);
            memcpy(out + *at, digits, (size_t)length);
            *at += length;
        }
    }
    return i;
}

/* Write a path without dot segments (RFC 3986 section 5.2.4); return where it ends in s. */
static Py_ssize_t put_path(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t n,
                           const byte *table, int normalize, byte *out, Py_ssize_t *at) {
    const Runs *runs = &k->run_path[normalize];
    Py_ssize_t root = *at, segment, end;
    out[(*at)++] = '/';
    if (i == n || s[i] != '/') return i; /* the empty path is the root (section 6.2.3) */
    segment = end = *at;
    for (i++;;) {
        if (end == segment && HAS_SPANS) copy_segments(runs, s, &i, n, out, &end, &segment);
        copy_run(runs->run, s, &i, n, out, &end);
        *at = end;
        int over = i == n || s[i] == '?' || s[i] == '#';
        if (over || s[i] == '/') {
            int steps = *at - segment > 6 ? 0 : dots(out + segment, *at - segment);
            if (steps) *at = segment;
            if (steps == 2 && segment > root + 1) {
                for (segment--; out[segment - 1] != '/';) segment--;
                *at = segment;
            }
            if (over) return i;
            if (!steps) {
                out[(*at)++] = '/';
                segment = *at;
            }
            i++;
        } else {
            int read = put(k, s, i, n, table, normalize, out, at);
            if (!read) return -1;
            i += read;
        }
        end = *at;
    }
}

static int is_tracking(const Kernel *k, const byte *field, Py_ssize_t length) {
    const byte *sign = memchr(field, '=', (size_t)length);
    Py_ssize_t size = sign ? sign - field : length;
    for (Py_ssize_t n = 0; n < k->leading.count; n++) {
        Py_ssize_t i = 0, need = k->leading.all[n].length;
        while (i < need && i < size && lower(field[i]) == k->leading.all[n].text[i]) i++;
        if (i == need) return 1;
    }
    if (!size || size > 63 || !(k->initials[lower(field[0])] >> size & 1)) return 0;
    for (Py_ssize_t n = 0; n < k->tracking.count; n++) {
        if (k->tracking.all[n].length != size) continue;
        Py_ssize_t i = 0;
        while (i < size && lower(field[i]) == k->tracking.all[n].text[i]) i++;
        if (i == size) return 1;
    }
    return 0;
}

/* Write "?" and the query from s[i]; with rules, without the fields that they remove. */
static Py_ssize_t put_query(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t n,
                            const byte *table, int rules, byte *out, Py_ssize_t *at) {
    const byte *run = k->run_query[rules].run;
    Py_ssize_t start = *at, field, end;
    int kept = 0, dropped = 0;
    out[(*at)++] = '?';
    field = end = *at;
    for (;;) {
        copy_run(run, s, &i, n, out, &end);
        *at = end;
        int over = i == n || s[i] == '#';
        if (over || s[i] == '&') {
            if (rules && is_tracking(k, out + field, *at - field)) {
                dropped = 1;
                *at = field - (kept > 0); /* together with the "&" before it */
            } else {
                kept++;
            }
            if (over) break;
            if (kept) out[(*at)++] = '&';
            field = *at;
            i++;
        } else {
            int read = put(k, s, i, n, table, rules, out, at);
            if (!read) return -1;
            i += read;
        }
        end = *at;
    }
    if (rules && ((dropped && !kept) || (*at == start + 1 && k->guesses.rules & EMPTY_QUERY))) *at = start;
    return i;
}

/* Write the identity (or, without rules, what to request) of s; return its length or -1. White space
 * at the end of s is no part of the URL (URL Standard section 4.4). */
static Py_ssize_t write_url(const Kernel *k, const byte *s, Py_ssize_t n, int rules, byte *out) {
    while (n > 0 && s[n - 1] <= ' ') n--;
    Py_ssize_t at = 0, i = put_origin(k, s, n, out, &at), path = at, query;
    if (i >= 0) i = put_path(k, s, i, n, rules ? k->identity_path : k->request_path, rules, out, &at);
    query = at;
    if (i >= 0 && i < n && s[i] == '?') {
        const byte *table = rules ? k->identity_query : k->request_query;
        i = put_query(k, s, i + 1, n, table, rules, out, &at);
    }
    if (i < 0 || (i < n && rules && !(k->guesses.rules & FRAGMENT))) return -1;
    return rules && k->guesses.rules & ~IN_PASSING ? guess(&k->guesses, k->guesses.rules, out, path, query, at) : at;
}

#include "_canonical.h"
#include "_changes.h"

static PyObject *string(PyObject *given, const byte *s, Py_ssize_t n, const byte *out, Py_ssize_t at) {
    if (at == n && PyUnicode_CheckExact(given) && !memcmp(s, out, (size_t)n)) return Py_NewRef(given);
    PyObject *made = PyUnicode_New(at, 127);
    if (made) memcpy(PyUnicode_1BYTE_DATA(made), out, (size_t)at);
    return made;
}

/* Borrow the bytes of a text; a str is read as UTF-8. Return NULL if it has none. */
static const byte *bytes_of(PyObject *given, Py_ssize_t *n) {
    if (PyUnicode_CheckExact(given) && PyUnicode_IS_COMPACT_ASCII(given)) {
        *n = PyUnicode_GET_LENGTH(given);
        return PyUnicode_1BYTE_DATA(given);
    }
    if (PyUnicode_CheckExact(given)) {
        const char *found = PyUnicode_AsUTF8AndSize(given, n);
        if (!found) PyErr_Clear(); /* a lone surrogate */
        return (const byte *)found;
    }
    if (!PyBytes_CheckExact(given)) return NULL;
    *n = PyBytes_GET_SIZE(given); /* bytes that are not UTF-8 are escaped, too */
    return (const byte *)PyBytes_AS_STRING(given);
}

/* Return the identity of a text of n bytes, or with ``whole`` its Canonical; None if we cannot tell.
 * A str that is canonical already is reused. The key is complete when the lanes were flushed. */
static PyObject *answer(const Kernel *k, PyObject *given, const byte *s, Py_ssize_t n, int whole, Lanes *lanes) {
    byte room[ROOM], *out = room;
    PyObject *identity = NULL, *url = NULL, *key = NULL, *made = NULL;
    Py_ssize_t at = n;
    if (!s) Py_RETURN_NONE;
    int same = is_canonical(k, s, n);
    if (!same) {
        if (n > fitting(ROOM) && !(out = PyMem_Malloc((size_t)room_for(n)))) return PyErr_NoMemory();
        if ((at = write_url(k, s, n, 1, out)) < 0) {
            made = Py_NewRef(Py_None);
            goto end;
        }
        same = at == n && !memcmp(s, out, (size_t)n) && !(k->guesses.rules & DECODE_ESCAPES);
    }
    if (!(identity = string(given, s, n, same ? s : out, at))) goto end;
    if (!whole) {
        made = Py_NewRef(identity);
        goto end;
    }
    if (!(key = PyBytes_FromStringAndSize(NULL, DIGEST))) goto end;
    if (same) { /* canonical already */
        url = Py_NewRef(identity);
    } else if ((at = write_url(k, s, n, 0, out)) < 0) {
        made = Py_NewRef(Py_None);
        goto end;
    } else {
        url = string(given, s, n, out, at);
    }
    if (!url || !(made = k->canonical->tp_alloc(k->canonical, 3))) goto end;
    hash_later(lanes, k->keyed, BLOCK, PyUnicode_1BYTE_DATA(identity), PyUnicode_GET_LENGTH(identity),
               (byte *)PyBytes_AS_STRING(key), DIGEST);
    PyTuple_SET_ITEM(made, 0, Py_NewRef(url));
    PyTuple_SET_ITEM(made, 1, Py_NewRef(identity));
    PyTuple_SET_ITEM(made, 2, Py_NewRef(key));
    PyObject_GC_UnTrack(made); /* texts and bytes alone make no cycles: the collector need not look */
end:
    Py_XDECREF(identity);
    Py_XDECREF(url);
    Py_XDECREF(key);
    if (out != room) PyMem_Free(out);
    return made;
}

static PyObject *kernel_identity(PyObject *self, PyObject *text) {
    Py_ssize_t n = 0;
    const byte *s = bytes_of(text, &n);
    return answer((Kernel *)self, text, s, n, 0, NULL);
}

/* Return how many bytes of a base to put before a reference (RFC 3986 section 5.2.2, and the URL
 * Standard's repairs), or -1 if we cannot tell. Dot segments are not removed yet. */
static Py_ssize_t kept_of(const Kernel *k, const byte *base, Py_ssize_t m, const byte *s, Py_ssize_t n) {
    byte room[ROOM];
    Py_ssize_t at, end, last = 0, origin = put_origin(k, base, m < ROOM - 8 ? m : ROOM - 8, room, &at);
    /* The pipeline resolves leading white space, "?query", "#fragment" and what browsers repair. */
    if (origin < 0 || n < 1 || s[0] <= '!' || s[0] > '~' || strchr("?#\\", s[0])) return -1;
    if (n > 8 && (!memcmp(s, "http://", 7) || !memcmp(s, "https://", 8))) return 0;
    if (s[0] == '/') return n > 1 && (s[1] == '/' || s[1] == '\\') ? -1 : origin;
    for (Py_ssize_t i = 0; i < n && s[i] != '/' && s[i] != '?' && s[i] != '#' && s[i] != '\\'; i++) {
        if (s[i] == ':') return -1; /* "mailto:x", or "http:x", which browsers resolve */
    }
    for (end = origin; end < m && base[end] != '?' && base[end] != '#'; end++) {
        if (base[end] == '\\' || base[end] <= ' ') return -1; /* browsers change these */
        if (base[end] == '/') last = end + 1;
    }
    return last && !dots(base + last, end - last) ? last : -1; /* "a/.." is resolved before */
}

/* Return the Canonical of a text, or of a reference and its base; None if we cannot tell. */
static PyObject *kernel_canonical(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    byte room[ROOM], *joined = room;
    Py_ssize_t n = 0, m = 0, kept = 0;
    Lanes lanes;
    lanes.busy = 0;
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "a text, and perhaps a base");
    PyObject *given = args[0];
    const byte *s = bytes_of(given, &n);
    if (s && count == 2) {
        const byte *base = bytes_of(args[1], &m);
        if (!base || (kept = kept_of((Kernel *)self, base, m, s, n)) < 0) Py_RETURN_NONE;
        if (kept) {
            if (kept + n > ROOM && !(joined = PyMem_Malloc((size_t)(kept + n)))) return PyErr_NoMemory();
            memcpy(joined, base, (size_t)kept);
            memcpy(joined + kept, s, (size_t)n);
            given = Py_None, s = joined, n += kept;
        }
    }
    PyObject *made = answer((Kernel *)self, given, s, n, 1, &lanes);
    flush_lanes(&lanes);
    if (joined != room) PyMem_Free(joined);
    return made;
}

/* Copy a list into a tuple: finalizers and other threads may change the list meanwhile. */
static PyObject *copy_of(PyObject *list) {
#if PY_VERSION_HEX < 0x030C0000 /* a finalizer may run as soon as the tuple is allocated */
    int collects = PyGC_Disable();
    PyObject *copy = PyList_AsTuple(list);
    if (collects) PyGC_Enable();
    return copy;
#else
    return PyList_AsTuple(list);
#endif
}

/* Return the answers for a list of texts; where we cannot tell, those of a function, unless it is NULL. */
static PyObject *answers(const Kernel *k, PyObject *given, int whole, PyObject *otherwise) {
    if (!PyList_CheckExact(given)) return PyErr_Format(PyExc_TypeError, "a list is needed");
    PyObject *texts = copy_of(given);
    PyObject *made = texts ? PyList_New(PyTuple_GET_SIZE(texts)) : NULL;
    Lanes lanes; /* they write into keys that the list owns */
    lanes.busy = 0;
    if (made) PyObject_GC_UnTrack(made); /* nobody finds the list before it is complete */
    for (Py_ssize_t i = 0; made && i < PyTuple_GET_SIZE(texts); i++) {
        Py_ssize_t n = 0;
        PyObject *text = PyTuple_GET_ITEM(texts, i);
        const byte *s = bytes_of(text, &n);
        PyObject *one = answer(k, text, s, n, whole, &lanes);
        if (one == Py_None && otherwise) {
            Py_DECREF(one);
            one = PyObject_CallOneArg(otherwise, text);
        }
        if (!one) {
            Py_CLEAR(made);
            break;
        }
        PyList_SET_ITEM(made, i, one);
    }
    if (made) {
        flush_lanes(&lanes);
        PyObject_GC_Track(made);
    }
    Py_XDECREF(texts);
    return made;
}

static PyObject *kernel_identities(PyObject *self, PyObject *given) {
    return answers((Kernel *)self, given, 0, NULL);
}

static PyObject *kernel_canonicals(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 1 || count > 2) return PyErr_Format(PyExc_TypeError, "a list, and perhaps a function");
    return answers((Kernel *)self, args[0], 1, count == 2 ? args[1] : NULL);
}

/* Copy the host of an identity, with a line feed; return where it ends. */
static byte *put_host(const byte *identity, Py_ssize_t n, byte *to) {
    for (Py_ssize_t i = identity[4] == ':' ? 7 : 8; i < n && !strchr(":/?", identity[i]); i++) *to++ = identity[i];
    *to++ = '\n';
    return to;
}

/* Write the key of every line, and the hash of its text if that is not canonical. With ``hosts``,
 * also write the host of each line that has a key, with a line feed, up to ``*hosts_end``. Uses no
 * Python objects, so that it can run without the GIL. Return how many lines there are, or
 * ``count`` + 1 if there are more than ``count``; -1 if memory runs out. */
static Py_ssize_t key_lines(const Kernel *k, const byte *s, const byte *end, Py_ssize_t count, byte *key,
                            byte *text, byte *known, byte *ends, byte *hosts, byte **hosts_end) {
    byte room[4 * ROOM], *out = room; /* of the lanes' texts that are not lines themselves */
    const byte *start = s;
    Py_ssize_t size = sizeof room, used = 0, line = 0;
    uint64_t plain[8];
    Lanes lanes;
    lanes.busy = 0;
    memcpy(plain, IV, sizeof plain);
    plain[0] ^= 0x01010000u ^ HASH; /* RFC 7693 section 2.5: no key, HASH bytes of output */
    for (int more = 1; more && line++ < count; key += DIGEST, text += HASH, known++, ends += END) {
        const byte *stop = memchr(s, '\n', (size_t)(end - s)), *identity = s;
        Py_ssize_t n = (stop ? stop : end) - s, at = n;
        uint32_t place = (uint32_t)(s + n - start);
        memcpy(ends, &place, sizeof place);
        if (!is_canonical(k, s, n)) {
            if (used + room_for(n) > size) {
                flush_lanes(&lanes);
                used = 0;
            }
            if (room_for(n) > size) {
                byte *larger = PyMem_RawRealloc(out == room ? NULL : out, (size_t)room_for(n));
                if (!larger) {
                    line = -1;
                    break;
                }
                out = larger, size = room_for(n);
            }
            identity = out + used;
            at = write_url(k, s, n, 1, out + used);
            if (at != n || memcmp(s, identity, (size_t)n)) hash_later(&lanes, plain, 0, s, n, text, HASH);
            if (at > 0) used += at;
        }
        if (at >= 0) {
            hash_later(&lanes, k->keyed, BLOCK, identity, at, key, DIGEST);
            *known = 1;
            if (hosts) hosts = put_host(identity, at, hosts);
        }
        more = stop != NULL;
        s = more ? stop + 1 : s;
    }
    flush_lanes(&lanes);
    if (out != room) PyMem_RawFree(out);
    *hosts_end = hosts;
    return line;
}

/* Return, for all lines of a block: their keys, their hashes, whether each key is known, where they
 * end, and on request the hosts of those with a key. A canonical line has a hash of zeros: its key
 * is enough. */
static PyObject *kernel_lines(PyObject *self, PyObject *args) {
    PyObject *given;
    Py_ssize_t count;
    int with_hosts = 0;
    if (!PyArg_ParseTuple(args, "Sn|p", &given, &count, &with_hosts)) return NULL;
    const byte *s = (const byte *)PyBytes_AS_STRING(given), *end = s + PyBytes_GET_SIZE(given);
    if (count < 1 || count > end - s + 1 || end - s > UINT32_MAX) return PyErr_Format(PyExc_ValueError, "a block has one line or more, and less than 4 GiB");
    PyObject *keys = PyBytes_FromStringAndSize(NULL, DIGEST * count);
    PyObject *texts = PyBytes_FromStringAndSize(NULL, HASH * count);
    PyObject *known = PyBytes_FromStringAndSize(NULL, count), *made = NULL;
    PyObject *ends = PyBytes_FromStringAndSize(NULL, END * count);
    PyObject *hosts = PyBytes_FromStringAndSize(NULL, with_hosts ? end - s + 1 : 0); /* none is as long as its line */
    if (keys && texts && known && ends && hosts) {
        Py_ssize_t done;
        byte *key = (byte *)PyBytes_AS_STRING(keys), *text = (byte *)PyBytes_AS_STRING(texts);
        byte *flag = (byte *)PyBytes_AS_STRING(known), *stop = (byte *)PyBytes_AS_STRING(ends);
        byte *host = with_hosts ? (byte *)PyBytes_AS_STRING(hosts) : NULL, *hosts_end;
        memset(key, 0, (size_t)(DIGEST * count));
        memset(text, 0, (size_t)(HASH * count));
        memset(flag, 0, (size_t)count);
        Py_BEGIN_ALLOW_THREADS
        done = key_lines((Kernel *)self, s, end, count, key, text, flag, stop, host, &hosts_end);
        Py_END_ALLOW_THREADS
        if (done < 0) PyErr_NoMemory();
        else if (done != count) PyErr_SetString(PyExc_ValueError, "the block has another number of lines");
        else if (!with_hosts || _PyBytes_Resize(&hosts, hosts_end - host) == 0)
            made = PyTuple_Pack(5, keys, texts, known, ends, hosts);
    }
    Py_XDECREF(keys);
    Py_XDECREF(texts);
    Py_XDECREF(known);
    Py_XDECREF(ends);
    Py_XDECREF(hosts);
    return made;
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

static PyObject *kernel_merging(PyObject *self, PyObject *const *args, Py_ssize_t count) {
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

#include "_column.h"

/* Point to the names in a tuple of bytes. */
static int name_all(Names *names, PyObject *tuple) {
    if (!PyTuple_CheckExact(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a list of names has to be a tuple");
        return -1;
    }
    names->all = PyMem_Calloc((size_t)PyTuple_GET_SIZE(tuple) + 1, sizeof *names->all);
    if (!names->all) {
        PyErr_NoMemory();
        return -1;
    }
    for (; names->count < PyTuple_GET_SIZE(tuple); names->count++) {
        char *text;
        Name *name = &names->all[names->count];
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(tuple, names->count), &text, &name->length) < 0) return -1;
        name->text = (const byte *)text;
    }
    return 0;
}

/* Return the rules that a tuple names, as bits; -1 if one is unknown. */
static int rules_of(PyObject *tuple) {
    int found = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        size_t n = 0;
        PyObject *name = PyTuple_GET_ITEM(tuple, i);
        while (n < COUNT && !(PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, RULES[n].name))) n++;
        if (n == COUNT) {
            PyErr_Format(PyExc_ValueError, "no rule %R", name);
            return -1;
        }
        found |= RULES[n].rule;
    }
    return found;
}

static int kernel_init(PyObject *self, PyObject *args, PyObject *named) {
    static char *words[] = {"canonical", "label", "tables", "rules", "lists", NULL};
    Kernel *k = (Kernel *)self;
    PyObject *canonical, *rules, *lists;
    Py_buffer label = {0}, tables = {0};
    byte block[BLOCK] = {0};
    int result = -1;
    if (k->canonical) {
        PyErr_SetString(PyExc_TypeError, "a kernel is initialized only once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "O!y*y*O!O!", words, &PyType_Type, &canonical,
                                     &label, &tables, &PyTuple_Type, &rules, &PyTuple_Type, &lists))
        return -1;
    if (tables.len != 7 * 256 || label.len < 1 || label.len > MAX_KEY || PyTuple_GET_SIZE(lists) != 4 ||
        k->lists || !PyType_IsSubtype((PyTypeObject *)canonical, &PyTuple_Type)) {
        PyErr_SetString(PyExc_ValueError, "seven tables of 256, a label of 1 to 64 bytes, four lists, a tuple");
        goto end;
    }
    const byte *table = tables.buf;
    memcpy(k->request_path, table, 256);
    memcpy(k->request_query, table + 256, 256);
    memcpy(k->identity_path, table + 512, 256);
    memcpy(k->identity_query, table + 768, 256);
    memcpy(k->unreserved, table + 1024, 256);
    memcpy(k->guesses.path, table + 1280, 256);
    memcpy(k->guesses.query, table + 1536, 256);
    for (int c = 0; c < 256; c++) {
        const byte *paths[] = {k->request_path, k->identity_path};
        const byte *queries[] = {k->request_query, k->identity_query};
        for (int normal = 0; normal < 2; normal++) {
            k->run_path[normal].run[c] = paths[normal][c] == KEEP && !strchr("/?#%", c);
            k->run_query[normal].run[c] = queries[normal][c] == KEEP && !strchr("&#%", c);
        }
        byte small = lower((byte)c);
        if ((small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || (c && strchr(".-_", c)))
            k->host[c] = small;
    }
    for (int normal = 0; normal < 2; normal++) set_rows(&k->run_path[normal], '/');
    set_rows(&k->run_query[1], '&');
    if ((k->guesses.rules = rules_of(rules)) < 0) goto end;
    k->lists = Py_NewRef(lists);
    Names *names[] = {&k->tracking, &k->leading, &k->guesses.session, &k->guesses.index_files};
    for (Py_ssize_t i = 0; i < 4; i++)
        if (name_all(names[i], PyTuple_GET_ITEM(lists, i)) < 0) goto end;
    for (Py_ssize_t i = 0; i < k->tracking.count; i++) {
        Name name = k->tracking.all[i];
        if (name.length > 0 && name.length < 64) k->initials[name.text[0]] |= 1ull << name.length;
    }
    set_canonical(k);
    memcpy(k->keyed, IV, sizeof k->keyed);
    k->keyed[0] ^= 0x01010000u ^ (uint64_t)label.len << 8 ^ DIGEST;
    memcpy(block, label.buf, (size_t)label.len);
    compress(k->keyed, block, BLOCK, 0);
    k->canonical = (PyTypeObject *)Py_NewRef(canonical);
    result = 0;
end:
    PyBuffer_Release(&label);
    PyBuffer_Release(&tables);
    return result;
}

static void kernel_dealloc(PyObject *self) {
    Kernel *k = (Kernel *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(k->tracking.all);
    PyMem_Free(k->leading.all);
    PyMem_Free(k->guesses.session.all);
    PyMem_Free(k->guesses.index_files.all);
    Py_XDECREF(k->lists);
    Py_XDECREF(k->canonical);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"identity", kernel_identity, METH_O, "Return the identity of a text, or None."},
    {"canonical", (PyCFunction)(void (*)(void))kernel_canonical, METH_FASTCALL, "Return the Canonical of a text, or of a reference and its base, or None."},
    {"identities", kernel_identities, METH_O, "Return the identity, or None, of each in a list."},
    {"canonicals", (PyCFunction)(void (*)(void))kernel_canonicals, METH_FASTCALL, "Return the Canonical, or None, of each in a list; or what a function returns instead of None."},
    {"lines", kernel_lines, METH_VARARGS, "Return the keys of so many lines, hashes of those not canonical, which keys are known, where the lines end, and perhaps hosts."},
    {"merging", (PyCFunction)(void (*)(void))kernel_merging, METH_FASTCALL, "Return the rules that merge each of some texts with another, as bits of an int32_t; -1: unknown."},
    {"column", kernel_column, METH_VARARGS, "Return the identities of an Arrow column, and perhaps the keys."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Gives the plain pipeline's answers for ordinary web URLs."},
    {Py_tp_init, kernel_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"canonry.canon.pipeline._kernel.Kernel", sizeof(Kernel), 0, Py_TPFLAGS_DEFAULT, slots};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    PyObject *rules = PyTuple_New(COUNT), *steps = PyTuple_New(STEPS);
    int result = type && rules && steps ? PyModule_AddObjectRef(module, "Kernel", type) : -1;
    for (size_t i = 0; !result && i < COUNT; i++) {
        PyObject *name = PyUnicode_FromString(RULES[i].name);
        result = name ? PyTuple_SetItem(rules, (Py_ssize_t)i, name) : -1;
    }
    for (int i = 0; !result && i < STEPS; i++) {
        PyObject *name = PyUnicode_FromString(i < (int)COUNT ? RULES[i].name : LOSSLESS[i - (int)COUNT]);
        result = name ? PyTuple_SetItem(steps, i, name) : -1;
    }
    if (!result) result = PyModule_AddObjectRef(module, "RULES", rules);
    if (!result) result = PyModule_AddObjectRef(module, "MERGING", steps);
    if (!result) result = PyModule_AddIntConstant(module, "VERSION", VERSION);
    Py_XDECREF(steps);
    Py_XDECREF(rules);
    Py_XDECREF(type);
    return result;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* a kernel never changes once it is made */
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "canonry.canon.pipeline._kernel", "The compiled fast path.", 0, NULL, module_slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&module); }
