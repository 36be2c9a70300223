/* The worker's core: what to run, fetch, keep and kill on this host. No input or output.
 *
 * Its peers are the scheduler, runners, the guardian, and other workers; all of them speak messages
 * (graph/wire/messages.def). See DESIGN: "The two pure cores". */
#ifndef GW_WORKER_CORE_NODE_H
#define GW_WORKER_CORE_NODE_H

#include "graph/wire/step.h"

#include <gangway/value.h>

struct gw_node_core;

struct gw_node_options {
    uint32_t slots;
    uint64_t memory_bytes;
    const struct gw_node_gpu {
        const char *uuid, *name;
        uint64_t memory_bytes;
    } * gpus;
    uint32_t gpu_count;
    const char *host;    /* name of this host, for people */
    const char *address; /* of the peers' socket */
    const char *log_dir; /* output files lie below: <job>/<index>.<attempt>[.<rank>].out, .err */
    const char *checkpoint_dir; /* <job>/ below it is the folder that tasks get */
    uint64_t heartbeat_ns;      /* 0: 2 s */
    uint64_t fence_ns;       /* silence of the scheduler after which runners are killed; 0: 10 s */
    uint64_t runner_idle_ns; /* pooled runners end after it; 0: 60 s */
};

struct gw_node_core *gw_node_core_new(const struct gw_node_options *options);
void gw_node_core_free(struct gw_node_core *core);
int gw_node_core_step(struct gw_node_core *core, const struct gw_event *event,
                      struct gw_effects *effects);
uint64_t gw_node_core_deadline_ns(const struct gw_node_core *core);
void gw_node_core_check(const struct gw_node_core *core);

#endif
