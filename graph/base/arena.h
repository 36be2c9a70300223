/* An arena: many small allocations, freed together. Zero-initialised is empty. Not thread-safe. */
#ifndef GW_BASE_ARENA_H
#define GW_BASE_ARENA_H

#include <stddef.h>

struct gw_arena {
    struct gw_arena_block *blocks;
};

/* gw_arena_reserve makes the first block of an empty arena just as large as `bytes`: for arenas of
 * which there are many, and which stay small. One that has a block is left as it is. 0 or
 * GW_ENOMEM. */
int gw_arena_reserve(struct gw_arena *arena, size_t bytes);

/* gw_arena_alloc gives `bytes` of zeroed memory, aligned for any type; NULL when out of memory. */
void *gw_arena_alloc(struct gw_arena *arena, size_t bytes);

/* gw_arena_copy gives a copy of `bytes` from data; gw_arena_strdup of a string. */
void *gw_arena_copy(struct gw_arena *arena, const void *data, size_t bytes);
char *gw_arena_strdup(struct gw_arena *arena, const char *text);

/* gw_arena_reset makes the arena empty and keeps one block for reuse. */
void gw_arena_reset(struct gw_arena *arena);

/* gw_arena_deinit frees everything; the arena is empty and usable again. */
void gw_arena_deinit(struct gw_arena *arena);

#endif
