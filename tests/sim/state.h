/* The state of a simulated world: work, network, hosts, clients, and the world itself. */
#ifndef GW_TESTS_SIM_STATE_H
#define GW_TESTS_SIM_STATE_H

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/sm.h"
#include "graph/wire/enums.h"
#include "graph/wire/step.h"
#include "graph/wire/timeouts.h"
#include "scheduler/core/sched.h"
#include "tests/sim/fault.h"
#include "tests/sim/planted.h"
#include "worker/core/node.h"

#include <gangway/options.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOSTS_MAX = 4,
    CLIENTS_MAX = 6,
    CLIENTS_FIRST = 3, /* at most; others connect after the scheduler has died */
    DEPS_MAX = 8,
    RANKS_MAX = 6,
    TOKENS_MAX = 64,
    STEPS_MAX = 40000, /* worlds that end need about 5,000 */
    BLOCK = 4,         /* number of rows of a range that are freed together */
};
#define MS GW_NS_PER_MS
#define SECOND GW_NS_PER_S

struct sim;

/* -- Work ----------------------------------------------------------------------------------------
 */

struct dep {
    struct work *on;
    uint32_t rank; /* a rank, or GW_DEP_ALL, GW_DEP_AFTER */
};

/* The GPUs that each rank of a task needs: GW_GPU_IF_ANY, one, or a fraction of one. */
enum { WORK_GPU_IF_ANY = 1, WORK_GPU, WORK_GPU_FRACTION };

/* Bugs that show only in gangs. */
#define SIM_PLANTED_IN_GANGS                                                                       \
    (GW_PLANTED(191) || GW_PLANTED(194) || GW_PLANTED(281) || GW_PLANTED(310) ||                   \
     GW_PLANTED(340) || GW_PLANTED(740) || GW_PLANTED(752))

/* Bugs that show only if workers offer the same GPUs. */
#define SIM_PLANTED_IN_TWINS GW_PLANTED(701)

/* How the task ended according to its client. */
enum told { TOLD_NOTHING, TOLD_DONE, TOLD_FAILED };

/* A task: its properties, its behaviour and its history. */
struct work {
    uint64_t id;
    struct sim_job *job;
    uint32_t row, ranks, slots, gpus, retries;
    uint32_t kind; /* enum gw_spec_kind */
    struct dep deps[DEPS_MAX];
    uint32_t dep_count;
    uint64_t inputs; /* of a stencil, which has too many paths to follow: the result of
                        sim_work_inputs; else 0 */
    uint64_t run_ns, time_limit_ns, bytes;
    uint32_t fails, crashes; /* number of its first attempts that fail */
    bool oom, hangs, deaf, orphans, infeasible;
    struct work *twin_of; /* first task with the same arguments, which runs instead; or NULL */
    uint32_t collectives;
    bool makes_actor;
    uint32_t lives;        /* of an actor: how often its creating task finished */
    struct work *calls;    /* the actor of this call; NULL: not a call */
    uint32_t begun, given; /* how often a call began, and was sent to a runner */
    bool target, held;
    uint32_t children; /* number of tasks that it submits */
    uint32_t depth;    /* depth of nesting */
    bool leaves;       /* the task does not wait for its children */
    bool cancelled;    /* somebody cancelled it, or a task that it depends on */
    uint32_t started, ended_well, gangs, deaths;
    uint32_t strangers; /* number of attempts whose port a stranger took */
    enum told told;
    uint64_t released_ns; /* time at which its future was released */
    bool retried;
    uint32_t ranks_told; /* bit mask of ranks */
    int32_t code;
    uint32_t licenses, tapes; /* named resources per rank */
    char on[48];              /* names of workers or hosts */
    bool prefers;
    uint64_t backoff_ns, inactivity_timeout_ns;
    uint32_t worker_losses_max, preemptions_max; /* 0: the default */
    uint32_t resumed; /* the attempt from whose checkpoint the latest attempt continued, counted
                         from 1 */
    uint64_t hang_timeout_ns;
    uint32_t min_ranks, world; /* 0: all ranks; ranks of the latest attempt */
    uint64_t full_size_timeout_ns;
    uint32_t blamed;      /* bit mask of ranks that hung in some attempt */
    uint32_t preempted;   /* number of requested preemptions */
    bool stop, pausing;   /* stop: a stop was requested; pausing: a rank has returned for a pause */
    bool files;           /* the task runs in a folder with files */
    bool talks;           /* the task writes output all the time */
    uint64_t failed_ns;   /* time of its last own failure that was reported on failed_conn; or 0 */
    uint64_t failed_conn; /* id of that connection */
    uint64_t asked, asked_codes; /* number of the search, and error codes that it visited */
};

