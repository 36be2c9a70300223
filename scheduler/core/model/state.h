/* The state of the scheduler's core. Only files of scheduler/core use this header.
 *
 * Only the files of model/ change this state: appliers of facts (fact.h), and mutators that make
 * one assignment each. Pointers to jobs, workers, sessions, remotes, resource classes (struct
 * gw_resource_class) and gangs stay valid while the object exists. Attempts, objects and holders
 * are named by their index into a table, because these tables move when they grow. */
#ifndef GW_SCHEDULER_CORE_STATE_H
#define GW_SCHEDULER_CORE_STATE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/strmap.h"
#include "graph/wire/enums.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/adopted.h"
#include "scheduler/core/model/attempts.h"
#include "scheduler/core/model/bits.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/jobs.h"
#include "scheduler/core/model/limits.h"
#include "scheduler/core/model/logged.h"
#include "scheduler/core/model/objects.h"
#include "scheduler/core/model/options.h"
#include "scheduler/core/model/outgoing.h"
#include "scheduler/core/model/parted.h"
#include "scheduler/core/model/peers.h"
#include "scheduler/core/model/preemption.h"
#include "scheduler/core/model/pures.h"
#include "scheduler/core/model/queues.h"
#include "scheduler/core/model/reserved.h"
#include "scheduler/core/model/spans.h"
#include "scheduler/core/model/states.h"
#include "scheduler/core/model/workers.h"

#include <assert.h>

/* A block of rows of a range. */
struct gw_stub {
    uint64_t job;
    uint32_t block;
};

/* An event whose fact may not be committed yet. */
struct gw_event_waiting {
    uint64_t number, fact;
};

/* Number of tasks by state, including rows of ranges that were not created. */
struct gw_tally {
    uint64_t unfinished, done, failed, cancelled;
};

struct gw_sched {
    struct gw_sched_options options;
    uint64_t term, now_ns, wall_ns, start_ns, idle_since_ns;
    uint64_t next_remote, next_job, job_ids_upto, next_relay;
    struct gw_history history;
    uint32_t next_worker;

    struct gw_map users;                 /* uid -> name, owned */
    struct gw_accounts *accounts;        /* the policy, see account.h; NULL: none */
    struct gw_strmap usages;             /* "account/user" -> durable usage, see account.c */
    struct gw_map remotes, worker_names; /* gw_peer.id -> struct gw_remote *; worker id -> name */
    struct gw_session *sessions;
    uint32_t session_count;
    struct gw_map jobs;     /* id -> struct gw_job * */
    struct gw_map job_keys; /* user and key -> job id, see jobs/job.h */
    struct gw_job *first_job, *last_job;
    struct gw_ended_jobs ended, retained;
    uint32_t job_count, unended_jobs;
    uint32_t values;       /* jobs that hold a scattered value */
    struct gw_tally tally; /* of all jobs */

    GW_ARRAY(struct gw_worker *) workers; /* by worker slot; NULL: free */
    GW_ARRAY(struct gw_worker *) by_free; /* ready workers by number of free slots */
    uint32_t free_max;                    /* no worker has more free slots than this */
    uint64_t workers_epoch;               /* incremented when a worker becomes ready or is lost */
    uint32_t workers_ready, slots, slots_free, gpus, gpus_free, instances_free;
    uint32_t slots_open; /* free slots that are not kept for a reservation */
    GW_ARRAY(struct gw_resource_class *) shapes; /* by id; NULL: free */
    uint32_t shapes_count;
    struct gw_strmap names; /* of workers and hosts that were ever ready */
    bool freed; /* true: since the last placement, resources became free or tasks became ready */
    uint64_t score_epoch;
    GW_ARRAY(struct gw_worker *) frontiers; /* to be handled in this step */
    /* Ring of worker queues whose debits are held only by pipelined attempts. */
    struct gw_worker_queue *idle_queues;

    GW_ARRAY(struct gw_attempt) attempts;
    uint32_t free_attempt;
    struct gw_map gangs; /* attempt id -> struct gw_gang_attempt * */
    struct gw_gang_attempt *preparing, *preparing_last;
    GW_ARRAY(struct gw_quarantine) quarantines;
    GW_ARRAY(struct gw_parting) partings;
    struct gw_queue *ageing, *ageing_last; /* waiting gangs, by ages_ns */
    uint64_t elastic_ns;                   /* next end of a gang's wait for all ranks; 0: none */
    struct gw_reservation reservations[GW_RESERVATIONS];
    uint32_t reserved; /* the set of those that exist */
    struct gw_preemptions preemptions;
    GW_ARRAY(struct gw_object) objects;
    uint32_t free_object;
    GW_ARRAY(struct gw_holder) holders;
    uint32_t free_holder;
    struct gw_scattered scattered; /* total */

