/* The simulator: one scheduler core, several worker cores, and a simulated environment for them.
 *
 * A seed determines everything that happens in a world, so a failure can be replayed by its seed.
 * Seeds share nothing except the counters. */
#ifndef GW_TESTS_SIM_H
#define GW_TESTS_SIM_H

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

extern uint64_t sim_faults[FAULT_COUNT];

/* -- sim.c */
uint64_t sim_random(struct sim *sim);
uint64_t sim_below(struct sim *sim, uint64_t n); /* a number from 0 to n - 1 */
bool sim_chance(struct sim *sim, uint32_t percent);
uint64_t sim_hash(uint64_t a, uint64_t b);
void sim_plan(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg);
void sim_plan_own(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg,
                  void (*drop)(struct sim *, void *));
void sim_drop(struct sim *sim, void *arg); /* frees arg */
void sim_fault(struct sim *sim, enum fault fault);
void sim_log(struct sim *sim, const char *format, ...) GW_PRINTF(2, 3);
void sim_fail(struct sim *sim, const char *format, ...) GW_PRINTF(2, 3) __attribute__((noreturn));
#define SIM_CHECK(sim, condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            sim_fail((sim), __VA_ARGS__);                                                          \
    } while (0)

/* -- world.c: one seed */
void sim_run(uint64_t seed, bool log);
/* Functions that other worlds use, too: start the scheduler; add a host, which has only slots
 * unless it was given more before; run the next planned event (false: there is none); free
 * everything. */
void sim_world_begin(struct sim *sim);
void sim_world_host(struct sim *sim, uint32_t number, uint32_t slots);
bool sim_next(struct sim *sim);
void sim_world_free(struct sim *sim);
/* sim_sched_step passes an event to the scheduler and executes its effects. */
int sim_sched_step(struct sim *sim, struct gw_event *event);

/* -- net.c */
struct conn *sim_connect(struct sim *sim, struct end a, struct end b);
void sim_send(struct sim *sim, struct conn *conn, int from, const struct gw_effect *effect);
void sim_close(struct sim *sim, struct conn *conn, int from); /* closes a connection by one side */
void sim_cut(struct sim *sim, struct conn *conn);
/* sim_hold makes a connection deliver nothing until until_ns. */
void sim_hold(const struct sim *sim, struct conn *conn, uint64_t until_ns);
/* sim_reconnect_given_up checks that a worker has a reason to give up its connection to the
 * scheduler.
 */
void sim_reconnect_given_up(struct sim *sim, const struct conn *conn);
struct conn *sim_conn_of(struct sim *sim, enum side side, const void *owner, uint64_t peer,
                         int *end);
uint64_t sim_token(struct sim *sim, uint64_t content, uint64_t bytes);
uint64_t sim_token_dup(struct sim *sim, uint64_t token);
void sim_token_drop(struct sim *sim, uint64_t token);
uint64_t sim_token_content(struct sim *sim, uint64_t token);
struct packet sim_pack(struct sim *sim, const struct gw_message *message, const uint64_t *tokens,
                       uint32_t token_count);
void sim_packet_free(struct sim *sim, struct packet *packet, bool drop_tokens);
void sim_conns_free(struct sim *sim);
void sim_net_faults(struct sim *sim);
/* sim_reconnect cuts a worker's connection and replaces it by a new one. */
void sim_reconnect(struct sim *sim);

/* -- host.c */
void sim_host_start(struct sim *sim, struct host *host);
void sim_host_kill(struct sim *sim, struct host *host);
/* sim_host_is_heard returns true if a message came on the worker's current connection, and not on
 * an earlier one or in another term of the scheduler. */
bool sim_host_is_heard(const struct sim *sim, const struct host *host,
                       const struct gw_message *message);
/* sim_host_end: the host exits by itself and starts again in a new incarnation. */
void sim_host_end(struct sim *sim, struct host *host);
int sim_host_step(struct sim *sim, struct host *host, struct gw_event *event);
void sim_host_queue(struct sim *sim, struct host *host);
void sim_host_connect(struct sim *sim, struct host *host);
/* sim_host_log answers a log_read, as worker/net does. */
void sim_host_log(struct sim *sim, struct host *host, const struct gw_message *read);
void sim_host_free(struct sim *sim, struct host *host);

