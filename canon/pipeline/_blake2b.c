/* BLAKE2b's compression (RFC 7693 section 3.2): of one block, or of a block of each lane. */
#include "_blake2b.h"

static const uint64_t IV[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static const byte SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

#define rotate(x, n) ((x) >> (n) | (x) << (64 - (n))) /* a number, or a vector of them */

static inline uint64_t load(const byte *p) { /* little-endian on every machine */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

static inline void store(byte *p, uint64_t x) {
    for (int i = 0; i < 8; i++) p[i] = (byte)(x >> 8 * i);
}

#define MIX(a, b, c, d, x, y)        \
    v[a] = v[a] + (x) + v[b];        \
    v[d] = rotate(v[d] ^ v[a], 32);  \
    v[c] += v[d];                    \
    v[b] = rotate(v[b] ^ v[c], 24);  \
    v[a] = v[a] + (y) + v[b];        \
    v[d] = rotate(v[d] ^ v[a], 16);  \
    v[c] += v[d];                    \
    v[b] = rotate(v[b] ^ v[c], 63);

#define ROUND(s)                             \
    MIX(0, 4, 8, 12, m[s[0]], m[s[1]])       \
    MIX(1, 5, 9, 13, m[s[2]], m[s[3]])       \
    MIX(2, 6, 10, 14, m[s[4]], m[s[5]])      \
    MIX(3, 7, 11, 15, m[s[6]], m[s[7]])      \
    MIX(0, 5, 10, 15, m[s[8]], m[s[9]])      \
    MIX(1, 6, 11, 12, m[s[10]], m[s[11]])    \
    MIX(2, 7, 8, 13, m[s[12]], m[s[13]])     \
    MIX(3, 4, 9, 14, m[s[14]], m[s[15]])

static void compress(uint64_t h[8], const byte block[BLOCK], uint64_t count, int last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 16; i++) m[i] = load(block + 8 * i);
    for (int i = 0; i < 8; i++) v[i] = h[i], v[i + 8] = IV[i];
    v[12] ^= count;
    if (last) v[14] = ~v[14];
#pragma GCC unroll 12 /* makes SIGMA's indices compile-time constants */
    for (int round = 0; round < 12; round++) {
        const byte *s = SIGMA[round % 10];
        ROUND(s)
    }
    for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

/* Return the next block of a text; what is less than a block is copied, and padded with zeros. */
static inline const byte *block_of(const byte *text, ptrdiff_t left, byte padded[BLOCK]) {
    ptrdiff_t at = 0;
    if (left >= BLOCK) return text;
    memset(padded, 0, BLOCK);
    for (; left - at >= 16; at += 16) memcpy(padded + at, text + at, 16);
    copy_few(padded + at, text + at, left - at);
    return padded;
}

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_LANES
#include <immintrin.h>
typedef uint64_t Four __attribute__((vector_size(8 * 4)));
typedef uint64_t Eight __attribute__((vector_size(8 * 8)));
#define SHUFFLED(x, bytes) (Four)_mm256_shuffle_epi8((__m256i)(x), bytes)
#define BYTES(a, b, c, d, e, f, g, h)                                                    \
    _mm256_setr_epi8(a, b, c, d, e, f, g, h, 8 + a, 8 + b, 8 + c, 8 + d, 8 + e, 8 + f,   \
                     8 + g, 8 + h, a, b, c, d, e, f, g, h, 8 + a, 8 + b, 8 + c, 8 + d,   \
                     8 + e, 8 + f, 8 + g, 8 + h)

/* Compress the message m of as many lanes as a vector has. */
#define COMPRESS(Vector)                                                                 \
    memcpy(&count, l->count, sizeof count);                                              \
    memcpy(&mask, last, sizeof mask);                                                    \
    for (int i = 0; i < 8; i++) {                                                        \
        memcpy(v + i, l->h[i], sizeof *v);                                               \
        v[i + 8] = (Vector){0} + IV[i];                                                  \
    }                                                                                    \
    v[12] ^= count;                                                                      \
    v[14] ^= mask;                                                                       \
    _Pragma("GCC unroll 12") for (int round = 0; round < 12; round++) {                  \
        const byte *s = SIGMA[round % 10];                                               \
        ROUND(s)                                                                         \
    }                                                                                    \
    for (int i = 0; i < 8; i++) {                                                        \
        Vector h;                                                                        \
        memcpy(&h, l->h[i], sizeof h);                                                   \
        h ^= v[i] ^ v[i + 8];                                                            \
        memcpy(l->h[i], &h, sizeof h);                                                   \
    }

/* Compress a block of each of eight lanes. */
__attribute__((target("avx512f,avx512bw"))) static void compress_avx512(Lanes *l, const uint64_t last[LANES]) {
    Eight v[16], m[16], mask, count;
    for (int i = 0; i < 16; i += 8) { /* eight words of each lane to eight vectors of a word each */
        __m512i pair[8], half[8];
        for (int n = 0; n < 8; n += 2) {
            __m512i row[2];
            for (int k = 0; k < 2; k++) {
                ptrdiff_t left = l->left[n + k] - 8 * i;
                __mmask64 some = left >= 64 ? ~(__mmask64)0 : left > 0 ? ((__mmask64)1 << left) - 1 : 0;
                row[k] = _mm512_maskz_loadu_epi8(some, l->text[n + k] + 8 * i);
            }
            pair[n] = _mm512_unpacklo_epi64(row[0], row[1]);
            pair[n + 1] = _mm512_unpackhi_epi64(row[0], row[1]);
        }
        for (int n = 0; n < 8; n += 4) {
            for (int k = 0; k < 2; k++) {
                half[n + k] = _mm512_shuffle_i64x2(pair[n + k], pair[n + k + 2], 0x44);
                half[n + k + 2] = _mm512_shuffle_i64x2(pair[n + k], pair[n + k + 2], 0xee);
            }
        }
        for (int n = 0; n < 4; n++) { /* words 0, 1, 4 and 5, and those two places after them */
            int word = i + n + (n & 2);
            m[word] = (Eight)_mm512_shuffle_i64x2(half[n], half[n + 4], 0x88);
            m[word + 2] = (Eight)_mm512_shuffle_i64x2(half[n], half[n + 4], 0xdd);
        }
    }
    COMPRESS(Eight)
}

/* Compress a block of each of the first four lanes. */
__attribute__((target("avx2"))) static void compress_avx2(Lanes *l, const uint64_t last[LANES]) {
    const __m256i by16 = BYTES(2, 3, 4, 5, 6, 7, 0, 1), by24 = BYTES(3, 4, 5, 6, 7, 0, 1, 2);
    Four v[16], m[16], mask, count;
    byte padded[4][BLOCK];
    const byte *block[4];
    for (int n = 0; n < 4; n++) block[n] = block_of(l->text[n], l->left[n], padded[n]);
    for (int i = 0; i < 16; i += 4) { /* four words of each lane to four vectors of a word each */
        __m256i row[4], pair[4];
        for (int n = 0; n < 4; n++)
            row[n] = _mm256_loadu_si256((const __m256i *)(const void *)(block[n] + 8 * i));
        for (int n = 0; n < 4; n += 2) {
            pair[n] = _mm256_unpacklo_epi64(row[n], row[n + 1]);
            pair[n + 1] = _mm256_unpackhi_epi64(row[n], row[n + 1]);
        }
        for (int n = 0; n < 2; n++) {
            m[i + n] = (Four)_mm256_permute2x128_si256(pair[n], pair[n + 2], 0x20);
            m[i + n + 2] = (Four)_mm256_permute2x128_si256(pair[n], pair[n + 2], 0x31);
        }
    }
#undef rotate /* there is no instruction for it before AVX-512 */
#define rotate(x, n)                                                                     \
    ((n) == 63   ? ((x) >> (n)) | ((x) << (64 - (n)))                                    \
     : (n) == 32 ? (Four)_mm256_shuffle_epi32((__m256i)(x), 0xb1)                        \
                 : SHUFFLED(x, (n) == 16 ? by16 : by24))
    COMPRESS(Four)
}

/* Return how many lanes are compressed at once. */
static inline int width_of_lanes(void) {
    if (__builtin_cpu_supports("avx512bw")) return 8;
    return __builtin_cpu_supports("avx2") ? 4 : 1;
}
#else
static inline int width_of_lanes(void) { return 1; }
#define compress_avx2(l, last) (void)0
#define compress_avx512(l, last) (void)0
#endif

/* Compress the next block of each lane; write the hashes of the texts that end with it. */
static void step(Lanes *l) {
    uint64_t last[LANES];
    int width = width_of_lanes(), alone = !(l->busy & (l->busy - 1));
    for (int n = 0; n < width; n++) {
        if (!(l->busy >> n & 1)) l->text[n] = (const byte *)IV, l->left[n] = 0; /* not used */
        last[n] = l->left[n] <= BLOCK ? ~(uint64_t)0 : 0;
        l->count[n] += (uint64_t)(last[n] ? l->left[n] : BLOCK);
    }
    for (int n = 0; alone && n < width; n++) {
        uint64_t h[8];
        byte padded[BLOCK];
        if (!(l->busy >> n & 1)) continue;
        for (int i = 0; i < 8; i++) h[i] = l->h[i][n];
        compress(h, block_of(l->text[n], l->left[n], padded), l->count[n], last[n] != 0);
        for (int i = 0; i < 8; i++) l->h[i][n] = h[i];
    }
    if (!alone && width == 8) compress_avx512(l, last);
    else if (!alone) compress_avx2(l, last);
    for (int n = 0; n < width; n++) {
        if (!(l->busy >> n & 1)) continue;
        l->text[n] += BLOCK, l->left[n] -= BLOCK;
        if (!last[n]) continue;
        for (int i = 0; 8 * i < l->size[n]; i++) store(l->out[n] + 8 * i, l->h[i][n]);
        l->busy &= ~(1 << n);
    }
}

void flush_lanes(Lanes *l) {
    while (l->busy) step(l);
}

int start_hash(uint64_t state[8], int size, const byte *key, int n) {
    byte block[BLOCK] = {0};
    memcpy(state, IV, sizeof IV);
    state[0] ^= 0x01010000u ^ (uint64_t)n << 8 ^ (uint64_t)size; /* section 2.5 */
    if (!n) return 0;
    memcpy(block, key, (size_t)n);
    compress(state, block, BLOCK, 0);
    return BLOCK;
}

void hash_later(Lanes *l, const uint64_t from[8], int count, const byte *text, ptrdiff_t n, byte *out, int size) {
    int lane = 0, all = (1 << width_of_lanes()) - 1;
    while (l->busy >> lane & 1) lane++;
    for (int i = 0; i < 8; i++) l->h[i][lane] = from[i];
    l->count[lane] = (uint64_t)count, l->text[lane] = text, l->left[lane] = n;
    l->out[lane] = out, l->size[lane] = size, l->busy |= 1 << lane;
    while (l->busy == all) step(l);
}
