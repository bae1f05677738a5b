/* From a URL to its identity: syntax and scheme-based normalization (RFC 3986 sections 6.2.2 and 6.2.3),
 * and the parameters that are dropped in passing. Where there is AVX2, 32 or 64 bytes at once.
 */
#include "_kernel.h"

/* What to do with a character; the last: encode what RFC 3986 allows, but the URL Standard does not. */
enum { REFUSE = 0, KEEP = 1, ENCODE = 2, ENCODE_ALLOWED = 3 };
enum { MAX_HOST = 253 };

/* Set the rows from the run. ``also`` is one more byte, which only AVX2 copies; 0: none. */
static void set_rows(Runs *runs, int also) {
    for (int c = 0; c < 128; c++) {
        if (runs->run[c] || (also && c == also)) runs->rows[c & 15] |= (byte)(1 << (c >> 4));
    }
    memcpy(runs->rows + 16, runs->rows, 16);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Return a bit for each of 32 bytes that may not be copied, or is a dot after a slash. */
__attribute__((target("avx2"), always_inline)) static inline uint32_t
stops(const byte *rows, const byte *s, uint32_t *slashes) {
    const __m256i low = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const __m256i bits = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0,
                                          1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)s);
    __m256i row = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(const void *)rows),
                                      _mm256_and_si256(here, low));
    __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(here, 4), low));
    __m256i wrong = _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), zero);
    *slashes = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, _mm256_set1_epi8('/')));
    uint32_t dots = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, _mm256_set1_epi8('.')));
    return (uint32_t)_mm256_movemask_epi8(wrong) | (dots & *slashes << 1);
}

/* Copy the segments of a path from s[*i], where one begins, to out[*at], up to what needs a look: a
 * byte that may not be copied, or a dot that begins a segment. ``*segment`` becomes the place in out
 * where the last one begins. At least 8 bytes of the URL come before. */
__attribute__((target("avx2"))) static void
copy_segments(const Runs *runs, const byte *s, Py_ssize_t *i, Py_ssize_t n, byte *out, Py_ssize_t *at,
              Py_ssize_t *segment) {
    Py_ssize_t from = *i, to = *at;
    uint32_t slashes;
    while (n - from >= 32) {
        uint32_t stop = stops(runs->rows, s + from, &slashes);
        if (s[from] == '.' && s[from - 1] == '/') stop |= 1;
        int count = stop ? __builtin_ctz(stop) : 32;
        memcpy(out + to, s + from, 32); /* what is too much is overwritten */
        if (count < 32) slashes &= (1u << count) - 1;
        if (slashes) *segment = to + 32 - __builtin_clz(slashes);
        from += count, to += count;
        if (stop) goto end;
    }
    int left = (int)(n - from);
    if (left && n >= 32) { /* look at the last 32 bytes, of which some were copied before */
        uint32_t stop = stops(runs->rows, s + n - 32, &slashes) >> (32 - left);
        if (s[from] == '.' && s[from - 1] == '/') stop |= 1;
        int count = stop ? __builtin_ctz(stop) : left;
        slashes = count ? slashes >> (32 - left) & (~0u >> (32 - count)) : 0;
        if (slashes) *segment = to + 32 - __builtin_clz(slashes);
        if (count >= 16) {
            memcpy(out + to, s + from, 16);
            memcpy(out + to + count - 16, s + from + count - 16, 16);
        } else {
            copy_few(out + to, s + from, count);
        }
        from += count, to += count;
    }
end:
    *i = from, *at = to;
}
#define WITH_SPANS
#define HAS_SPANS __builtin_cpu_supports("avx2")
#else
#define HAS_SPANS 0
#define copy_segments(runs, s, i, n, out, at, segment) (void)0
#endif

/* Copy bytes as long as a table says 1; eight at once where that is possible. */
static inline void copy_run(const byte *run, const byte *s, Py_ssize_t *i, Py_ssize_t n, byte *out,
                            Py_ssize_t *at) {
    Py_ssize_t from = *i, to = *at;
    for (const byte *p = s + from;
         from + 8 <= n && (run[p[0]] & run[p[1]] & run[p[2]] & run[p[3]] & run[p[4]] & run[p[5]] &
                           run[p[6]] & run[p[7]]);
         p += 8, from += 8, to += 8)
        memcpy(out + to, p, 8);
    while (from < n && run[s[from]]) out[to++] = s[from++];
    *i = from, *at = to;
}

