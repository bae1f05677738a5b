/* Do all ways to compress blocks give the same states? Each is called, whatever the kernel would choose. */
#include <stdio.h>
#include "_blake2b.c"

enum { LONGEST = 3 * BLOCK };
static uint64_t number = 1;

static uint64_t next(void) { return number = number * 6364136223846793005u + 1442695040888963407u; }

/* Compare a block of each of some lanes with the plain function; return 1 if they agree. */
static int agrees(void (*compress_all)(Lanes *, const uint64_t *), int width) {
    static byte texts[LANES][LONGEST];
    Lanes lanes;
    uint64_t expected[LANES][8], last[LANES];
    for (int n = 0; n < LANES; n++) {
        int size = (int)(next() % (LONGEST + 1)), left = size < BLOCK ? size : BLOCK;
        byte block[BLOCK] = {0};
        for (int i = 0; i < size; i++) texts[n][LONGEST - size + i] = (byte)(next() >> 56);
        for (int i = 0; i < 8; i++) expected[n][i] = lanes.h[i][n] = next();
        lanes.text[n] = texts[n] + LONGEST - size, lanes.left[n] = size;
        lanes.count[n] = next();
        last[n] = next() >> 63 ? ~(uint64_t)0 : 0;
        memcpy(block, lanes.text[n], (size_t)left);
        compress(expected[n], block, lanes.count[n], last[n] != 0);
    }
    compress_all(&lanes, last);
    for (int n = 0; n < width; n++)
        for (int i = 0; i < 8; i++)
            if (lanes.h[i][n] != expected[n][i]) return 0;
    return 1;
}

int main(void) {
    int faults = 0;
    for (int round = 0; round < 1000; round++) {
#ifdef HAS_LANES
        if (__builtin_cpu_supports("avx2")) faults += !agrees(compress_avx2, 4);
        if (__builtin_cpu_supports("avx512bw")) faults += !agrees(compress_avx512, 8);
#else
        (void)agrees;
#endif
    }
    printf("%d\n", faults);
    return 0;
}
