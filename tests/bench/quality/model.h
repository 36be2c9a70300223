/* A cluster in virtual time, in which policies are compared. Each worker has one slot and one
 * network link, over which the inputs of its tasks are fetched one after another.
 *
 * Control messages take no time. A task starts when the slot is free and all its inputs are at the
 * worker. If several tasks could start, the one that was assigned first starts. */
#ifndef GW_TESTS_QUALITY_MODEL_H
#define GW_TESTS_QUALITY_MODEL_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "tests/bench/peers/graph_file.h"

enum { MODEL_NONE = UINT32_MAX, MODEL_WORKERS_MAX = 4096 };

struct model;

/* A policy. model_run calls its functions, and each of them may assign rows. */
struct model_policy {
    const char *name;
    void (*start)(struct model *model, void *arg);
    void (*ready)(struct model *model, void *arg,
                  uint32_t row); /* all inputs of the row were made */
    void (*finished)(struct model *model, void *arg, uint32_t row, uint32_t worker);
};

struct model_event {
    uint64_t time_ns, number;
    uint32_t kind, worker, row;
};

/* A row at the worker to which it is assigned. */
struct model_pending {
    uint64_t order;
    uint32_t worker, missing;
    bool started;
};

/* A row that could start. The entry is void if the row was taken back, which changes its order. */
struct model_startable {
    uint64_t order;
    uint32_t row;
};

struct model_worker {
    uint64_t link_free_ns;
    bool busy;
    GW_ARRAY(struct model_startable) startable; /* heap, sorted by order */
};

struct model {
    const struct graph_file *graph;
    uint32_t worker_count;
    uint64_t latency_ns;
    double bytes_per_ns;
    uint64_t now_ns;
    uint32_t left; /* rows that have not finished */

    /* used only by the model */
    uint64_t numbers;
    uint32_t *users_at, *users; /* the users of each row, as compressed rows */
    uint32_t *unmade;           /* number of missing inputs of each row */
    uint32_t *made_at;          /* the worker that made each row; MODEL_NONE */
    struct model_pending *pending;
    struct model_worker *workers;
    struct gw_map copies; /* (row, worker) -> 1: on its way, 2: arrived */
    GW_ARRAY(struct model_event) events;
    const struct model_policy *policy;
    void *arg;
};

/* model_init prepares a model. graph is borrowed. model_deinit frees the model. */
void model_init(struct model *model, const struct graph_file *graph, uint32_t workers);
void model_deinit(struct model *model);

/* model_run runs the graph under a policy and returns the makespan in nanoseconds. It aborts if the
 * policy leaves rows unassigned. */
uint64_t model_run(struct model *model, const struct model_policy *policy, void *arg);

/* model_assign assigns a row to a worker. It starts immediately, or when its inputs are made. A row
 * is assigned once, or again after model_take_back. model_take_back returns true if the row had not
 * started. */
void model_assign(struct model *model, uint32_t row, uint32_t worker);
bool model_take_back(struct model *model, uint32_t row);

/* model_transfer_ns returns the time to fetch this many bytes. */
uint64_t model_transfer_ns(const struct model *model, uint32_t bytes);

#endif
