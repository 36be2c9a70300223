/* A cluster in virtual time, on which policies are compared: workers of one slot, each with a link
 * of its own, over which what its tasks take is fetched one after the other.
 *
 * Control costs nothing; a task starts when the slot is free and all that it takes is here. Among
 * those that could start, the one that was assigned first does. */
#ifndef GW_TESTS_QUALITY_MODEL_H
#define GW_TESTS_QUALITY_MODEL_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "tests/bench/peers/graph_file.h"

enum { MODEL_NONE = UINT32_MAX, MODEL_WORKERS_MAX = 4096 };

struct model;

/* Who decides. All are called from model_run; each may assign. */
struct model_policy {
    const char *name;
    void (*start)(struct model *model, void *arg);
    void (*ready)(struct model *model, void *arg, uint32_t row); /* all that it takes was made */
    void (*finished)(struct model *model, void *arg, uint32_t row, uint32_t worker);
};

struct model_event {
    uint64_t time_ns, number;
    uint32_t kind, worker, row;
};

/* A row at the worker that it was assigned to. */
struct model_pending {
    uint64_t order;
    uint32_t worker, missing;
    bool started;
};

/* A row that could start; void when the row was taken back, which gives it another order. */
struct model_startable {
    uint64_t order;
    uint32_t row;
};

struct model_worker {
    uint64_t link_free_ns;
    bool busy;
    GW_ARRAY(struct model_startable) startable; /* heap, by order */
};

struct model {
    const struct graph_file *graph;
    uint32_t worker_count;
    uint64_t latency_ns;
    double bytes_per_ns;
    uint64_t now_ns;
    uint32_t left; /* rows that have not finished */

    /* the model's own */
    uint64_t numbers;
    uint32_t *users_at, *users; /* of each row, compressed */
    uint32_t *unmade;           /* of each row: inputs that were not made yet */
    uint32_t *made_at;          /* worker; MODEL_NONE */
    struct model_pending *pending;
    struct model_worker *workers;
    struct gw_map copies; /* (row, worker): 1 on its way, 2 there */
    GW_ARRAY(struct model_event) events;
    const struct model_policy *policy;
    void *arg;
};

/* model_init prepares; graph is borrowed. model_deinit frees. */
void model_init(struct model *model, const struct graph_file *graph, uint32_t workers);
void model_deinit(struct model *model);

/* model_run runs the graph under a policy and gives the makespan in nanoseconds; aborts where the
 * policy leaves work undone. */
uint64_t model_run(struct model *model, const struct model_policy *policy, void *arg);

/* model_assign gives a row to a worker: at once, or when what it takes is made. A row is assigned
 * once, or again after model_take_back, which tells whether it had not started. */
void model_assign(struct model *model, uint32_t row, uint32_t worker);
bool model_take_back(struct model *model, uint32_t row);

/* model_transfer_ns is what fetching so many bytes takes. */
uint64_t model_transfer_ns(const struct model *model, uint32_t bytes);

#endif