struct sim_job {
    struct client *client;
    uint64_t request, id;
    uint64_t promised; /* id, set when the scheduler sends it */
    bool detached, accepted, rejected, infeasible, waited, cancelled, scattered, pure;
    bool paused;             /* according to its client */
    bool holds[CLIENTS_MAX]; /* of an actor: clients that know they have a handle */
    bool held_once;
    bool range, stop;         /* a range; stop: it ends at its first failure */
    bool stream, opened, bad; /* bad: one of its chunks is invalid */
    uint32_t ahead, limit;
    uint32_t made;         /* tasks of a range that exist (an upper bound until it ends) */
    struct sim_job *after; /* the job before this one, or NULL */
    bool after_any, again; /* again: one of its tasks was retried */
    bool whole_again; /* of a range: all unfinished tasks were retried, and nothing was reported
                         since */
    bool
        cancelled_since; /* of a range: a cancel was sent after the last retry of the whole range */
    uint32_t sent;       /* number of rows sent */
    uint32_t specs_sent;
    GW_ARRAY(struct work *) work;
};

/* -- Network -------------------------------------------------------------------------------------
 */

/* A message on its way. For a descriptor only its content matters, not its number. */
struct packet {
    uint8_t *bytes;
    size_t size;
    uint64_t tokens[TOKENS_MAX];
    uint32_t token_count;
    bool urgent; /* may overtake other packets */
};

enum side { SIDE_SCHED, SIDE_HOST, SIDE_CLIENT };

struct end {
    enum side side;
    struct host *host;
    struct client *client;
    uint64_t incarnation; /* incarnation of the host */
    uint64_t peer;        /* name of the peer in this side's core */
    bool open;
    uint64_t last_ns; /* time at which the last packet to it arrives */
};

struct conn {
    uint64_t id;
    struct end ends[2];
    bool cut;
    uint64_t held_until_ns;           /* end of a partition */
    uint64_t held_since_ns;           /* start of this partition, or of directly preceding ones */
    GW_ARRAY(struct packet) queue[2]; /* packets on their way to ends[i], in order */
    size_t lost[2]; /* number of packets that were lost when the connection was replaced */
};

/* -- Hosts ---------------------------------------------------------------------------------------
 */

enum rank_state {
    RANK_STARTING,
    RANK_REPORTED, /* the rank has reported that it is ready */
    RANK_JOINED,   /* the rank has received gang_start */
    RANK_COLLECTIVE,
    RANK_HUNG,
    RANK_DEAF, /* the rank was told to end, and ignores it */
    RANK_EXITED,
};
extern struct gw_sm sim_rank_sm;

struct row {
    uint64_t attempt;
    uint32_t rank;
    struct work *work;
    uint64_t inputs;          /* a hash of its inputs */
    uint64_t takes[DEPS_MAX]; /* earlier attempts of its batch that make its inputs */
    uint32_t take_count;
    uint64_t folder; /* number of its folder; 0: none */
};

/* A runner died with this attempt while it ran `in`, and reported this. */
struct sim_crash {
    uint64_t attempt, in;
};

struct told_folder {
    uint64_t attempt, folder;
};

