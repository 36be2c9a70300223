/* The core of the scheduler: it makes all decisions, and does no input or output. See DESIGN, "The
 * two pure cores". */
#ifndef GW_SCHEDULER_CORE_SCHED_H
#define GW_SCHEDULER_CORE_SCHED_H

#include "graph/base/sm.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/account_config.h"
#include "scheduler/core/model/options.h"

#include <gangway/value.h>

struct gw_sched;

/* gw_sched_new makes a core. The core aborts the process if memory runs out. */
struct gw_sched *gw_sched_new(const struct gw_sched_options *options);
void gw_sched_free(struct gw_sched *sched);

/* gw_sched_step handles one event and fills `effects` with its effects (the list is emptied first).
 * It returns 0, or GW_EPROTO if a peer violated the protocol in a way that only the core can
 * detect. In this case the step changed nothing, and the driver closes the connection to that peer,
 * so that a CLOSE event follows. */
int gw_sched_step(struct gw_sched *sched, const struct gw_event *event, struct gw_effects *effects);

/* gw_sched_policy_set makes a scheduler follow a policy from its next step on, which is due at once
 * (gw_sched_deadline_ns); NULL: none. The policy is copied. It is not durable: the caller gives it
 * again at each start. Usage is durable and stays. Jobs keep the accounts and queues that they were
 * submitted with, if these still exist, and else belong to the account of their user. Call it
 * between two steps. Returns 0, or GW_EINVAL with the text of gw_account_config_check; then the
 * scheduler follows the policy that it had. */
int gw_sched_policy_set(struct gw_sched *sched, const struct gw_cluster_policy *policy,
                        struct gw_error *error);

/* Limits that may change while a scheduler runs. */
struct gw_sched_limits {
    uint64_t pure_bytes_max, scattered_bytes_max; /* as in struct gw_sched_options */
    uint32_t history_jobs;
};

/* gw_sched_term_limit makes new limits count from the next step on. Data above a lower
 * limit stay until something is added. Call it between two steps. */
void gw_sched_term_limit(struct gw_sched *sched, const struct gw_sched_limits *limits);

/* gw_sched_deadline_ns returns the latest time at which the core needs a TICK event, or UINT64_MAX
 * if it needs none. */
uint64_t gw_sched_deadline_ns(const struct gw_sched *sched);

/* gw_sched_check asserts every invariant of the state. */
void gw_sched_check(const struct gw_sched *sched);

/* gw_sched_query answers a query of a client ("status", "jobs", "job", "tasks", "workers",
 * "actors", "explain", ...). The caller must unref the answer. The function only reads the state.
 * It returns GW_ENOENT if the job does not exist, or GW_EINVAL if the query does not exist.
 * gw_sched_step calls it for query messages. */
int gw_sched_query(const struct gw_sched *sched, const char *what, const struct gw_value *arguments,
                   struct gw_value **answer, struct gw_error *error);

/* gw_sched_job_uses_files returns true if a job that uses these files has not ended, or if its
 * client may still want its results. Then a lost result may have to be computed again. */
bool gw_sched_job_uses_files(const struct gw_sched *sched, struct gw_bin hash);

/* gw_sched_job_names_content returns true if any job, also an ended one, names this program or
 * these files. gw_sched_job_knows returns true if a job with this id exists. */
bool gw_sched_job_names_content(const struct gw_sched *sched, struct gw_bin hash);
bool gw_sched_job_knows(const struct gw_sched *sched, uint64_t job);

/* gw_sched_workers_known counts the workers that take part in the cluster: those that are ready,
 * and those that are rejoining and whose registration is on disk. */
uint32_t gw_sched_workers_known(const struct gw_sched *sched);

/* gw_sched_has_worker returns true if one of these workers has this name. */
bool gw_sched_has_worker(const struct gw_sched *sched, const char *name);

/* gw_sched_remote_user returns the name of the user as whom a connected client acts (borrowed, or
 * in `text`); "" if the peer is unknown. For a client inside a task it is the user of the task's
 * job.
 */
enum { GW_REMOTE_USER_BYTES = 16 };
const char *gw_sched_remote_user(const struct gw_sched *sched, gw_peer peer,
                                 char text[GW_REMOTE_USER_BYTES]);

/* gw_sched_term returns the number of the current term. For a core that was restored but not
 * started, this is the number of the previous term, or 0 if there was none. */
uint64_t gw_sched_term(const struct gw_sched *sched);

/* gw_sched_durable_restore applies durable facts (the bytes of COMMIT effects, in order) to a new
 * core. A START event follows. Returns GW_ECORRUPT if the bytes are not valid facts. */
int gw_sched_durable_restore(struct gw_sched *sched, const void *bytes, size_t size);

/* gw_sched_compact appends to `out` only the facts that still have an effect. Restoring them gives
 * the same state as restoring all of `facts`. Returns GW_ECORRUPT if the bytes are not valid facts.
 */
int gw_sched_compact(const struct gw_buffer *facts, struct gw_buffer *out);

/* gw_sched_durable_dump appends the durable state in a canonical form: equal states give equal
 * bytes. */
void gw_sched_durable_dump(const struct gw_sched *sched, struct gw_buffer *out);

/* gw_sched_ends returns true if the cluster is shutting down. */
bool gw_sched_ends(const struct gw_sched *sched);

/* gw_sched_check_machine returns state machine number i of the core, or NULL if i is too large. A
 * caller that wants to count transitions sets .taken before the first step. */
struct gw_sm *gw_sched_check_machine(size_t i);

/* gw_sched_idle_since_ns returns the time since which no job is unfinished and no client is
 * connected, or UINT64_MAX if the scheduler is not idle. */
uint64_t gw_sched_idle_since_ns(const struct gw_sched *sched);

#endif
