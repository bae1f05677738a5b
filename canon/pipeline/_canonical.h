/* Whether a URL is its own identity, as nine of ten are; 64 bytes at once where there is AVX2.
 *
 * A yes is certain. After a no, write_url has to decide; _kernel.c includes this file.
 */
#ifndef CANONRY_CANONICAL_H
#define CANONRY_CANONICAL_H

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

/* Return 1 if a text is its own identity; 0 if that is not known. */
static inline int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n) {
    byte room[32] = {0}, *start = room + 32 - n;
    if (!k->skips || n < 8 || !HAS_SPANS) return 0;
    if (n >= 32) return is_canonical_avx2(k, s, n);
    if (n >= 16) memcpy(start, s, 16);
    copy_few(n < 16 ? start : start + 16, n < 16 ? s : s + 16, n & 15);
    return is_canonical_avx2(k, start, n);
}
#else
static inline int is_canonical(const Kernel *k, const byte *s, Py_ssize_t n) {
    (void)k, (void)s, (void)n;
    return 0;
}
#endif

/* Prepare the tables that is_canonical reads. */
static void set_canonical(Kernel *k) {
    for (int c = 0; c < 256; c++) k->run_host.run[c] = k->host[c] == c && c;
    set_rows(&k->run_host, 0);
    k->skips = !(k->guesses.rules & ~IN_PASSING);
    for (Py_ssize_t i = 0; i < k->tracking.count; i++)
        if (k->tracking.all[i].length) k->suspect[k->tracking.all[i].text[0]] = 1;
    for (Py_ssize_t i = 0; i < k->leading.count; i++) {
        if (k->leading.all[i].length) k->suspect[k->leading.all[i].text[0]] = 1;
        else k->skips = 0; /* every field begins with "" */
    }
    for (int c = 'A'; c <= 'Z'; c++) k->suspect[c] = k->suspect[lower((byte)c)];
}

#endif