/* Copy s[i] to out[at] as a table says; return how many bytes were read, 0 for a refusal. The rules
 * convert escapes to upper case, decode those of unreserved characters (RFC 3986 sections 6.2.2.1
 * and 6.2.2.2) and escape lone percent signs. */
static inline int put(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t end,
                      const byte *table, int rules, byte *out, Py_ssize_t *at, int *acted) {
    byte c = s[i];
    if (c != '%') {
        if (table[c] == REFUSE) return 0;
        if (table[c] == KEEP) {
            out[(*at)++] = c;
        } else {
            *at = put_escape(out, *at, c);
            *acted |= table[c] == ENCODE ? ENCODE_DISALLOWED : BY_PARSER;
        }
        return 1;
    }
    if (!(rules & ON_ESCAPES)) {
        out[(*at)++] = c;
        return 1;
    }
    int high = i + 2 < end ? hex(s[i + 1]) : -1, low = i + 2 < end ? hex(s[i + 2]) : -1;
    if (high < 0 || low < 0) {
        *at = put_escape(out, *at, '%');
        *acted |= ENCODE_DISALLOWED;
        return 1;
    }
    byte value = (byte)(high << 4 | low);
    if (s[i + 1] >= 'a' || s[i + 2] >= 'a') *acted |= PERCENT_CASE;
    if (k->unreserved[value]) *acted |= PERCENT_UNRESERVED;
    if (k->unreserved[value] && rules & PERCENT_UNRESERVED) {
        out[(*at)++] = value;
    } else if (rules & PERCENT_CASE) {
        *at = put_escape(out, *at, value);
    } else {
        memcpy(out + *at, s + i, 3);
        *at += 3;
    }
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

/* Write scheme, host and port; return where the path begins, -1 for a refusal. */
static Py_ssize_t put_origin(const Kernel *k, const byte *s, Py_ssize_t n, int rules, byte *out,
                             Py_ssize_t *at, int *acted) {
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
    if (memcmp(out, s, (size_t)end)) {
        int in_scheme = memcmp(out, s, (size_t)colon), in_host = memcmp(out + host, s + host, (size_t)(end - host));
        *acted |= (in_scheme ? SCHEME_CASE : 0) | (in_host ? HOST_CASE : 0);
        if (!(rules & SCHEME_CASE)) memcpy(out, s, (size_t)colon);
        if (!(rules & HOST_CASE)) memcpy(out + host, s + host, (size_t)(end - host));
    }
    if (i < n && s[i] == ':') {
        long port = 0;
        Py_ssize_t start = ++i, from = start;
        for (; i < n && s[i] >= '0' && s[i] <= '9' && i - start < 6; i++) port = port * 10 + s[i] - '0';
        if (i - start > 5 || port > 65535) return -1;
        if (i < n && s[i] != '/' && s[i] != '?' && s[i] != '#') return -1;
        int drops = i == start ? EMPTY_PORT : port == (secure ? 443 : 80) ? DEFAULT_PORT : 0;
        while (from + 1 < i && s[from] == '0') from++;
        *acted |= drops | (from > start ? PORT_ZEROS : 0);
        if (!(rules & PORT_ZEROS)) from = start;
        if (!(rules & drops)) {
            out[(*at)++] = ':';
            memcpy(out + *at, s + from, (size_t)(i - from));
            *at += i - from;
        }
    }
    return i;
}

/* Write a path without dot segments (RFC 3986 section 5.2.4); return where it ends in s. */
static Py_ssize_t put_path(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t n,
                           const byte *table, int rules, byte *out, Py_ssize_t *at, int *acted) {
    const Runs *runs = &k->run_path[(rules & ON_ESCAPES) != 0];
    Py_ssize_t root = *at, segment, end;
    if (i == n || s[i] != '/') { /* the empty path is the root (section 6.2.3) */
        if (rules & EMPTY_PATH) out[(*at)++] = '/';
        *acted |= EMPTY_PATH;
        return i;
    }
    out[(*at)++] = '/';
    segment = end = *at;
    for (i++;;) {
        if (end == segment && HAS_SPANS) copy_segments(runs, s, &i, n, out, &end, &segment);
        copy_run(runs->run, s, &i, n, out, &end);
        *at = end;
        int over = i == n || s[i] == '?' || s[i] == '#';
        if (over || s[i] == '/') {
            int steps = *at - segment > 6 ? 0 : dots(out + segment, *at - segment);
            if (steps) *acted |= DOT_SEGMENTS;
            if (!(rules & DOT_SEGMENTS)) steps = 0;
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
            int read = put(k, s, i, n, table, rules, out, at, acted);
            if (!read) return -1;
            i += read;
        }
        end = *at;
    }
}

int is_tracking(const Kernel *k, const byte *field, Py_ssize_t length) {
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

/* Write "?" and the query from s[i], without the fields that rules remove. */
static Py_ssize_t put_query(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t n,
                            const byte *table, int rules, byte *out, Py_ssize_t *at, int *acted) {
    const byte *run = k->run_query[(rules & ON_ESCAPES) != 0].run;
    Py_ssize_t start = *at, field, end;
    int kept = 0, dropped = 0;
    out[(*at)++] = '?';
    field = end = *at;
    for (;;) {
        copy_run(run, s, &i, n, out, &end);
        *at = end;
        int over = i == n || s[i] == '#';
        if (over || s[i] == '&') {
            if (rules & TRACKING && is_tracking(k, out + field, *at - field)) {
                dropped = 1;
                *acted |= TRACKING;
                *at = field - (kept > 0); /* together with the "&" before it */
            } else {
                kept++;
            }
            if (over) break;
            if (kept) out[(*at)++] = '&';
            field = *at;
            i++;
        } else {
            int read = put(k, s, i, n, table, rules, out, at, acted);
            if (!read) return -1;
            i += read;
        }
        end = *at;
    }
    if (dropped && !kept) *at = start;
    else if (*at == start + 1 && rules & EMPTY_QUERY) *at = start, *acted |= EMPTY_QUERY;
    return i;
}

Py_ssize_t write_url(const Kernel *k, const byte *s, Py_ssize_t n, int rules, byte *out, int *acted) {
    int found = n > 0 && s[n - 1] <= ' ' ? BY_PARSER : 0; /* the compiler knows that no byte in out is part of it */
    while (n > 0 && s[n - 1] <= ' ') n--;
    Py_ssize_t at = 0, i = put_origin(k, s, n, rules, out, &at, &found), path = at, query;
    if (i >= 0) i = put_path(k, s, i, n, rules & ON_ESCAPES ? k->identity_path : k->request_path, rules, out, &at, &found);
    query = at;
    if (i >= 0 && i < n && s[i] == '?') {
        const byte *table = rules & ON_ESCAPES ? k->identity_query : k->request_query;
        i = put_query(k, s, i + 1, n, table, rules, out, &at, &found);
    }
    *acted = found;
    if (i < 0 || (i < n && rules & ON_ESCAPES && !(rules & FRAGMENT))) return -1;
    return rules & ~IN_PASSING ? apply_heuristics(&k->heuristics, rules, out, path, query, at, acted) : at;
}

Py_ssize_t kept_of(const Kernel *k, const byte *base, Py_ssize_t m, const byte *s, Py_ssize_t n) {
    byte room[ROOM];
    int acted = 0;
    Py_ssize_t at, end, last = 0, origin = put_origin(k, base, m < ROOM - 8 ? m : ROOM - 8, REQUEST, room, &at, &acted);
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

#ifdef WITH_SPANS

/* 64 bytes of a URL, in two halves. A half that would reach beyond the URL is loaded from further
 * left, to end with the URL; its first bytes are skipped. */
typedef struct {
    __m256i half[2], bit[2]; /* the bytes; a bit for the high half of each */
    int skip[2];
} Piece;

__attribute__((target("avx2"), always_inline)) static inline void
load_half(Piece *piece, int half, const byte *s, int skip) {
    const __m256i bits = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0,
                                          1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)s);
    piece->half[half] = here;
    piece->bit[half] = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(here, 4), _mm256_set1_epi8(15)));
    piece->skip[half] = skip;
}

