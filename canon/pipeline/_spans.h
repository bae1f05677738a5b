/* Copies runs of bytes that need no change, 32 at once where there is AVX2. */
#ifndef CANONRY_SPANS_H
#define CANONRY_SPANS_H

typedef struct {
    byte run[256];  /* 1: copy unchanged */
    byte rows[32];  /* the same below 128, by low half: a bit for each high half; twice */
} Runs;

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

#endif
