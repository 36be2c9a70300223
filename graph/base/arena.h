/* An arena: many small allocations that are freed together. A zero-initialised arena is empty. Not
 * thread-safe. */
#ifndef GW_BASE_ARENA_H
#define GW_BASE_ARENA_H

#include <stddef.h>

struct gw_arena {
    struct gw_arena_block *blocks;
};

/* gw_arena_reserve makes the first block of an empty arena exactly `bytes` bytes large. Use it if
 * there are many arenas that stay small. If the arena has a block already, nothing happens. Returns
 * 0 or GW_ENOMEM. */
int gw_arena_reserve(struct gw_arena *arena, size_t bytes);

/* gw_arena_alloc returns `bytes` bytes of zeroed memory, aligned for any type, or NULL if out of
 * memory. */
void *gw_arena_alloc(struct gw_arena *arena, size_t bytes);

/* gw_arena_copy returns a copy of `bytes` bytes. gw_arena_strdup returns a copy of a string. */
void *gw_arena_copy(struct gw_arena *arena, const void *data, size_t bytes);
char *gw_arena_strdup(struct gw_arena *arena, const char *text);

/* gw_arena_reset empties the arena and keeps one block for reuse. */
void gw_arena_reset(struct gw_arena *arena);

/* gw_arena_deinit frees everything; the arena is empty and usable again. */
void gw_arena_deinit(struct gw_arena *arena);

#endif
