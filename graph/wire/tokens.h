/* Tokens: the numbers by which a core names descriptors; its driver keeps the descriptors here. */
#ifndef GW_WIRE_TOKENS_H
#define GW_WIRE_TOKENS_H

#include "graph/base/array.h"

struct gw_tokens {
    GW_ARRAY(int) fds; /* -1: free */
    GW_ARRAY(uint32_t) spare;
};

/* gw_tokens_add takes a descriptor and gives its token, never 0; 0 or GW_ENOMEM (the descriptor is
 * closed). */
int gw_tokens_add(struct gw_tokens *tokens, int fd, uint64_t *token);

/* gw_tokens_fd gives the descriptor (borrowed) of a live token; asserts that it is one. */
int gw_tokens_fd(const struct gw_tokens *tokens, uint64_t token);

/* gw_tokens_drop closes the descriptor; the token is dead. gw_tokens_take gives it to the caller.
 */
void gw_tokens_drop(struct gw_tokens *tokens, uint64_t token);
int gw_tokens_take(struct gw_tokens *tokens, uint64_t token);

/* gw_tokens_deinit closes all. */
void gw_tokens_deinit(struct gw_tokens *tokens);

#endif