/* Load what begins at s[at]; the URL has 32 bytes or more. */
__attribute__((target("avx2"), always_inline)) static inline Piece
piece_at(const byte *s, Py_ssize_t at, Py_ssize_t n) {
    Piece piece;
    int left = n - at < 64 ? (int)(n - at) : 64;
    load_half(&piece, 0, left < 32 ? s + n - 32 : s + at, left < 32 ? 32 - left : 0);
    load_half(&piece, 1, left < 64 ? s + n - 32 : s + at + 32, left > 32 ? 64 - left : 32);
    return piece;
}

__attribute__((target("avx2"), always_inline)) static inline uint64_t joined(const Piece *piece, __m256i low, __m256i high) {
    return (uint64_t)((uint32_t)_mm256_movemask_epi8(low)) >> piece->skip[0] |
           (uint64_t)((uint32_t)_mm256_movemask_epi8(high)) >> piece->skip[1] << 32;
}

/* Return a bit for each byte that is c. */
__attribute__((target("avx2"), always_inline)) static inline uint64_t equal(const Piece *piece, char c) {
    __m256i all = _mm256_set1_epi8(c);
    return joined(piece, _mm256_cmpeq_epi8(piece->half[0], all), _mm256_cmpeq_epi8(piece->half[1], all));
}

