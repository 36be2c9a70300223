/* The ranks find the first rank with an error. That rank sends its code and its text. */
#include "gpu/train/rank_error.h"

#include <string.h>

struct outcome {
    int64_t code;
    char text[GW_ERROR_TEXT_MAX];
};

int gw_rank_error_share(struct gw_comm *comm, int rc, struct gw_error *error)
{
    const int size = gw_comm_size(comm), rank = gw_comm_rank(comm);
    struct outcome outcome = {.code = rc};
    int32_t first = rc < 0 ? rank : size;
    if (rc < 0)
        memcpy(outcome.text, error->text, strlen(error->text));
    rc = gw_comm_all_reduce(
        comm,
        GW_COMM_ARGS(.recv = &first, .count = 1, .dtype = GW_DTYPE_I32, .reduce = GW_REDUCE_MIN),
        error);
    if (rc < 0 || first == size)
        return rc;
    rc = gw_comm_broadcast(comm,
                           GW_COMM_ARGS(.recv = &outcome, .count = sizeof outcome,
                                        .dtype = GW_DTYPE_U8, .root = first),
                           error);
    if (rc < 0)
        return rc;
    gw_error_set(error, (int)outcome.code, "%s", outcome.text);
    return first == rank || outcome.code == GW_EMISMATCH
               ? (int)outcome.code
               : gw_error_prefix(error, "rank %d", (int)first);
}