struct process {
    struct host *host;
    uint64_t id, peer, pid;
    uint64_t behind, begun_ns; /* process before it in the supervisor; 0: none */
    bool runner, alive, up, link_open, hello, executing, reaping, exited_told;
    uint64_t epoch;            /* incremented to cancel planned events */
    GW_ARRAY(struct row) rows; /* received and not reported; the first one runs */
    uint8_t rank_state;
    uint32_t collective;
    uint64_t sent; /* sequence number */
    uint64_t kill_ns;
    uint64_t kill_attempt; /* the attempt that ran when it was told to end */
    struct client *inside; /* the client inside its task; NULL: none */
    bool stopped;
    uint32_t answer;           /* the answer of its last step; SIM_PAUSE: its value is no result */
    bool blocked, woke;        /* its task waits for others; or waited, and runs again */
    struct work *actor;        /* the actor that it holds */
    uint64_t long_attempt;     /* the attempt that last reported that it runs long */
    uint64_t began;            /* the last call that began, or what it ran when it died */
    uint64_t gang, checkpoint; /* gang and checkpoint of its last gang message */
    bool spans;                /* that gang has several workers */
    bool checkpoint_lost;      /* the host of its checkpoint is lost */
    bool transferred;          /* its checkpoint came from another host, or from a copy */
    struct {
        uint64_t job;
        uint32_t row;
    } last[CLIENTS_MAX];         /* last call of each client */
    GW_ARRAY(struct row) unsaid; /* successful attempts that were not reported yet */
    bool letting_go;
    GW_ARRAY(struct told_folder) folders; /* folders of tasks that it has not received yet */
    struct work *command;
    uint32_t gpus; /* bit mask of its GPUs */
    bool shares_gpu;
    uint64_t used_bytes; /* memory in use at the last measurement */
    struct process_memfiles *memfiles;
};

enum { SIM_GPUS = 2, SIM_GPU_NAME = 32 };
struct sim_gpu {
    bool lost, given; /* given: handed out despite memory that is still in use */
    uint32_t xid;     /* an error that was not reported yet */
    uint64_t back_ns; /* time until which some memory stays in use */
};

/* An end of a tunnel. */
struct host_tunnel {
    uint64_t id, attempt;
    uint32_t rank;
};
struct client_tunnel {
    uint64_t request, id; /* id 0: it is not open yet */
    uint64_t said, heard; /* numbers of words */
};
/* A tunnel as the scheduler has announced it; client 0: not announced yet. */
struct sched_tunnel {
    uint64_t id, worker, client; /* connections */
};

/* A checkpoint on a disk: see transfer.c. */
struct sim_saved {
    uint64_t job;
    uint32_t index;
    uint64_t attempt;
    bool copy;
    bool looked; /* a rank 0 that continues from it was told that it exists */
    bool gone;   /* and it was removed after that */
};

/* State of a host that was told to end: see leave.c. */
struct leave {
    bool told, again, exits;
    bool begins;       /* the host is being told for the first time */
    bool alone;        /* the host had no scheduler then */
    bool let;          /* the scheduler allowed it to exit */
    uint64_t until_ns; /* deadline to stay after its tasks have ended; 0: tasks run */
    uint64_t heard;    /* connection on which the scheduler heard this; 0: none */
};

/* Which tasks a host may start when memory is short: see admission.c. */
struct admission {
    uint64_t pause_bytes, own_bytes, bytes; /* pause_bytes 0: no threshold */
    uint64_t over_ns, begun_ns;             /* start of the excess; the last start of a task */
    bool offers;                            /* one more may start, because nothing makes progress */
};

