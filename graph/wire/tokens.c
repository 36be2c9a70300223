/* A table of descriptors. A token is an index in the table plus one, so that 0 is never a token. */
#include "graph/wire/tokens.h"

#include <assert.h>
#include <unistd.h>

int gw_tokens_add(struct gw_tokens *tokens, int fd, uint64_t *token)
{
    if (tokens->spare.count > 0) {
        uint32_t at = tokens->spare.items[--tokens->spare.count];
        tokens->fds.items[at] = fd;
        *token = (uint64_t)at + 1;
        return 0;
    }
    /* Reserve room in `spare` for every entry, so that gw_tokens_drop never allocates. */
    int rc = gw_array_reserve(&tokens->spare, tokens->fds.count + 1 - tokens->spare.count);
    if (rc >= 0)
        rc = gw_array_push(&tokens->fds, fd);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    *token = tokens->fds.count;
    return 0;
}

int gw_tokens_fd(const struct gw_tokens *tokens, uint64_t token)
{
    assert(token > 0 && token <= tokens->fds.count && tokens->fds.items[token - 1] >= 0);
    return tokens->fds.items[token - 1];
}

int gw_tokens_take(struct gw_tokens *tokens, uint64_t token)
{
    int fd = gw_tokens_fd(tokens, token);
    tokens->fds.items[token - 1] = -1;
    tokens->spare.items[tokens->spare.count++] = (uint32_t)(token - 1);
    return fd;
}

void gw_tokens_drop(struct gw_tokens *tokens, uint64_t token)
{
    close(gw_tokens_take(tokens, token));
}

void gw_tokens_deinit(struct gw_tokens *tokens)
{
    for (size_t i = 0; i < tokens->fds.count; i++)
        if (tokens->fds.items[i] >= 0)
            close(tokens->fds.items[i]);
    gw_array_deinit(&tokens->fds);
    gw_array_deinit(&tokens->spare);
}
