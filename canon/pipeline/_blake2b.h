/* BLAKE2b (RFC 7693), keyed, as hashlib.blake2b without its set-up cost; up to eight texts at once. */
#ifndef CANONRY_BLAKE2B_H
#define CANONRY_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { BLOCK = 128, LONGEST_KEY = 64 };

/* Texts whose blocks are compressed side by side, one of each at a time. They are read where they are,
 * so they have to stay as they are until the lanes are flushed. */
enum { LANES = 8 };
typedef struct {
    uint64_t h[8][LANES], count[LANES];      /* states, and how many bytes each has taken */
    const byte *text[LANES];                 /* the rest of each text, and its length */
    ptrdiff_t left[LANES];
    byte *out[LANES];                        /* where the hash goes, and its size: 8, 16 … */
    int size[LANES], busy;                   /* busy: a bit for each lane with a text; 0 at first */
} Lanes;

/* Prepare the state of a hash of ``size`` bytes; ``key`` has ``n`` bytes, 64 at most. Return how many
 * bytes the state has taken. */
int start_hash(uint64_t state[8], int size, const byte *key, int n);

/* Hash a text from a state that has taken ``count`` bytes; ``out`` is written when the lanes are full, or flushed. */
void hash_later(Lanes *l, const uint64_t from[8], int count, const byte *text, ptrdiff_t n, byte *out, int size);

/* Compress all texts in the lanes, and write their hashes. */
void flush_lanes(Lanes *l);

/* Copy fewer than 16 bytes. */
static inline void copy_few(byte *out, const byte *s, ptrdiff_t n) {
    if (n >= 8) {
        memcpy(out, s, 8);
        memcpy(out + n - 8, s + n - 8, 8);
    } else if (n >= 4) {
        memcpy(out, s, 4);
        memcpy(out + n - 4, s + n - 4, 4);
    } else {
        for (ptrdiff_t i = 0; i < n; i++) out[i] = s[i];
    }
}

#endif