struct host {
    struct sim *sim;
    struct admission admission;
    struct leave leave;
    uint32_t number, slots, gpus;
    struct gw_node_core *core; /* NULL: not running */
    struct gw_effects effects;
    unsigned executing; /* nesting depth of the execution of its effects */
    uint64_t incarnation, next_peer, supervisor_peer, supervisor_sent, tick_ns;
    uint64_t welcomed, welcomed_peer; /* connection of its welcome, and its peer name there */
    uint64_t orphan_ns;               /* how long it stays without a scheduler; 0: for long */
    uint32_t worker;                  /* its worker id */
    bool emptied;                     /* the host has lost checkpoints once */
    struct gw_map files;              /* files on its disk: number -> content */
    uint64_t full_until_ns;           /* until when the disk is full; UINT64_MAX: always */
    bool disk_failed, was_full;       /* was_full: its memory was full, too, before this step */
    bool spills_nothing;              /* its option spills_off is set */
    uint64_t kill_bytes;              /* memory threshold for killing a process; 0: none */
    uint32_t descriptors_max;         /* limit of descriptors of unused results; 0: none */
    uint32_t memory_state;            /* state that it last reported */
    uint64_t log_seen;                /* sequence number of the last message for its driver */
    uint64_t replica_seen; /* sequence number of the last keep message on this connection */
    GW_ARRAY(struct gw_msg_replica_request)
    replica_requests; /* copies that it must make and report */
    GW_ARRAY(struct host_tunnel) tunnels;
    struct conn *scheduler;
    GW_ARRAY(struct process *) processes;
    GW_ARRAY(uint64_t) tokens;        /* tokens that its core owns */
    GW_ARRAY(struct sim_saved) saved; /* checkpoints on its disk */
    GW_ARRAY(uint64_t) folders;       /* numbers of existing folders */
    struct gw_map
        retained_workdirs;       /* folder number -> bytes that were left in it; 0: not reported */
    struct recency *recency;     /* see recency.c; NULL: it has no results */
    struct gw_map cancelled;     /* attempts that it was told to end; see cancelled.c */
    struct gw_map recanted;      /* attempts of calls that it was told to end -> actor */
    struct gw_map leases;        /* attempts of gangs that this host leads */
    GW_ARRAY(struct packet) old; /* sent to the scheduler; may be sent again */
    uint32_t licenses, tapes;    /* named resources that it offers */
    struct sim_gpu gpu[SIM_GPUS];
    GW_ARRAY(struct sim_crash) crashes;
    char name[16], address[16], worker_name[24];
};

/* An attempt of a gang as its ranks see it. */
enum { SIM_PAUSE = 1, SIM_STOP = 2 }; /* values of gw_msg_control.command */

struct gang {
    uint64_t attempt;
    struct work *work;
    uint32_t world, number; /* number: how many attempts came before it */
    uint64_t life;          /* term of the scheduler */
    bool reported[RANKS_MAX], went[RANKS_MAX];
    bool saved;              /* rank 0 has reported a checkpoint */
    const struct host *home; /* the host of that checkpoint, in its incarnation home_life */
    uint64_t home_life;
    bool missing;                  /* the program of a rank is missing on its host */
    bool asked_for_port, stranger; /* rank 0 must bind the port; a stranger has taken it */
    uint32_t doors[RANKS_MAX];     /* doors from the messages to its ranks; 0: none yet */
    uint32_t asked;                /* what rank 0 must answer at its next step */
    struct process *in[RANKS_MAX]; /* ranks in collective number `at` */
    uint32_t at;
};

/* -- Clients -------------------------------------------------------------------------------------
 */

/* A future of a task that was looked up. */
struct share {
    uint64_t request;
    struct work *promised,
        *work; /* the task as sent, and as received; NULL: not yet, or not found */
    bool dropped;
    enum told told;
    uint32_t ranks_told;
};

struct client {
    struct sim *sim;
    uint32_t number, uid;
    struct gw_map syncing; /* request -> kind << 8 | verb */
    uint32_t leases;       /* leases that it was granted and has not released */
    uint64_t version;      /* latest version of the variable that it received */
    uint64_t fence;        /* number of its latest lease */
    bool opened, opened_queue, ended;
    struct process *process;     /* the process that it is inside of; NULL: none, or it has ended */
    struct work *work;           /* the task that the process runs */
    uint64_t epoch;              /* epoch of the process */
    int32_t execution;           /* attempt number of the task */
    bool alive, welcomed, quiet; /* quiet: it submits no more */
    struct conn *conn;
    uint64_t term, session, sent, next_request;
    GW_ARRAY(struct sim_job *) jobs;
    uint32_t to_submit;
    uint64_t seen;              /* last sequence number */
    struct gw_map calls;        /* request -> type of the answer */
    struct gw_map fetching;     /* request -> work id << 8 | rank */
    struct gw_map retrying;     /* request -> work id */
    struct gw_map cancelling;   /* request -> index in jobs << 32 | row; see acknowledgement.c */
    struct gw_map ranges_again; /* request -> index of a job; see range.c */
    struct gw_map replicating;  /* request -> work id << 8 | copies */
    GW_ARRAY(struct share *) shares;
    GW_ARRAY(struct client_tunnel) tunnels;
    struct gw_map waiting;     /* request -> index in jobs, for waits for a range */
    struct gw_map holding;     /* request -> work id of an actor */
    struct gw_map trespassing; /* requests that must be refused */
    bool admin;
    bool retried; /* the client has retried a task */
};

