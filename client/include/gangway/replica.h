/* Copies of results at several workers: to bring data to workers before tasks need it, and to
 * survive the loss of a worker.
 *
 * Without these functions a result stays at the worker that computed it, and a scattered value at
 * the scheduler, until a task on another worker needs it. gw_replicate copies it earlier. The
 * scheduler prefers the worker that has most of a task's inputs; all copies count. If several
 * workers have a copy of a result, the loss of one of them neither loses the result nor makes a
 * task compute it again. A copy is a result like any other: the worker writes it to disk when
 * memory is short, and frees it when no future and no task needs the result. Workers that join
 * later get no copies, and copies lost with a worker are not replaced: call gw_replicate again.
 *
 * <gangway/gangway.h> includes this header. */
#ifndef GANGWAY_REPLICA_H
#define GANGWAY_REPLICA_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <gangway/value.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

struct gw_replicate_options {
    size_t struct_size; /* see options.h */
    uint32_t copies; /* number of workers that have a copy in the end, including those that already
                        have one; 0: all workers */
    const char *workers; /* names of workers or hosts, for example "a,b": copies are made only
                            there; NULL: on any worker */
};
#define GW_REPLICATE_OPTIONS(...) GW_POINTER(gw_replicate_options, __VA_ARGS__)

/* gw_replicate copies the results of `count` futures (of a gang: the results of all ranks) to the
 * given number of workers. It blocks until each of these workers has all copies. The futures are
 * borrowed and may be pending. options NULL: all workers. If it fails, the copies that were made
 * stay, and the error's text says how many workers have the result and why there are not more.
 * GW_EINFEASIBLE: there are too few workers. GW_ELIMIT: a worker is short of memory. GW_ELOST: a
 * copy failed three times. GW_ENOENT: no worker has such a name, or the result was released. If a
 * future has failed, gw_replicate returns its error. With GANGWAY_INLINE=1 it only waits for the
 * futures. gw_who_has lists the workers that have a result. Any thread may call it. */
GW_API int gw_replicate(struct gw_client *client, struct gw_future *const *futures, size_t count,
                        const struct gw_replicate_options *options, struct gw_error *error);

/* gw_scatter_to is gw_scatter and gw_replicate in one call: when it returns, the given number of
 * workers (options NULL: all) have a copy of the value. The value is borrowed. If it fails, there
 * is no future, and the value is not in the cluster. */
GW_API int gw_scatter_to(struct gw_client *client, const struct gw_value *value,
                         const struct gw_replicate_options *options, struct gw_future **future,
                         struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