/* -- lease.c */
void sim_lease_open(struct host *host, uint64_t attempt);
void sim_lease_unbind(struct sim *sim, struct host *host, uint64_t attempt);
void sim_lease_close(struct host *host, uint64_t attempt);

/* -- disk.c: a host's disk and memory */
void sim_disk_execute(struct sim *sim, struct host *host, const struct gw_effect *effect);
void sim_disk_told(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_disk_check(struct sim *sim, const struct host *host);
void sim_disk_stepped(struct sim *sim, struct host *host);
void sim_disk_start(struct sim *sim, struct host *host);
uint64_t sim_disk_declared(const struct sim *sim, const struct work *work);
void sim_disk_check_declared(struct sim *sim, const struct host *host);
void sim_disk_options(struct sim *sim, struct host *host, struct gw_node_options *options);
bool sim_disk_crowded(const struct host *host);

/* -- process.c */
void sim_process_spawn(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn);
void sim_process_reap(struct sim *sim, struct host *host, const struct gw_msg_reap *reap);
/* sim_process_take (runner_inbox.c) delivers a message to a runner. sim_process_went: its rank has
 * received gang_start. */
void sim_process_take(struct sim *sim, struct process *process, const struct gw_effect *effect);
void sim_process_went(struct sim *sim, struct process *process);
void sim_process_free(struct sim *sim, struct process *process);
/* sim_process_output returns how much output the running task has written. */
uint64_t sim_process_output(struct sim *sim, const struct host *host, uint64_t id);
/* sim_process_tell sends a message to the worker. sim_process_pop removes the first row.
 * sim_process_execute starts the next one. */
void sim_process_tell(struct sim *sim, struct process *process, struct gw_message *message,
                      const uint64_t *tokens, uint32_t token_count);
void sim_process_pop(struct process *process);
void sim_process_execute(struct sim *sim, struct process *process);
struct process *sim_process_find(struct host *host, uint64_t pid);
/* sim_process_die makes a process die without a reason. */
void sim_process_die(struct sim *sim, struct process *process);
/* sim_process_say sends a message as a runner. It returns false if the process has ended after that
 * or does something else. sim_process_later runs a function on the process unless its epoch has
 * changed by then. sim_process_anyhow runs it if the process still exists. */
bool sim_process_say(struct sim *sim, struct process *process, struct gw_message *message);
void sim_process_later(struct sim *sim, struct process *process, uint64_t in_ns,
                       void (*run)(struct sim *sim, struct process *process));
void sim_process_anyhow(struct sim *sim, struct process *process, uint64_t in_ns,
                        void (*run)(struct sim *sim, struct process *process));
void sim_process_go_on(struct sim *sim, struct process *process, int32_t execution);

/* -- gpu.c */
/* sim_gpu_spawned records the GPUs of a new process and checks that no other process uses them.
 * sim_gpu_gone releases their memory some time later. */
void sim_gpu_spawned(struct sim *sim, struct process *process, const struct gw_msg_spawn *spawn);
void sim_gpu_gone(struct sim *sim, const struct process *process);
/* Lists the GPUs of a host. names: room for their names. */
void sim_gpu_list(const struct host *host, struct gw_node_gpu *gpus, char (*names)[SIM_GPU_NAME]);
/* GPUs of one machine that several hosts offer have the same name. */
void sim_gpu_name(const struct host *host, uint32_t number, char name[static SIM_GPU_NAME]);
void sim_gpu_start(struct sim *sim, struct host *host); /* a new incarnation: all GPUs work */
bool sim_gpu_may_break(const struct host *host, uint32_t number);
void sim_gpu_faults(struct sim *sim);

/* -- elastic.c */
/* sim_elastic_shape may allow attempts of a gang to have fewer ranks. sim_work_least returns the
 * minimum number of results of a task. sim_elastic_lacks returns true if an attempt of this size
 * has no such rank. sim_elastic_told: a worker has received a gang message. sim_elastic_world
 * returns the number of ranks of an attempt. */
void sim_elastic_shape(struct sim *sim, struct work *work);
uint32_t sim_work_least(const struct work *work);
bool sim_elastic_lacks(const struct work *work, uint32_t rank, uint32_t size);
void sim_elastic_told(struct sim *sim, const struct gw_msg_gang *gang);
uint32_t sim_elastic_world(struct sim *sim, const struct row *row);

/* -- transfer.c */
/* sim_transfer_saved: rank 0 of an attempt has saved. sim_transfer_execute executes
 * CHECKPOINT_TRANSFER, WATCH and UNWATCH. sim_transfer_check: a rank starts; check that it has its
 * checkpoint. */
void sim_transfer_saved(struct process *process, uint64_t attempt);
void sim_transfer_execute(struct sim *sim, struct host *host, const struct gw_effect *effect);
void sim_transfer_check(struct sim *sim, const struct process *process);

/* -- gang.c */
struct gang *sim_gang_of(struct sim *sim, const struct row *row);
/* sim_gang_resume checks the checkpoint from which an attempt will continue. */
void sim_gang_resume(struct sim *sim, const struct row *row, const struct process *process);
/* sim_gang_save: rank 0 of a function saves at times, between collectives. sim_gang_asked records
 * what rank 0 must answer. sim_gang_pause reports that a rank returns for a pause. The functions
 * return false if the process has ended after its report. */
bool sim_gang_save(struct sim *sim, struct process *process);
void sim_gang_asked(struct sim *sim, const struct process *process,
                    const struct gw_msg_control *control);
bool sim_gang_pause(struct sim *sim, struct process *process);
void sim_gang_told(struct process *process, const struct gw_msg_gang *told);
void sim_gang_went(struct sim *sim, const struct row *row);
void sim_gang_leave(struct sim *sim, const struct process *process);
uint32_t sim_gang_abort(struct sim *sim, uint64_t attempt);
void sim_gangs_free(struct sim *sim);

/* -- hang.c */
void sim_hang_survey(struct sim *sim, struct host *host, const struct gw_effect *effect);
bool sim_hang_stops(struct sim *sim, struct process *process);
void sim_hang_told(struct sim *sim, const struct work *work, const char *text);

/* -- actor.c: processes, clients and jobs of actors */
void sim_actor_make(struct sim *sim, struct client *client);
void sim_actor_act(struct sim *sim, struct client *client);
void sim_actor_finish(struct sim *sim, struct client *client);
/* sim_actor_blocked returns true if, long after the world has healed, a call of the job waits for a
 * task that has not ended. */
bool sim_actor_blocked(const struct sim *sim, const struct sim_job *job);
void sim_actor_accepted(struct sim *sim, struct sim_job *job);
bool sim_actor_hold_answered(struct sim *sim, struct client *client, uint64_t request, bool well);
bool sim_actor_may_fail(struct sim *sim, const struct work *call, int32_t code);
void sim_actor_begin(struct sim *sim, struct process *process);
void sim_actor_say(struct sim *sim, struct process *process);
void sim_actor_called(struct sim *sim, struct process *process);
void sim_actor_ready(struct sim *sim, struct process *process);
void sim_actor_let_go(struct sim *sim, struct process *process);

/* -- client.c */
struct sim_job *sim_client_job(struct sim *sim, const struct client *client, uint64_t request);
void sim_client_start(struct sim *sim, struct client *client);
void sim_client_take(struct sim *sim, struct client *client, const struct gw_message *message,
                     const struct packet *packet);
void sim_client_closed(struct sim *sim, struct client *client);
void sim_client_kill(struct sim *sim, struct client *client);
bool sim_client_settled(struct sim *sim, struct client *client);
void sim_client_free(struct sim *sim, struct client *client);
void sim_client_send(struct sim *sim, struct client *client, const struct gw_message *message);
uint64_t sim_client_call(struct client *client, uint32_t answer);

/* -- share.c */
void sim_share_act(struct sim *sim, struct client *client);
struct share *sim_share_find(const struct client *client, uint64_t request);
bool sim_share_holds(const struct client *client, const struct work *work);
void sim_share_promise(struct sim *sim, const struct client *client,
                       const struct gw_msg_held *held);
void sim_share_take(struct sim *sim, struct client *client, const struct gw_msg_held *held);
void sim_share_told(struct sim *sim, struct share *share, enum told told, uint32_t rank);
bool sim_shares_settled(const struct client *client);
/* sim_published_tokens returns the number of published values that use descriptors of the
 * scheduler. */
size_t sim_published_tokens(struct sim *sim);
void sim_shares_free(struct client *client);

/* -- replica.c */
void sim_replica_ask(struct sim *sim, struct client *client, const struct work *work);
void sim_replica_promise(struct sim *sim, const struct client *client,
                         const struct gw_msg_replicated *replicated);
void sim_replica_take(struct sim *sim, struct client *client,
                      const struct gw_msg_replicated *replicated);
/* Messages to a host about copies, before it receives them and after, and its answers. */
void sim_replica_told(struct host *host, const struct gw_message *message);
void sim_replica_check(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_replica_replied(struct sim *sim, struct host *host,
                         const struct gw_msg_replica_reply *reply);

/* -- tunnel.c */
void sim_tunnel_act(struct sim *sim, struct client *client, const struct sim_job *job);
void sim_tunnel_client_take(struct sim *sim, struct client *client,
                            const struct gw_message *message);
void sim_tunnel_host_take(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_tunnel_host_look(struct sim *sim, struct host *host);
/* sim_tunnel_watch follows the scheduler's messages about tunnels. sim_tunnel_closed: the scheduler
 * was told that a connection is closed. */
void sim_tunnel_watch(struct sim *sim, const struct gw_effect *effect);
void sim_tunnel_closed(struct sim *sim, uint64_t peer);

/* -- sync.c: semaphores, queues, variables, events */
void sim_sync_act(struct sim *sim, struct client *client);
void sim_sync_acquire(struct sim *sim, struct client *client);
void sim_sync_signal(struct sim *sim, struct client *client);
void sim_sync_release(struct sim *sim, struct client *client);
void sim_sync_take(struct sim *sim, struct client *client, const struct gw_msg_synced *synced);
void sim_sync_end(struct sim *sim, struct client *client);

/* -- trespass.c: requests for another user's jobs */
void sim_trespass_act(struct sim *sim, struct client *client);
/* sim_trespass_answered checks that such a request is refused. It ignores other replies. */
void sim_trespass_answered(struct sim *sim, struct client *client,
                           const struct gw_msg_reply *reply);

/* -- trust.c: keys of gangs. sim_trust_add adds to an effect what the scheduler's I/O thread would
 * add. sim_trust_told checks the messages of a worker. sim_trust_go: a rank of this process starts.
 */
struct keyed {
    struct gw_effect effect;
    uint8_t key[32];
};
const struct gw_effect *sim_trust_add(const struct gw_effect *effect, struct keyed *keyed);
void sim_trust_told(struct sim *sim, const struct gw_message *message);
void sim_trust_go(struct sim *sim, const struct process *process,
                  const struct gw_msg_gang_start *go);

/* -- patience.c: one seed of a world in which gangs wait during an endless stream of tasks */
void sim_patience_run(uint64_t seed);

/* -- work.c */
struct sim_job *sim_job_make_inside(struct sim *sim, struct client *client,
                                    const struct work *parent);
struct sim_job *sim_job_make(struct sim *sim, struct client *client);
struct sim_job *sim_job_make_range(struct sim *sim, struct client *client);
struct sim_job *sim_job_new(struct sim *sim, struct client *client);
struct work *sim_work_new(struct sim *sim, struct sim_job *job);
void sim_work_depend(struct sim *sim, struct work *work);
bool sim_work_usable(const struct work *on, const struct sim_job *job);
uint64_t sim_work_value(const struct work *work, uint32_t rank);
uint64_t sim_work_inputs(const struct work *work);
bool sim_work_may_fail(struct sim *sim, const struct work *work, int32_t code);
struct work *sim_work_find(struct sim *sim, uint64_t id);
/* sim_work_count_shared counts the tasks of a job that share the result of another task. */
void sim_work_count_shared(struct sim *sim, const struct sim_job *job);
/* sim_work_unwanted marks tasks that may be cancelled because no client holds them any more. */
void sim_work_unwanted(struct work *work);
void sim_work_free(struct sim *sim);
/* sim_job_check_turn checks that a job may start: the jobs before it have ended as required. */
void sim_job_check_turn(struct sim *sim, const struct sim_job *job);

#endif