/* Return a bit for each byte that is in a set of bytes; none for what is after the URL. */
__attribute__((target("avx2"), always_inline)) static inline uint64_t allowed(const Piece *piece, const Runs *runs) {
    __m256i rows = _mm256_loadu_si256((const __m256i *)(const void *)runs->rows), in[2];
    for (int i = 0; i < 2; i++) {
        __m256i row = _mm256_shuffle_epi8(rows, _mm256_and_si256(piece->half[i], _mm256_set1_epi8(15)));
        in[i] = _mm256_cmpeq_epi8(_mm256_and_si256(row, piece->bit[i]), piece->bit[i]);
        in[i] = _mm256_andnot_si256(_mm256_cmpeq_epi8(piece->bit[i], _mm256_setzero_si256()), in[i]);
    }
    return joined(piece, in[0], in[1]);
}

/* Return 1 for an escape that stays as it is: in upper case, and not of an unreserved character. */
static inline int is_kept_escape(const Kernel *k, const byte *s, Py_ssize_t n) {
    if (n < 3 || *s != '%' || s[1] > 'F' || s[2] > 'F') return 0;
    int high = hex(s[1]), low = hex(s[2]);
    return high >= 0 && low >= 0 && !k->unreserved[high << 4 | low];
}

static inline int is_dropped(const Kernel *k, const byte *field, Py_ssize_t n) {
    return n > 0 && k->suspect[*field] && is_tracking(k, field, n);
}

/* Return 1 if a query from s[i] is canonical; the piece at s[at] holds its first byte, or the one before. */
__attribute__((target("avx2"), always_inline)) static inline int
is_canonical_query(const Kernel *k, const byte *s, Py_ssize_t i, Py_ssize_t n, Piece piece, Py_ssize_t at) {
    Py_ssize_t field = i;
    for (uint64_t from = i - at < 64 ? ~0ull << (i - at) : 0;; from = ~0ull) {
        uint64_t look = from & (~allowed(&piece, &k->run_query[1]) | equal(&piece, '&'));
        for (; look; look &= look - 1) {
            Py_ssize_t here = at + __builtin_ctzll(look);
            if (here >= n) break;
            if (s[here] == '&') {
                if (is_dropped(k, s + field, here - field)) return 0;
                field = here + 1;
            } else if (!is_kept_escape(k, s + here, n - here)) {
                return 0;
            }
        }
        if ((at += 64) >= n) return !is_dropped(k, s + field, n - field);
        piece = piece_at(s, at, n);
    }
}

