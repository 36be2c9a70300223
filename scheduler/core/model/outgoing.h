/* What is sent at the end of a step. step.c and send/ fill and empty it. It is not part of the
 * state, because no decision depends on it. */
#ifndef GW_SCHEDULER_CORE_OUTGOING_H
#define GW_SCHEDULER_CORE_OUTGOING_H

#include "graph/base/array.h"
#include "graph/wire/message.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_effects;
struct gw_event;
struct gw_session;
struct gw_worker;

/* Rows of a message `done`. */
struct gw_done_rows {
    bool dirty; /* there may be rows */
    GW_ARRAY(uint64_t) request, bytes;
    GW_ARRAY(uint32_t) index, rank, value_size;
    GW_ARRAY(uint8_t) values;
};

/* Rows of a message `assign`. */
struct gw_assign_rows {
    GW_ARRAY(uint64_t) job, attempt, dep_job, dep_bytes;
    GW_ARRAY(uint32_t) index, spec, try_number, rank, gpu_count, gpus, args_size, dep_count;
    GW_ARRAY(uint32_t) dep_index, dep_rank, dep_worker, dep_value_size;
    GW_ARRAY(uint8_t) args, dep_values;
};

struct gw_release_rows {
    GW_ARRAY(uint64_t) job;
    GW_ARRAY(uint32_t) index, rank;
};

struct gw_kill_rows {
    GW_ARRAY(uint64_t) attempt;
    uint64_t grace_ns;
    uint32_t reason;
};

/* Rows to send to a worker at the end of the step. */
struct gw_worker_rows {
    struct gw_assign_rows *assign; /* NULL: no rows to send */
    struct gw_release_rows release;
    struct gw_kill_rows kill;
    bool dirty; /* there may be rows */
};

/* The current step: its event and its effects. */
struct gw_step {
    const struct gw_event *event;
    struct gw_effects *effects;
    bool tokens_retained; /* the tokens of the event have a new owner */
    uint64_t number;
    GW_ARRAY(struct gw_worker *) dirty_workers;
    GW_ARRAY(struct gw_session *) dirty_sessions;
    GW_ARRAY(struct gw_assign_rows *) lent_rows, spare_rows; /* see assign.h */
    struct gw_buffer scratch;
};

enum { GW_LOG_USER_BYTES = 61 };

/* Jobs that have no log line of their own because there were too many. See log.h. */
struct gw_log_jobs {
    uint64_t since_ns; /* begin of the second that is counted */
    uint32_t said;     /* log lines in this second */
    uint32_t jobs;     /* jobs without a line */
    uint64_t tasks, latest;
    char user[GW_LOG_USER_BYTES]; /* client of the latest job; may be cut off */
    bool named;                   /* `user` contains the name of the user */
};

#endif
