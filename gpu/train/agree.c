/* Comparison of parameters by hashes. All ranks have all hashes, so all make the same text. */
#include <gangway/agree.h>

#include "gpu/train/optimizer_kernel.h"
#include "graph/wire/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank sends to all. */
struct opinion {
    int64_t status; /* 0, or why there is no hash */
    uint8_t hash[GW_HASH_BYTES];
};

static bool is_same(const struct opinion *a, const struct opinion *b)
{
    return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

/* Returns the first rank of the largest group of ranks that have the same hash. */
static int majority_of(const struct opinion *opinions, int ranks)
{
    int best = 0, best_count = 0;
    for (int i = 0; i < ranks; i++) {
        int count = 0;
        for (int k = 0; k < ranks; k++)
            count += is_same(&opinions[i], &opinions[k]);
        if (count > best_count) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

static int compare(const struct opinion *opinions, int ranks, uint64_t step, struct gw_error *error)
{
    const int majority = majority_of(opinions, ranks);
    char list[256] = "";
    size_t length = 0;
    int count = 0;
    for (int i = 0; i < ranks; i++) {
        if (opinions[i].status < 0)
            return gw_error_set(error, (int)opinions[i].status,
                                "rank %d cannot hash its parameters: %s", i,
                                gw_error_text((int)opinions[i].status));
        if (is_same(&opinions[i], &opinions[majority]))
            continue;
        if (length < sizeof list - 16)
            length +=
                (size_t)snprintf(list + length, sizeof list - length, "%s%d", count ? ", " : "", i);
        count++;
    }
    if (count == 0)
        return 0;
    return gw_error_set(error, GW_EMISMATCH,
                        "rank%s %s diverged by step %llu: parameters differ from those of the "
                        "other %d of %d ranks",
                        count > 1 ? "s" : "", list, (unsigned long long)step, ranks - count, ranks);
}

int gw_agree_parameters(struct gw_optimizer *optimizer, struct gw_comm *comm, uint64_t every,
                        struct gw_error *error)
{
    const int ranks = gw_comm_size(comm), rank = gw_comm_rank(comm);
    const uint64_t step = gw_optimizer_steps(optimizer);
    if (every == 0)
        return gw_error_set(error, GW_EINVAL, "agree: every is 0: give at least 1");
    if (step % every != 0)
        return 0;
    struct opinion *opinions = calloc((size_t)ranks, sizeof *opinions);
    if (!opinions)
        return gw_error_set(error, GW_ENOMEM, "agree: out of memory");
    opinions[rank].status = gw_optimizer_hash(optimizer, opinions[rank].hash);
    int rc = gw_comm_all_gather(
        comm, GW_COMM_ARGS(.recv = opinions, .count = sizeof *opinions, .dtype = GW_DTYPE_U8),
        error);
    if (rc == 0)
        rc = compare(opinions, ranks, step, error);
    free(opinions);
    return rc;
}
