/* Descriptor tokens: numbers by which a core refers to descriptors. The driver of the core keeps
 * the descriptors in this table. */
#ifndef GW_WIRE_TOKENS_H
#define GW_WIRE_TOKENS_H

#include "graph/base/array.h"

struct gw_tokens {
    GW_ARRAY(int) fds; /* -1: unused */
    GW_ARRAY(uint32_t) spare;
};

/* gw_tokens_add takes over a descriptor and returns its token, which is never 0. Returns 0, or
 * GW_ENOMEM (the descriptor was closed). */
int gw_tokens_add(struct gw_tokens *tokens, int fd, uint64_t *token);

/* gw_tokens_fd returns the descriptor of a token (borrowed). It asserts that the token is valid. */
int gw_tokens_fd(const struct gw_tokens *tokens, uint64_t token);

/* gw_tokens_drop closes the descriptor. gw_tokens_take gives the descriptor to the caller. After
 * both calls the token is invalid. */
void gw_tokens_drop(struct gw_tokens *tokens, uint64_t token);
int gw_tokens_take(struct gw_tokens *tokens, uint64_t token);

/* gw_tokens_deinit closes all descriptors. */
void gw_tokens_deinit(struct gw_tokens *tokens);

#endif
