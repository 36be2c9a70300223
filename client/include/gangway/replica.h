/* Copies of results: where data lies before tasks ask for it, and what survives a worker's loss.
 *
 * A result lies where it was made, a scattered value at the scheduler, until tasks elsewhere take
 * it. These have it fetched before. Tasks are placed where most of their inputs are, and count all
 * copies; a result that one worker of several had is neither lost nor computed again when that
 * worker goes. A copy is a result like any other: it goes to disk when memory is short, and when
 * nobody holds or needs the result any more. Workers that come later get none, and what goes with a
 * lost worker is not made up for: ask again. Included by <gangway/gangway.h>. */
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
    uint32_t copies;     /* workers that are to hold it, those that do already counted; 0: all */
    const char *workers; /* names of workers or hosts, "a,b": only these count; NULL: any */
};

/* gw_replicate has so many workers hold each of `count` futures' results (of a gang, all ranks'),
 * and blocks until they do; the futures (borrowed) may be pending. options NULL: all workers. Where
 * it cannot be, what was copied stays, and the text says how many hold it, and why not more:
 * GW_EINFEASIBLE, there are fewer workers; GW_ELIMIT, one is short of memory; GW_ELOST, a copy did
 * not arrive, three times. GW_ENOENT: nobody has such a name, or the result was released; a
 * future's own failure. With GANGWAY_INLINE=1 there is nobody to copy to: it waits, and is well.
 * gw_who_has tells who holds a result. Any thread. */
GW_API int gw_replicate(struct gw_client *client, struct gw_future *const *futures, size_t count,
                        const struct gw_replicate_options *options, struct gw_error *error);

/* gw_scatter_to is gw_scatter and gw_replicate in one: when it returns, the value (borrowed) is at
 * all workers (options NULL), or at as many as wanted. On failure there is no future, and nothing
 * stays in the cluster. */
GW_API int gw_scatter_to(struct gw_client *client, const struct gw_value *value,
                         const struct gw_replicate_options *options, struct gw_future **future,
                         struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
