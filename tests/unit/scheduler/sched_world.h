/* A scheduler's core in a test: one client, workers, and the messages to them. */
#ifndef GW_TESTS_SCHED_WORLD_H
#define GW_TESTS_SCHED_WORLD_H

#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "scheduler/core/sched.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <string.h>

enum { CLIENT = 1, WORKER = 10 };
#define MS UINT64_C(1000000)

struct world {
    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t now_ns, sequence[64];
    uint64_t speaker; /* the client that submits: CLIENT at first */
};

/* step passes an event to the core, a nanosecond later, and checks every invariant. */
int step(struct world *w, struct gw_event event);

/* say passes a message from a peer, with the next sequence number. */
void say(struct world *w, uint64_t peer, struct gw_message message);

/* pass lets time go by and ticks. */
void pass(struct world *w, uint64_t ns);

/* sent returns the nth message of a type to a peer in the last step; NULL: there are fewer. must
 * fails the test if there is none. */
const struct gw_message *sent(const struct world *w, uint64_t peer, uint32_t type, int n);
const struct gw_message *must(const struct world *w, uint64_t peer, uint32_t type);

/* add_worker adds worker `number`, peer WORKER + number; its name is that of its host. */
void add_worker_with(struct world *w, int number, uint32_t slots, const char *host,
                     uint64_t memory_bytes);
void add_worker(struct world *w, int number, uint32_t slots, const char *host);

/* new_world has a client and no worker; new_world_with has these options. */
struct world *new_world(void);
struct world *new_world_with(struct gw_sched_options options);
void free_world(struct world *w);

/* send_spec comes from the client `speaker` and is of a function unless it says otherwise. */
void send_spec(struct world *w, struct gw_msg_spec spec);

/* A chunk of rows of spec 0; with `chain`, each row takes the row before it. */
struct chunk {
    uint64_t request;
    uint32_t rows, flags;
    bool chain;
    uint32_t rank; /* of the dependencies */
};
void submit(struct world *w, struct chunk c);

/* submit_in_turns submits the same with several specs, in turns. */
void submit_in_turns(struct world *w, struct chunk c, uint32_t specs);

/* submit_task submits one row with a spec of its own, both called `request`, unless that is
 * refused: a task or a gang. */
void submit_task(struct world *w, uint64_t request, struct gw_msg_spec spec);

/* finish ends an attempt well with a value of `bytes` bytes; finish_after ends a task's attempt
 * with one byte after a run time. */
void finish(struct world *w, int worker, uint64_t attempt, uint32_t rank, uint64_t bytes);
void finish_after(struct world *w, int worker, uint64_t attempt, uint64_t run_ns);

/* attempt_ended ends an attempt, or a rank of it, as given; NULL texts are empty. fail_attempt is
 * for a task that ran and failed, with "no luck", give_back for a task that did not start. */
void attempt_ended(struct world *w, int worker, struct gw_msg_ended how);
void fail_attempt(struct world *w, int worker, uint64_t attempt);
void give_back(struct world *w, int worker, uint64_t attempt);

uint64_t attempt_in(const struct gw_message *assign, uint32_t row);

/* ask queries a job, or its task `index` if that is not negative; the caller owns the answer. */
struct gw_value *ask(const struct world *w, const char *what, int64_t job, int64_t index);

/* explain returns the explanation of a job or task, valid until the next call. explained expects
 * words in the explanation of a job; explained_of, of a task. */
const char *explain(const struct world *w, int64_t job, int64_t index);
void explained(const struct world *w, int64_t job, const char *words);
void explained_of(const struct world *w, int64_t job, int64_t index, const char *words);

/* event_log_says: whether an event of the job's first task contains these words. */
bool event_log_says(const struct world *w, int64_t job, const char *words);

#endif
