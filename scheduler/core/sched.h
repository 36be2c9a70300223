/* The scheduler's core: every decision, no input or output. See DESIGN: "The two pure cores". */
#ifndef GW_SCHEDULER_CORE_SCHED_H
#define GW_SCHEDULER_CORE_SCHED_H

#include "graph/base/sm.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/options.h"

#include <gangway/value.h>

struct gw_sched;

/* gw_sched_new makes a core; aborts when out of memory, as all of the core does. */
struct gw_sched *gw_sched_new(const struct gw_sched_options *options);
void gw_sched_free(struct gw_sched *sched);

/* gw_sched_step takes one event and gives the effects that follow from it (the list is emptied
 * first). 0, or GW_EPROTO where a peer broke the protocol in a way that only the state shows: the
 * driver then closes that peer, and CLOSE follows; nothing else was changed. */
int gw_sched_step(struct gw_sched *sched, const struct gw_event *event, struct gw_effects *effects);

/* gw_sched_deadline_ns is when it wants a TICK at the latest; UINT64_MAX: never. */
uint64_t gw_sched_deadline_ns(const struct gw_sched *sched);

/* gw_sched_check walks every invariant and asserts it. */
void gw_sched_check(const struct gw_sched *sched);

/* gw_sched_query answers a client's `query` message ("status", "jobs", "job", "tasks", "workers",
 * "actors", "explain") as a value to be unref'd; reads only. GW_ENOENT (no such job), GW_EINVAL (no
 * such query). gw_sched_step calls it for query messages. */
int gw_sched_query(const struct gw_sched *sched, const char *what, const struct gw_value *arguments,
                   struct gw_value **answer, struct gw_error *error);

/* gw_sched_job_uses_files tells whether a job names these files that has not ended, or whose client
 * may still want its results: then they may have to be made again. */
bool gw_sched_job_uses_files(const struct gw_sched *sched, struct gw_bin hash);

/* gw_sched_job_names_content tells whether a job, ended ones included, names this program or these
 * files; gw_sched_job_knows, whether there is a job of this id. */
bool gw_sched_job_names_content(const struct gw_sched *sched, struct gw_bin hash);
bool gw_sched_job_knows(const struct gw_sched *sched, uint64_t job);

/* gw_sched_workers_known counts the workers that take part: they said what they have, and where
 * workers are kept that is on disk. Those that end what they ran before are among them. */
uint32_t gw_sched_workers_known(const struct gw_sched *sched);

/* gw_sched_has_worker tells whether one of those has this name. */
bool gw_sched_has_worker(const struct gw_sched *sched, const char *name);

/* gw_sched_term is the number of this life; of a core that was restored and not started, of the
 * life before; 0: there was none. */
uint64_t gw_sched_term(const struct gw_sched *sched);

/* gw_sched_durable_restore applies durable facts, the bytes of COMMIT effects in their order, to a
 * new core; START follows. GW_ECORRUPT where the bytes are not facts. */
int gw_sched_durable_restore(struct gw_sched *sched, const void *bytes, size_t size);

/* gw_sched_compact appends to `out` those of the facts that still say something: restored, they
 * give the state that all of them give. GW_ECORRUPT where the bytes are not facts. */
int gw_sched_compact(const struct gw_buffer *facts, struct gw_buffer *out);

/* gw_sched_durable_dump appends the durable state in one form: equal bytes, equal states. */
void gw_sched_durable_dump(const struct gw_sched *sched, struct gw_buffer *out);

/* gw_sched_ends tells whether it was told to end all work, and to exit then. */
bool gw_sched_ends(const struct gw_sched *sched);

/* gw_sched_check_machine returns table i of the core's state machines, NULL behind the last;
 * whoever wants counts sets .taken before the first step. */
struct gw_sm *gw_sched_check_machine(size_t i);

/* gw_sched_idle_since_ns: since when no job is unfinished and no client is connected; UINT64_MAX
 * when it is not idle. */
uint64_t gw_sched_idle_since_ns(const struct gw_sched *sched);

#endif
