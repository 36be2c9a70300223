/* The arena is a list of blocks, the newest first. Memory is allocated from the newest block.
 *
 * Each new block is twice as large as the last one, up to a limit. A request that is larger than
 * half a new block gets a block of its own, which is inserted after the newest block. So the free
 * space of the newest block stays usable. */
#include "graph/base/arena.h"

#include <gangway/error.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = alignof(max_align_t), BLOCK_BYTES_MIN = 4096, BLOCK_BYTES_MAX = 1 << 18 };

struct gw_arena_block {
    struct gw_arena_block *next;
    size_t used, capacity;
    alignas(max_align_t) unsigned char bytes[];
};

static struct gw_arena_block *block_new(size_t capacity)
{
    struct gw_arena_block *block = malloc(sizeof *block + capacity);
    if (block)
        *block = (struct gw_arena_block){.capacity = capacity};
    return block;
}

/* Adds a block with room for `bytes` bytes. The block may not be the first of the list. */
static struct gw_arena_block *arena_grow(struct gw_arena *arena, size_t bytes)
{
    struct gw_arena_block *newest = arena->blocks;
    size_t capacity = newest ? newest->capacity * 2 : BLOCK_BYTES_MIN;
    if (capacity > BLOCK_BYTES_MAX)
        capacity = BLOCK_BYTES_MAX;

    bool own = newest && bytes > capacity / 2;
    struct gw_arena_block *block = block_new(own || bytes > capacity ? bytes : capacity);
    if (!block)
        return NULL;
    if (own) {
        block->next = newest->next;
        newest->next = block;
    } else {
        block->next = newest;
        arena->blocks = block;
    }
    return block;
}

int gw_arena_reserve(struct gw_arena *arena, size_t bytes)
{
    if (arena->blocks || bytes == 0)
        return 0;
    arena->blocks = block_new((bytes + ALIGN - 1) / ALIGN * ALIGN);
    return arena->blocks ? 0 : GW_ENOMEM;
}

void *gw_arena_alloc(struct gw_arena *arena, size_t bytes)
{
    if (bytes > PTRDIFF_MAX / 2)
        return NULL;
    bytes = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;

    struct gw_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < bytes)
        block = arena_grow(arena, bytes);
    if (!block)
        return NULL;
    void *memory = block->bytes + block->used;
    block->used += bytes;
    return memset(memory, 0, bytes);
}

void *gw_arena_copy(struct gw_arena *arena, const void *data, size_t bytes)
{
    void *copy = gw_arena_alloc(arena, bytes);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

char *gw_arena_strdup(struct gw_arena *arena, const char *text)
{
    return gw_arena_copy(arena, text, strlen(text) + 1);
}

void gw_arena_reset(struct gw_arena *arena)
{
    struct gw_arena_block *retained = arena->blocks;
    if (!retained)
        return;
    struct gw_arena rest = {retained->next};
    gw_arena_deinit(&rest);
    retained->next = NULL;
    retained->used = 0;
    if (retained->capacity > BLOCK_BYTES_MAX)
        gw_arena_deinit(arena); /* do not keep a very large block forever */
}

void gw_arena_deinit(struct gw_arena *arena)
{
    struct gw_arena_block *next;
    for (struct gw_arena_block *block = arena->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}