__attribute__((target("avx2"))) static int is_canonical_avx2(const Kernel *k, const byte *s, Py_ssize_t n) {
    int host = !memcmp(s, "https://", 8) ? 8 : !memcmp(s, "http://", 7) ? 7 : 64;
    if (host == 64) return 0;
    Piece piece = piece_at(s, 0, n);
    uint64_t beyond = ~allowed(&piece, &k->run_host) >> host << host;
    int end = beyond ? __builtin_ctzll(beyond) : 64;
    if (end >= n || end == 64 || s[end] != '/') return 0;
    uint64_t dot = equal(&piece, '.'), slash = equal(&piece, '/'), stop = 1ull << end;
    uint64_t labels = (dot & (stop - 1)) >> host << host << 1 | 1ull << host; /* where they begin */
    if (labels & (dot | stop)) return 0; /* an empty one */
    if (labels << 3 & equal(&piece, '-') & (stop - 1)) return 0; /* perhaps punycode */
    byte last = s[63 - __builtin_clzll(labels)];
    if (last >= '0' && last <= '9') return 0; /* perhaps an IPv4 address */
    uint64_t from = ~0ull << end, before = 0;
    for (Py_ssize_t at = 0;; from = ~0ull) {
        uint64_t look = from & (~allowed(&piece, &k->run_path[1]) | (dot & (slash << 1 | before)));
        for (; look; look &= look - 1) {
            Py_ssize_t here = at + __builtin_ctzll(look);
            if (here >= n) return 1;
            if (s[here] == '?') return here + 1 < n && is_canonical_query(k, s, here + 1, n, piece, at);
            if (!is_kept_escape(k, s + here, n - here)) return 0;
        }
        if ((at += 64) >= n) return 1;
        before = slash >> 63;
        piece = piece_at(s, at, n);
        dot = equal(&piece, '.'), slash = equal(&piece, '/');
    }
}

int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n) {
    byte room[32] = {0}, *start = room + 32 - n;
    if (!k->skips || n < 8 || !HAS_SPANS) return 0;
    if (n >= 32) return is_canonical_avx2(k, s, n);
    if (n >= 16) memcpy(start, s, 16);
    copy_few(n < 16 ? start : start + 16, n < 16 ? s : s + 16, n & 15);
    return is_canonical_avx2(k, start, n);
}
#else
int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n) {
    (void)k, (void)s, (void)n;
    return 0;
}
#endif

void prepare(Kernel *k) {
    for (int c = 0; c < 256; c++) {
        const byte *paths[] = {k->request_path, k->identity_path};
        const byte *queries[] = {k->request_query, k->identity_query};
        for (int normal = 0; normal < 2; normal++) {
            k->run_path[normal].run[c] = paths[normal][c] == KEEP && !strchr("/?#%", c);
            k->run_query[normal].run[c] = queries[normal][c] == KEEP && !strchr("&#%", c);
        }
        if (k->identity_query[c] == ENCODE && k->heuristics.query[c]) k->identity_query[c] = ENCODE_ALLOWED;
        byte small = lower((byte)c);
        if ((small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || (c && strchr(".-_", c)))
            k->host[c] = small;
    }
    for (int normal = 0; normal < 2; normal++) set_rows(&k->run_path[normal], '/');
    set_rows(&k->run_query[1], '&');
    for (Py_ssize_t i = 0; i < k->tracking.count; i++) {
        Name name = k->tracking.all[i];
        if (name.length > 0 && name.length < 64) k->initials[name.text[0]] |= 1ull << name.length;
    }
    for (int c = 0; c < 256; c++) k->run_host.run[c] = k->host[c] == c && c;
    set_rows(&k->run_host, 0);
    k->skips = !(k->rules & ~IN_PASSING);
    for (Py_ssize_t i = 0; i < k->tracking.count; i++)
        if (k->tracking.all[i].length) k->suspect[k->tracking.all[i].text[0]] = 1;
    for (Py_ssize_t i = 0; i < k->leading.count; i++) {
        if (k->leading.all[i].length) k->suspect[k->leading.all[i].text[0]] = 1;
        else k->skips = 0; /* every field begins with "" */
    }
    for (int c = 'A'; c <= 'Z'; c++) k->suspect[c] = k->suspect[lower((byte)c)];
}
