/* BLAKE2b (RFC 7693), keyed, as hashlib.blake2b without its set-up cost; up to four texts at once. */
#ifndef CANONRY_BLAKE2B_H
#define CANONRY_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { BLOCK = 128 };

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

static inline uint64_t rotate(uint64_t x, int n) { return (x >> n) | (x << (64 - n)); }

static inline uint64_t load(const byte *p) { /* little-endian on every machine */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

#define MIX(a, b, c, d, x, y)        \
    v[a] += v[b] + (x);              \
    v[d] = rotate(v[d] ^ v[a], 32);  \
    v[c] += v[d];                    \
    v[b] = rotate(v[b] ^ v[c], 24);  \
    v[a] += v[b] + (y);              \
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

/* The last blocks of up to four texts, which are compressed at once. */
enum { LANES = 4 };
typedef struct {
    int used, size[LANES];                 /* how many; bytes of output */
    uint64_t h[LANES][8], count[LANES];    /* states, and how many bytes each has taken */
    byte block[LANES][BLOCK], *out[LANES]; /* padded with zeros; where the hash goes */
} Lanes;

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_LANES __builtin_cpu_supports("avx2")
typedef uint64_t Four __attribute__((vector_size(8 * LANES)));

__attribute__((target("avx2"))) static void compress_lanes(Lanes *l) {
    Four v[16], m[16], start[8];
    for (int i = 0; i < 16; i++)
        for (int n = 0; n < LANES; n++) m[i][n] = load(l->block[n] + 8 * i);
    for (int i = 0; i < 8; i++) {
        for (int n = 0; n < LANES; n++) v[i][n] = l->h[n][i], v[i + 8][n] = IV[i];
        start[i] = v[i];
    }
    for (int n = 0; n < LANES; n++) v[12][n] ^= l->count[n];
    v[14] = ~v[14];
#define rotate(x, n) (((x) >> (n)) | ((x) << (64 - (n))))
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const byte *s = SIGMA[round % 10];
        ROUND(s)
    }
#undef rotate
    for (int i = 0; i < 8; i++) {
        start[i] ^= v[i] ^ v[i + 8];
        for (int n = 0; n < LANES; n++) l->h[n][i] = start[i][n];
    }
}
#else
#define HAS_LANES 0
#define compress_lanes(lanes) (void)(lanes)
#endif

static void put_hash(const uint64_t h[8], byte *out, int size) {
    for (int i = 0; i < size; i++) out[i] = (byte)(h[i / 8] >> 8 * (i % 8));
}

/* Compress the blocks that wait, and write their hashes. */
static void flush_lanes(Lanes *l) {
    if (l->used == LANES && HAS_LANES) compress_lanes(l);
    else for (int n = 0; n < l->used; n++) compress(l->h[n], l->block[n], l->count[n], 1);
    for (int n = 0; n < l->used; n++) put_hash(l->h[n], l->out[n], l->size[n]);
    l->used = 0;
}

/* Finish BLAKE2b with a text, from a state after ``count`` bytes; ``out`` is written later. */
static void hash_later(Lanes *l, const uint64_t from[8], uint64_t count, const byte *text,
                       ptrdiff_t n, byte *out, int size) {
    int lane = l->used++;
    uint64_t *h = l->h[lane];
    memcpy(h, from, 8 * sizeof *h);
    for (; n > BLOCK; text += BLOCK, n -= BLOCK) compress(h, text, count += BLOCK, 0);
    memcpy(l->block[lane], text, (size_t)n);
    memset(l->block[lane] + n, 0, (size_t)(BLOCK - n));
    l->count[lane] = count + (uint64_t)n, l->out[lane] = out, l->size[lane] = size;
    if (l->used == LANES) flush_lanes(l);
}

#endif