/* -- The world -----------------------------------------------------------------------------------
 */

struct plan {
    uint64_t at_ns, order;
    void (*run)(struct sim *sim, void *arg);
    void *arg;
    void (*drop)(struct sim *sim,
                 void *arg); /* frees arg if the event is dropped; NULL: nothing to free */
};

struct sim {
    uint64_t seed, random, now_ns, order, steps;
    bool log, healed, revoking;
    bool committed;              /* this step of the scheduler sends what waited for a commit */
    GW_ARRAY(struct plan) plans; /* a heap */

    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t sched_tick_ns;
    GW_ARRAY(uint64_t) sched_tokens;
    struct gw_buffer facts;   /* all durable facts, in the order of their emission */
    uint64_t facts_committed; /* size of the committed facts */
    uint64_t commit_ns, life; /* time of the last pending commit; term of the scheduler */
    struct sim_scheduler_crash
        *crash_state; /* see crash_time.h; NULL: the scheduler has not died */
    void (*crash)(struct sim *, void *), (*crash_now)(struct sim *, void *); /* see crash.h */
    struct sim_recovery *recovery;           /* see recovery.c; NULL: the scheduler has not died */
    struct crowd *crowd;                     /* see crowd.c; NULL: another kind of world */
    struct sim_reports *reports;             /* see reports.c; NULL: none yet */
    struct sim_charges *charges;             /* see charge.c; NULL: nothing was decided yet */
    struct sim_revocations *revocations;     /* see revocation.c; NULL: none */
    struct sim_asks *asks;                   /* see ask.c; NULL: no stop was requested */
    struct sim_pauses *pauses;               /* see pause.c; NULL: no job is paused */
    struct sim_worker_drains *worker_drains; /* see worker_drain.c; NULL: none is drained */
    struct sim_drains *drains;               /* see drain.c; NULL: no GPU was drained */
    struct sim_quarantine *quarantine;       /* see quarantine.c; NULL: there was no gang */
    struct sim_preemptions *preemptions;     /* see preemption.c; NULL: there are no accounts */
    struct sim_parting *parting;             /* see parting.c; NULL: all hosts reach each other */
    GW_ARRAY(struct conn *) conns;

    struct host hosts[HOSTS_MAX];
    uint32_t host_count, client_count;
    struct ledger *ledger; /* see ledger.c, limit.c, again.c */
    struct limits *limits;
    struct memfiles *memfiles;
    struct again *again;
    struct client clients[CLIENTS_MAX];
    GW_ARRAY(struct client *) insiders; /* clients inside tasks, also after their end */
    uint64_t next_put;                  /* number of values put into the queue */
    struct gw_map got;                  /* values that were taken from the queue */
    struct gw_map fences;               /* numbers of leases */
    uint32_t yielded_max;               /* limit for every worker; 0: the default */
    GW_ARRAY(struct work *) work;       /* indexed by id - 1 */
    GW_ARRAY(struct sim_job *) jobs;
    struct gw_map spread;    /* attempts whose checkpoint also exists elsewhere; see leave.c */
    struct gw_map assigned;  /* attempt -> time of its assign */
    struct gw_map calls_out; /* attempt of a call -> its actor; see recant.c */
    struct gw_map across;    /* attempts prefetched to slots of another size */
    struct gw_map contents;  /* token -> hash of its content */
    struct gw_map sizes;     /* token -> bytes */
    struct gw_map worlds;    /* attempt of a gang -> its number of ranks */
    uint64_t next_conn, next_token, next_pid;
    GW_ARRAY(struct gang *) gangs;
    GW_ARRAY(struct sched_tunnel) tunnels;
    bool some_did_not_start, some_refused;
    uint64_t faults[FAULT_COUNT]; /* number of times that each fault happened in this seed */
    uint32_t worker_losses;
    uint64_t asked; /* number of searches for the reason of a failure */
    uint64_t healed_ns;
    uint64_t retried_ns; /* time at which a client last retried a failed task and its needs */
};

#endif
