/* A bit set with summary levels. A bit of level n+1 is set exactly if its word of level n is not 0,
 * and the highest level is one word. So finding the smallest member takes one look at each level.
 */
#include "scheduler/core/model/bits.h"

#include "graph/base/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint32_t words_for(uint32_t capacity)
{
    return (uint32_t)(((uint64_t)capacity + 63) / 64);
}

void gw_bits_deinit(struct gw_bits *bits)
{
    for (uint32_t i = 0; i < bits->levels; i++)
        free(bits->level[i]);
    *bits = (struct gw_bits){0};
}

void gw_bits_reserve(struct gw_bits *bits, uint32_t capacity)
{
    if (capacity <= bits->capacity)
        return;
    if (capacity < UINT32_MAX / 2 && capacity < bits->capacity * 2)
        capacity = bits->capacity * 2;
    uint32_t had = bits->capacity, need = capacity;
    for (uint32_t i = 0;; i++) {
        assert(i < GW_BITS_LEVELS_MAX);
        bool is_new = i >= bits->levels;
        uint32_t words = words_for(need);
        uint32_t old_words = is_new ? 0 : words_for(had);
        bits->level[i] = realloc(is_new ? NULL : bits->level[i], (size_t)words * 8);
        GW_MUST_PTR(bits->level[i]);
        memset(bits->level[i] + old_words, 0, (size_t)(words - old_words) * 8);
        if (is_new) {
            bits->levels = i + 1;
            if (i > 0 && bits->count)
                bits->level[i][0] = 1; /* summarises the former highest level */
        }
        had = words_for(had);
        need = words;
        if (words == 1)
            break;
    }
    bits->capacity = capacity;
}

void gw_bits_set(struct gw_bits *bits, uint32_t i)
{
    assert(i < bits->capacity);
    uint64_t *word = &bits->level[0][i / 64];
    uint64_t bit = UINT64_C(1) << (i % 64);
    if (*word & bit)
        return;
    bits->count++;
    for (uint32_t n = 0; n < bits->levels; n++) {
        uint64_t *at = &bits->level[n][i / 64];
        bool had = *at != 0;
        *at |= UINT64_C(1) << (i % 64);
        if (had)
            break;
        i /= 64;
    }
}

void gw_bits_clear(struct gw_bits *bits, uint32_t i)
{
    if (!gw_bits_test(bits, i))
        return;
    bits->count--;
    for (uint32_t n = 0; n < bits->levels; n++) {
        uint64_t *at = &bits->level[n][i / 64];
        *at &= ~(UINT64_C(1) << (i % 64));
        if (*at)
            break;
        i /= 64;
    }
}

bool gw_bits_test(const struct gw_bits *bits, uint32_t i)
{
    return i < bits->capacity && (bits->level[0][i / 64] >> (i % 64) & 1);
}

uint32_t gw_bits_first(const struct gw_bits *bits)
{
    assert(bits->count);
    uint32_t i = 0;
    for (uint32_t n = bits->levels; n-- > 0;)
        i = i * 64 + (uint32_t)__builtin_ctzll(bits->level[n][i]);
    return i;
}

uint32_t gw_bits_below(const struct gw_bits *bits, uint32_t i)
{
    uint32_t below = 0;
    i = i < bits->capacity ? i : bits->capacity;
    for (uint32_t word = 0; word < i / 64; word++)
        below += (uint32_t)__builtin_popcountll(bits->level[0][word]);
    if (i % 64)
        below += (uint32_t)__builtin_popcountll(bits->level[0][i / 64] << (64 - i % 64));
    return below;
}

static uint64_t above(uint64_t word, uint32_t i)
{
    return word & ~UINT64_C(1) << (i % 64);
}

uint32_t gw_bits_near(const struct gw_bits *bits, uint32_t i)
{
    uint32_t word = i / 64;
    uint64_t behind = above(bits->level[0][word], i);
    if (!behind && bits->levels > 1) {
        uint64_t words = above(bits->level[1][word / 64], word);
        if (!words)
            return i;
        word = word / 64 * 64 + (uint32_t)__builtin_ctzll(words);
        behind = bits->level[0][word];
    }
    return behind ? word * 64 + (uint32_t)__builtin_ctzll(behind) : i;
}
