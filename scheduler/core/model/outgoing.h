/* What leaves at the end of a step. Of step.c and send/, which fill and empty it: no state, because
 * no decision reads it. */
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

/* Rows of a `done`. */
struct gw_done_rows {
    bool dirty; /* there may be some */
    GW_ARRAY(uint64_t) request, bytes;
    GW_ARRAY(uint32_t) index, rank, value_size;
    GW_ARRAY(uint8_t) values;
};

/* Rows of an `assign`. */
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

/* What a worker is to be sent at the end of the step. */
struct gw_worker_rows {
    struct gw_assign_rows *assign; /* NULL: it has none to send */
    struct gw_release_rows release;
    struct gw_kill_rows kill;
    bool dirty; /* there may be some */
};

/* The step under way: what came in, and what leaves. */
struct gw_step {
    const struct gw_event *event;
    struct gw_effects *effects;
    bool tokens_kept; /* those of the event: somebody has them now */
    uint64_t number;
    GW_ARRAY(struct gw_worker *) dirty_workers;
    GW_ARRAY(struct gw_session *) dirty_sessions;
    GW_ARRAY(struct gw_assign_rows *) lent_rows, spare_rows; /* see assign.h */
    struct gw_buffer scratch;
};

enum { GW_LOG_USER_BYTES = 61 };

/* Jobs whose lines in the log were too many; see log.h. */
struct gw_log_jobs {
    uint64_t since_ns; /* the second of which they are begins */
    uint32_t said;     /* lines in it */
    uint32_t jobs;     /* that have none */
    uint64_t tasks, latest;
    char user[GW_LOG_USER_BYTES]; /* the client of the latest; cut off */
    bool named;                   /* it tells its user */
};

#endif