    /* Notes: possible consequences of facts, to be handled before the step ends. A note may be
     * outdated. */
    struct gw_actor *actors, *actors_last; /* list of all actors, oldest first (not a note) */
    GW_ARRAY(struct gw_actor *) touched;   /* actors whose state may change */
    GW_ARRAY(struct gw_actor *) callable;  /* actors that may have a call to place */
    GW_ARRAY(struct gw_row) doomed;        /* a dependency failed */
    GW_ARRAY(struct gw_row) idle;          /* done, and the result may not be needed any more */
    GW_ARRAY(struct gw_row) lost;          /* done, but the result was lost */
    GW_ARRAY(struct gw_row) reopened;      /* may be ready or doomed */
    GW_ARRAY(struct gw_row) unwanted;      /* may not be needed any more */
    GW_ARRAY(struct gw_row) retried;       /* failed, and needed again by a retried task */
    GW_ARRAY(struct gw_job *) ending;      /* jobs whose tasks have all ended */
    GW_ARRAY(uint64_t) hungry;             /* ids of ranges that may create more rows */
    GW_ARRAY(struct gw_stub) stubs;        /* blocks of ranges whose rows are all closed */
    GW_ARRAY(uint64_t) ungated;            /* ids of jobs that may start now, or never */
    GW_ARRAY(gw_peer) orphaned;            /* clients inside attempts that have ended */
    GW_ARRAY(uint64_t) aging;              /* ids of ended jobs of which something may be freed */
    GW_ARRAY(uint64_t) revisited;          /* ids of jobs whose pending requests may be answered */
    GW_ARRAY(uint64_t) nameless;           /* ids of jobs whose names end with them */
    GW_ARRAY(uint64_t) followed;           /* ids of jobs with pending requests that were placed */
    GW_ARRAY(struct gw_delay) delays;      /* a heap by due_ns */

    struct gw_map pending_requests; /* relay -> struct gw_pending_request * */
    struct gw_map replicas;         /* index of a copying holder -> struct gw_replica * */
    struct gw_map tunnels;          /* number -> struct gw_tunnel * */
    uint32_t tunnels_waiting;
    uint64_t next_tunnel;

    struct gw_strmap syncs; /* "uid kind name" -> struct gw_sync * */
    struct gw_sync *first_sync, *last_sync;
    struct gw_map sync_names;                         /* uid -> number of its names */
    GW_ARRAY(struct gw_sync_waiter *) sync_deadlines; /* a heap */
    uint64_t fence;                                   /* fence number of the latest lease */
    uint64_t sync_bytes;
    struct gw_strmap published; /* "uid/name" -> struct gw_share * */
    struct gw_pures pures;

    struct gw_map adopted; /* attempt id of an earlier term -> its place */
    uint32_t late_claims;  /* number of late claims of all workers */
    uint32_t ends_coming;  /* attempts that were adopted as ended and not reported yet */
    struct gw_hold hold;

    /* Numbers of reports and ends of jobs; see jobs/event_number.h. */
    uint64_t event_number; /* of the last one */
    GW_ARRAY(struct gw_event_waiting) events_waiting;

    struct gw_buffer commit; /* durable facts of this step */
    uint64_t facts, committed;
    bool restoring, commit_urgent; /* urgent: some facts of `commit` are no reports of metrics */
    GW_ARRAY(struct gw_announcement) announcements;
    GW_ARRAY(struct gw_acknowledgement) acknowledgements; /* waiting for their commit */

    struct gw_event_log event_log;
    struct gw_log_jobs log_jobs;
    char no_room[400];     /* why no detached job is accepted; empty: accepted */
    char lost_worker[240]; /* text about the last lost worker */
    uint64_t lost_worker_ns;
    struct gw_lost_workers *disconnected;   /* workers that may reconnect; NULL: none */
    uint32_t leaving;                       /* number of workers in the state SHUTTING_DOWN */
    uint64_t leave_look_ns;                 /* when to check again whether they may end */
    struct gw_gpus_left *gpus_left;         /* see gpu_twin.c; NULL: none */
    struct gw_gpu_drains *gpu_drains;       /* see gpu_drain.c; NULL: none */
    struct gw_worker_drains *worker_drains; /* see worker_drain.c; NULL: none */
    struct gw_clock_trouble clock_trouble;  /* see worker_drain.h */
    uint64_t beat_ns;                       /* time of the next heartbeats */
    gw_peer shutdown_peer;
    uint64_t shutdown_request, shutdown_deadline_ns, shutdown_grace_ns;
    uint32_t shutdown_workers; /* the shutdown waits for workers with ids below this */
    bool shutting_down, exited;
    struct gw_step step;
};

#endif
