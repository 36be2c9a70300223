/* A whole cluster in one process, for counting: a client's rows and futures, the scheduler core, a
 * worker core, and two real runners (forked, with sockets). Every message is encoded and decoded as
 * in a real cluster. Time is simulated and everything happens in turn, so that every run gives the
 * same counts.
 *
 * The counts are per role: allocations, bytes sent, and, under callgrind, instructions. */
#ifndef GW_TESTS_COUNTERS_PIPELINE_H
#define GW_TESTS_COUNTERS_PIPELINE_H

#include <gangway/gangway.h>

enum role { NOBODY, CLIENT, SCHEDULER, WORKER, RUNNER, ROLES };
extern const char *const role_names[ROLES];

struct counts {
    uint64_t allocations[ROLES], bytes[ROLES]; /* bytes sent by the role */
};

struct pipeline;

/* pipeline_open starts the cluster. Under callgrind, the instructions of role `measured` are
 * collected and dumped as "<name> <role>" at the end. accounting: the scheduler stores the ended
 * jobs in a file. All functions abort on an error. */
struct pipeline *pipeline_open(const char *name, enum role measured, bool accounting);

/* pipeline_close ends the runners and returns the counts between pipeline_begin and pipeline_end.
 */
void pipeline_close(struct pipeline *pipeline, struct counts *counts);

/* Only what happens between these calls is counted. The start of the runners and the first tasks
 * are not included. */
void pipeline_begin(struct pipeline *pipeline);
void pipeline_end(struct pipeline *pipeline);

/* pipeline_client: what follows is counted for the client (on), or not any more. */
void pipeline_client(struct pipeline *pipeline, bool on);

/* pipeline_run submits a graph, which it takes over, with futures for all `count` nodes. It runs
 * until nothing is left to do, and passes each value to `check`. */
typedef void (*pipeline_check)(uint32_t i, int64_t value, const void *arg);
void pipeline_run(struct pipeline *pipeline, struct gw_graph *graph, const gw_node *nodes,
                  uint32_t count, pipeline_check check, const void *arg);

#endif
