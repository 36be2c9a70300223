/* A whole cluster in one process, for counting: a client's rows and futures, the scheduler's core,
 * a worker's core, and two real runners (forked, on sockets), with every message encoded and
 * decoded as on the wire. Time is made up and everything happens in turns, so that a run is the
 * same each time.
 *
 * What a part of it does is charged to a role: allocations, bytes sent, and, under callgrind,
 * instructions. */
#ifndef GW_TESTS_COUNTERS_PIPELINE_H
#define GW_TESTS_COUNTERS_PIPELINE_H

#include <gangway/gangway.h>

enum role { NOBODY, CLIENT, SCHEDULER, WORKER, RUNNER, ROLES };
extern const char *const role_names[ROLES];

struct counts {
    uint64_t allocations[ROLES], bytes[ROLES]; /* bytes: sent by that role */
};

struct pipeline;

/* pipeline_open starts it; under callgrind the instructions of `measured` are collected, and dumped
 * as "<name> <role>" at the end. Aborts when something is wrong, as all of this does. */
struct pipeline *pipeline_open(const char *name, enum role measured);

/* pipeline_close ends the runners and adds up what was counted between begin and end. */
void pipeline_close(struct pipeline *pipeline, struct counts *counts);

/* What is between them counts. Starting runners and the first tasks are not part of it. */
void pipeline_begin(struct pipeline *pipeline);
void pipeline_end(struct pipeline *pipeline);

/* pipeline_client: what follows is charged to the client, or no more. */
void pipeline_client(struct pipeline *pipeline, bool on);

/* pipeline_run submits a graph (taken) with futures for all `count` nodes, goes on until nothing is
 * left to do, and gives each value to `check`. */
typedef void (*pipeline_check)(uint32_t i, int64_t value, const void *arg);
void pipeline_run(struct pipeline *pipeline, struct gw_graph *graph, const gw_node *nodes,
                  uint32_t count, pipeline_check check, const void *arg);

#endif
