/* Copies of results: to place data before tasks ask for it, and to survive the loss of a worker.
 *
 * A result lies where it was computed, a scattered value at the scheduler, until a task elsewhere
 * takes it. The functions here fetch it earlier. Tasks are placed where most of their inputs are;
 * all copies count. A result of which several workers have a copy is neither lost nor computed
 * again if one of them is lost. A copy is a result like any other: it is written to disk when
 * memory is short, and freed when nobody holds or needs the result. Workers that join later get no
 * copies, and copies lost with a worker are not replaced: call gw_replicate again. Included by
 * <gangway/gangway.h>. */
#ifndef GANGWAY_REPLICA_H
#define GANGWAY_REPLICA_H

#include <gangway/error.h>
#include <gangway/value.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

struct gw_replicate_options {
    uint32_t copies;     /* workers that shall hold it, including those that already do; 0: all */
    const char *workers; /* names of workers or hosts, "a,b": use only these; NULL: all */
};

/* gw_replicate copies the results of `count` futures (of a gang, all ranks') to the given number of
 * workers and blocks until each has them. The futures are borrowed and may be pending. options
 * NULL: all workers. On failure the copies that were made stay, and the text says how many workers
 * hold the result and why not more. GW_EINFEASIBLE: there are too few workers. GW_ELIMIT: a worker
 * is short of memory. GW_ELOST: a copy failed three times. GW_ENOENT: no worker has such a name, or
 * the result was released. A failed future returns its own error. With GANGWAY_INLINE=1 it only
 * waits for the futures. gw_who_has tells who holds a result. Any thread. */
GW_API int gw_replicate(struct gw_client *client, struct gw_future *const *futures, size_t count,
                        const struct gw_replicate_options *options, struct gw_error *error);

/* gw_scatter_to is gw_scatter and gw_replicate in one call: when it returns, the value (borrowed)
 * is at the given number of workers (options NULL: all). On failure there is no future, and the
 * value is not in the cluster. */
GW_API int gw_scatter_to(struct gw_client *client, const struct gw_value *value,
                         const struct gw_replicate_options *options, struct gw_future **future,
                         struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
