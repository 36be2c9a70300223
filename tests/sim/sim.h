/* The simulator: one scheduler core, several worker cores, and everything around them made up.
 *
 * One seed is one world: everything that happens follows from it, so that a failure is replayed by
 * its seed. Nothing here is shared between seeds but the counters. */
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

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    HOSTS_MAX = 4,
    CLIENTS_MAX = 6,
    CLIENTS_FIRST = 3, /* at most; others come after a scheduler died */
    DEPS_MAX = 8,
    RANKS_MAX = 6,
    TOKENS_MAX = 64,
    STEPS_MAX = 40000, /* 5,000 were seen in worlds that end */
    BLOCK = 4,         /* rows of a range that are given back together */
};
#define MS GW_NS_PER_MS
#define SECOND GW_NS_PER_S

struct sim;

/* -- Work ----------------------------------------------------------------------------------------
 */

struct dep {
    struct work *on;
    uint32_t rank; /* or GW_DEP_ALL, GW_DEP_AFTER */
};

/* What of GPUs a rank of it needs: as many as there are for it, one, or a part of one. */
enum { WORK_GPU_IF_ANY = 1, WORK_GPU, WORK_GPU_SHARE };

/* These bugs show in gangs alone. */
#define SIM_PLANTED_IN_GANGS                                                                       \
    (GW_PLANTED(191) || GW_PLANTED(194) || GW_PLANTED(281) || GW_PLANTED(310) ||                   \
     GW_PLANTED(340) || GW_PLANTED(740) || GW_PLANTED(752))

/* And this where workers offer the same GPUs. */
#define SIM_PLANTED_IN_TWINS GW_PLANTED(701)

/* How the client saw it end. */
enum told { TOLD_NOTHING, TOLD_DONE, TOLD_FAILED };

/* A task: what it is, how it behaves, what became of it. */
struct work {
    uint64_t id;
    struct sim_job *job;
    uint32_t row, ranks, slots, gpus, retries;
    uint32_t kind; /* enum gw_spec_kind */
    struct dep deps[DEPS_MAX];
    uint32_t dep_count;
    uint64_t inputs; /* of a stencil, which has too many ways through to go them: what
                        sim_work_inputs gives; else 0 */
    uint64_t run_ns, time_limit_ns, bytes;
    uint32_t fails, crashes; /* of its first attempts */
    bool oom, hangs, deaf, orphans, infeasible;
    struct work *twin_of; /* the first with these arguments, which all of them run as; or NULL */
    uint32_t collectives;
    bool makes_actor;
    uint32_t lives;        /* of the actor: how often its task was through */
    struct work *calls;    /* the actor that it is a call of; NULL: none */
    uint32_t begun, given; /* how often a call began, and was given to a runner */
    bool target, held;
    uint32_t children; /* tasks that it submits from inside */
    uint32_t depth;    /* of tasks around it */
    bool leaves;       /* it does not wait for them */
    bool cancelled;    /* somebody asked for it, or for what it depends on */
    uint32_t started, ended_well, gangs, deaths;
    uint32_t strangers; /* attempts whose port one of them took */
    enum told told;
    uint64_t released_ns; /* when its future was given up */
    bool retried;
    uint32_t ranks_told; /* bits */
    int32_t code;
    uint32_t licenses, tapes; /* named resources, a rank */
    char on[48];              /* names of workers or hosts */
    bool prefers;
    uint64_t backoff_ns, inactivity_timeout_ns;
    uint32_t worker_losses_max, preemptions_max; /* 0: as usual */
    uint32_t resumed; /* the attempt from whose checkpoint its latest went on, counted from 1 */
    uint64_t hang_timeout_ns;
    uint32_t min_ranks, world; /* 0: all of its ranks; how many its latest attempt has */
    uint64_t full_wait_ns;
    uint32_t blamed;      /* ranks that hung in some attempt, bits */
    uint32_t preempted;   /* times that somebody asked for it */
    bool stop, pausing;   /* somebody asked it to stop; a rank has returned for a pause */
    bool files;           /* it runs in a folder with some */
    bool talks;           /* writes all the time */
    uint64_t failed_ns;   /* when it last failed by itself, and told so on this connection; or 0 */
    uint64_t failed_conn; /* its id */
    uint64_t asked, asked_codes; /* the question, and the codes that it was asked about in it */
};

struct sim_job {
    struct client *client;
    uint64_t request, id;
    uint64_t promised; /* id, as soon as the scheduler has sent it */
    bool detached, accepted, rejected, infeasible, waited, cancelled, scattered, pure;
    bool paused;             /* as far as its client knows */
    bool holds[CLIENTS_MAX]; /* of an actor: who knows that it has a handle */
    bool held_once;
    bool range, stop;         /* a range; which ends at its first failure */
    bool stream, opened, bad; /* bad: a chunk of it makes no sense */
    uint32_t ahead, limit;
    uint32_t made; /* tasks of a range that are told of: all, until its end says otherwise */
    struct sim_job *after; /* the job before it, or NULL */
    bool after_any, again; /* again: a task of it was retried */
    bool whole_again;      /* of a range: all that is not done of it was, and nothing since */
    uint32_t sent;         /* rows */
    uint32_t specs_sent;
    GW_ARRAY(struct work *) work;
};

/* -- Network -------------------------------------------------------------------------------------
 */

/* A descriptor: who has the number does not matter, what is behind it does. */
struct packet {
    uint8_t *bytes;
    size_t size;
    uint64_t tokens[TOKENS_MAX];
    uint32_t token_count;
    bool urgent; /* may pass others */
};

enum side { SIDE_SCHED, SIDE_HOST, SIDE_CLIENT };

struct end {
    enum side side;
    struct host *host;
    struct client *client;
    uint64_t incarnation; /* of the host */
    uint64_t peer;        /* as that side's core calls it */
    bool open;
    uint64_t last_ns; /* delivery of the last packet to it */
};

struct conn {
    uint64_t id;
    struct end ends[2];
    bool cut;
    uint64_t held_until_ns;           /* partition */
    uint64_t held_since_ns;           /* the same one, or those that followed at once */
    GW_ARRAY(struct packet) queue[2]; /* under way to ends[i], in order */
    size_t lost[2];                   /* that were, until it was mended */
};

/* -- Hosts ---------------------------------------------------------------------------------------
 */

enum rank_state {
    RANK_STARTING,
    RANK_REPORTED, /* said that it stands */
    RANK_JOINED,   /* heard go */
    RANK_COLLECTIVE,
    RANK_HUNG,
    RANK_DEAF, /* was told to end, and ignores it */
    RANK_EXITED,
};
extern struct gw_sm sim_rank_sm;

struct row {
    uint64_t attempt;
    uint32_t rank;
    struct work *work;
    uint64_t inputs;          /* what it was given, hashed */
    uint64_t takes[DEPS_MAX]; /* attempts before it in its batch that make inputs of it */
    uint32_t take_count;
    uint64_t folder; /* number; 0: none */
};

/* A runner died with this attempt while it executed that one, and said so. */
struct sim_crash {
    uint64_t attempt, in;
};

struct told_folder {
    uint64_t attempt, folder;
};

struct process {
    struct host *host;
    uint64_t id, peer, pid;
    uint64_t behind, begun_ns; /* whose turn is before its own; 0: it began, or may */
    bool runner, alive, up, link_open, hello, executing, burying, exited_told;
    uint64_t epoch;            /* raised by whatever makes planned events void */
    GW_ARRAY(struct row) rows; /* given and not reported; the first executes */
    uint8_t rank_state;
    uint32_t collective;
    uint64_t sent; /* sequence */
    uint64_t kill_ns;
    struct client *inside; /* of what it executes; NULL: none */
    bool stopped;
    uint32_t answer;           /* what its last step told it; SIM_PAUSE: what it has is no result */
    bool blocked, woke;        /* what it executes waits for others; or did, and runs on */
    struct work *actor;        /* that it keeps */
    uint64_t long_attempt;     /* that said last that it runs long */
    uint64_t began;            /* the call that began last, or what it executed as it died */
    uint64_t gang, checkpoint; /* as it was told of its gang last */
    bool spans;                /* that gang stands at several workers */
    bool checkpoint_lost;      /* its checkpoint's host is */
    bool transferred;          /* its checkpoint came from another host, or from a copy */
    struct {
        uint64_t job;
        uint32_t row;
    } last[CLIENTS_MAX];         /* calls, by client */
    GW_ARRAY(struct row) unsaid; /* what ended well, and was not reported yet */
    bool letting_go;
    GW_ARRAY(struct told_folder) folders; /* of tasks that were not given yet */
    struct work *command;
    uint32_t gpus; /* bits: those that it is on */
    bool shares_gpu;
    uint64_t used_bytes; /* of memory, as it was measured last */
    struct process_memfiles *memfiles;
};

enum { SIM_GPUS = 2, SIM_GPU_NAME = 32 };
struct sim_gpu {
    bool lost, given; /* given: as it is, whatever is left there */
    uint32_t xid;     /* an error that nobody has seen yet */
    uint64_t back_ns; /* until then some of its memory is not back */
};

/* An end of a tunnel. */
struct host_tunnel {
    uint64_t id, attempt;
    uint32_t rank;
};
struct client_tunnel {
    uint64_t request, id; /* id 0: it does not stand yet */
    uint64_t said, heard; /* words */
};
/* What the scheduler told of one; client 0: not told yet. */
struct sched_tunnel {
    uint64_t id, worker, client; /* connections */
};

/* A checkpoint on a disk: see transfer.c. */
struct sim_saved {
    uint64_t job;
    uint32_t index;
    uint64_t attempt;
    bool copy;
    bool looked; /* a rank 0 that goes on from it was told that it is there */
    bool gone;   /* and after that it went */
};

/* It was told to end: see leave.c. */
struct leave {
    bool told, again, exits;
    bool begins;       /* it is being told, for the first time */
    bool alone;        /* it knew no scheduler then */
    bool let;          /* the scheduler said that it may go */
    uint64_t until_ns; /* it stays no longer, since nothing of it runs; 0: something does */
    uint64_t heard;    /* the connection by which the scheduler heard of it; 0: none */
};

/* What it lets begin: see admission.c. */
struct admission {
    uint64_t pause_bytes, own_bytes, bytes; /* pause_bytes 0: there is no line */
    uint64_t over_ns, begun_ns; /* since when it is beyond the line; what began there last */
    bool offers;                /* to let one begin: nothing went on */
};

struct host {
    struct sim *sim;
    struct admission admission;
    struct leave leave;
    uint32_t number, slots, gpus;
    struct gw_node_core *core; /* NULL: dead */
    struct gw_effects effects;
    unsigned executing; /* of its effects, one within the other */
    uint64_t incarnation, next_peer, guardian_peer, guardian_sent, tick_ns;
    uint64_t welcomed, welcomed_peer;      /* the connection on which it was, and its name there */
    uint64_t orphan_ns;                    /* how long it stays without a scheduler; 0: long */
    uint32_t worker;                       /* its number there */
    bool emptied;                          /* it has lost checkpoints once */
    struct gw_map files;                   /* on its disk: number -> content */
    uint64_t full_until_ns;                /* the disk; UINT64_MAX: for good */
    bool disk_failed, was_full;            /* was_full: so is its memory, before this step */
    bool spills_nothing;                   /* of results by their bytes: it was told not to */
    uint64_t kill_bytes;                   /* of memory: who uses most goes; 0: never */
    uint32_t descriptors_max;              /* of results that nobody uses; 0: any */
    uint32_t memory_state;                 /* as it told last */
    uint64_t log_seen;                     /* sequence number of the last for its driver */
    uint64_t keep_seen;                    /* of the last message on this connection */
    GW_ARRAY(struct gw_msg_keep) keepings; /* copies that it was told to make, and is to answer */
    GW_ARRAY(struct host_tunnel) tunnels;
    struct conn *scheduler;
    GW_ARRAY(struct process *) processes;
    GW_ARRAY(uint64_t) tokens;        /* that the core has */
    GW_ARRAY(struct sim_saved) saved; /* checkpoints on its disk */
    GW_ARRAY(uint64_t) folders;       /* numbers of those that are there */
    struct gw_map kept;               /* of them, what was left: number -> bytes, 0: not told */
    struct recency *recency;          /* see recency.c; NULL: it has no results */
    struct gw_map cancelled;          /* attempts that it was told to end; see cancelled.c */
    struct gw_map recanted;           /* attempts of calls that it was told to end -> actor */
    struct gw_map leases;             /* attempts, of gangs that this host leads */
    GW_ARRAY(struct packet) old;      /* said to the scheduler, to be said again some time */
    uint32_t licenses, tapes;         /* what it offers */
    struct sim_gpu gpu[SIM_GPUS];
    GW_ARRAY(struct sim_crash) crashes;
    char name[16], address[16], worker_name[24];
};

/* A gang's attempt, as the ranks see it. */
enum { SIM_PAUSE = 1, SIM_STOP = 2 }; /* gw_msg_control.command */

struct gang {
    uint64_t attempt;
    struct work *work;
    uint32_t world, number; /* number: of attempts before it */
    uint64_t life;          /* of the scheduler */
    bool reported[RANKS_MAX], went[RANKS_MAX];
    bool saved;              /* rank 0 said so */
    const struct host *home; /* where it saved, in its life home_life */
    uint64_t home_life;
    bool missing;                  /* a rank's program, on its host */
    bool asked_for_port, stranger; /* rank 0 was to bind it; somebody else has it */
    uint32_t doors[RANKS_MAX];     /* as its ranks were told; 0: not yet */
    uint32_t asked;                /* what rank 0 was told to answer at its next step */
    struct process *in[RANKS_MAX]; /* the collective `at` */
    uint32_t at;
};

/* -- Clients -------------------------------------------------------------------------------------
 */

/* A future of a task that was looked up. */
struct share {
    uint64_t request;
    struct work *promised, *work; /* as sent, and as told; NULL: not yet, or not found */
    bool dropped;
    enum told told;
    uint32_t ranks_told;
};

struct client {
    struct sim *sim;
    uint32_t number, uid;
    struct gw_map syncing; /* request -> kind << 8 | verb */
    uint32_t leases;       /* that it was told it holds, and has not released */
    uint64_t version;      /* of the variable, that it was told last */
    uint64_t fence;        /* of the latest lease that it was told of */
    bool opened, opened_queue, ended;
    struct process *process;    /* that it is inside of; NULL: of none, or that has ended */
    struct work *work;          /* that the process executes */
    uint64_t epoch;             /* of the process */
    int32_t execution;          /* of the work */
    bool alive, greeted, quiet; /* quiet: submits no more */
    struct conn *conn;
    uint64_t term, session, sent, next_request;
    GW_ARRAY(struct sim_job *) jobs;
    uint32_t to_submit;
    uint64_t seen;              /* sequence number */
    struct gw_map calls;        /* request -> message type that answers it */
    struct gw_map fetching;     /* request -> work id << 8 | rank */
    struct gw_map retrying;     /* request -> work id */
    struct gw_map cancelling;   /* request -> place in jobs << 32 | row; see acknowledgement.c */
    struct gw_map ranges_again; /* request -> index of a job; see range.c */
    struct gw_map replicating;  /* request -> work id << 8 | copies */
    GW_ARRAY(struct share *) shares;
    GW_ARRAY(struct client_tunnel) tunnels;
    struct gw_map waiting;     /* request -> place in jobs, of waits for a range */
    struct gw_map holding;     /* request -> work id of an actor */
    struct gw_map trespassing; /* requests that must be refused */
    bool admin;
    bool retried; /* it had something run again */
};

/* -- The world -----------------------------------------------------------------------------------
 */

struct plan {
    uint64_t at_ns, order;
    void (*run)(struct sim *sim, void *arg);
    void *arg;
    void (*drop)(struct sim *sim, void *arg); /* what becomes of arg otherwise; NULL: nothing */
};

struct sim {
    uint64_t seed, random, now_ns, order, steps;
    bool log, healed, revoking;
    bool committed; /* the scheduler's step is one that lets go what waited for a commit */
    GW_ARRAY(struct plan) plans; /* a heap */

    struct gw_sched *sched;
    struct gw_effects effects;
    uint64_t sched_tick_ns;
    GW_ARRAY(uint64_t) sched_tokens;
    struct gw_buffer facts;    /* all durable ones, as emitted */
    uint64_t facts_committed;  /* bytes */
    uint64_t commit_ns, life;  /* of the last one under way; of the scheduler */
    struct sim_adrift *adrift; /* see crash_time.h; NULL: it has not died */
    void (*crash)(struct sim *, void *), (*crash_now)(struct sim *, void *); /* see crash.h */
    struct sim_recovery *recovery;       /* see regain.c; likewise */
    struct crowd *crowd;                 /* see crowd.c; NULL: this world is none */
    struct sim_charges *charges;         /* see charge.c; NULL: nothing was judged */
    struct sim_revocations *revocations; /* see revocation.c; NULL: none */
    struct sim_asks *asks;               /* see ask.c; NULL: no gang was told to stop */
    struct sim_pauses *pauses;           /* see pause.c; NULL: nothing is paused there */
    struct sim_drains *drains;           /* see drain.c; NULL: none was drained */
    struct sim_quarantine *quarantine;   /* see quarantine.c; NULL: there was no gang */
    struct sim_parting *parting;         /* see parting.c; NULL: nothing was parted */
    GW_ARRAY(struct conn *) conns;

    struct host hosts[HOSTS_MAX];
    uint32_t host_count, client_count;
    struct ledger *ledger; /* see ledger.c, limit.c, again.c */
    struct limits *limits;
    struct memfiles *memfiles;
    struct again *again;
    struct client clients[CLIENTS_MAX];
    GW_ARRAY(struct client *) insiders; /* clients inside of tasks, also those that have ended */
    uint64_t next_put;                  /* values put into the queue */
    struct gw_map got;                  /* those that were given out */
    struct gw_map fences;               /* numbers of leases */
    uint32_t lent_max;                  /* of every worker; 0: what is usual */
    GW_ARRAY(struct work *) work;       /* by id - 1 */
    GW_ARRAY(struct sim_job *) jobs;
    struct gw_map spread;    /* attempts whose checkpoint lies elsewhere, too; see leave.c */
    struct gw_map assigned;  /* attempt -> when the scheduler gave it out */
    struct gw_map calls_out; /* attempt of a call -> its actor; see recant.c */
    struct gw_map across;    /* attempts handed over to slots of another shape */
    struct gw_map contents;  /* token -> hash of what is behind it */
    struct gw_map sizes;     /* token -> bytes */
    struct gw_map worlds;    /* attempt of a gang -> how many ranks it has */
    uint64_t next_conn, next_token, next_pid;
    GW_ARRAY(struct gang *) gangs;
    GW_ARRAY(struct sched_tunnel) tunnels;
    bool some_did_not_start, some_refused;
    uint64_t faults[FAULT_COUNT]; /* of this seed */
    uint32_t worker_losses;
    uint64_t asked; /* how often it was asked why a task may fail */
    uint64_t healed_ns;
    uint64_t retried_ns; /* when a client last wanted a failed task, and what it needs, again */
};

extern uint64_t sim_faults[FAULT_COUNT];

/* -- sim.c */
uint64_t sim_random(struct sim *sim);
uint64_t sim_below(struct sim *sim, uint64_t n); /* 0 .. n - 1 */
bool sim_chance(struct sim *sim, uint32_t percent);
uint64_t sim_hash(uint64_t a, uint64_t b);
void sim_plan(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg);
void sim_plan_own(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg,
                  void (*drop)(struct sim *, void *));
void sim_drop(struct sim *sim, void *arg); /* frees */
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
/* What other worlds share with it: the scheduler begins; one more host, with nothing but slots
 * unless it was given more before; the next thing that is planned happens (false: nothing is); all
 * of it goes. */
void sim_world_begin(struct sim *sim);
void sim_world_host(struct sim *sim, uint32_t number, uint32_t slots);
bool sim_next(struct sim *sim);
void sim_world_free(struct sim *sim);
/* sim_sched_step gives the scheduler an event and carries out its effects. */
int sim_sched_step(struct sim *sim, struct gw_event *event);

/* -- net.c */
struct conn *sim_connect(struct sim *sim, struct end a, struct end b);
void sim_send(struct sim *sim, struct conn *conn, int from, const struct gw_effect *effect);
void sim_close(struct sim *sim, struct conn *conn, int from); /* by one side */
void sim_cut(struct sim *sim, struct conn *conn);
/* sim_hold has a connection carry nothing until then. */
void sim_hold(const struct sim *sim, struct conn *conn, uint64_t until_ns);
/* sim_mend_given_up checks that a worker gives its scheduler up for a reason. */
void sim_mend_given_up(struct sim *sim, const struct conn *conn);
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
/* sim_mend cuts a worker's connection, and mends it by another. */
void sim_mend(struct sim *sim);

/* -- host.c */
void sim_host_start(struct sim *sim, struct host *host);
void sim_host_kill(struct sim *sim, struct host *host);
/* sim_host_is_heard: a message is of the connection by which the scheduler has it, and of no
 * earlier one, or of another life of the scheduler. */
bool sim_host_is_heard(const struct sim *sim, const struct host *host,
                       const struct gw_message *message);
/* sim_host_end: it goes by itself, and comes again in its next life. */
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
void sim_process_bury(struct sim *sim, struct host *host, const struct gw_msg_bury *bury);
/* sim_process_take (runner_inbox.c) has a runner take a message; sim_process_went: its rank heard
 * go. */
void sim_process_take(struct sim *sim, struct process *process, const struct gw_effect *effect);
void sim_process_went(struct sim *sim, struct process *process);
void sim_process_free(struct sim *sim, struct process *process);
/* sim_process_output is how much what a process executes has written. */
uint64_t sim_process_output(struct sim *sim, const struct host *host, uint64_t id);
/* What a process says to its worker; its first row goes; it begins with the next one. */
void sim_process_tell(struct sim *sim, struct process *process, struct gw_message *message,
                      const uint64_t *tokens, uint32_t token_count);
void sim_process_pop(struct process *process);
void sim_process_execute(struct sim *sim, struct process *process);
struct process *sim_process_find(struct host *host, uint64_t pid);
/* sim_process_die has a process die for no reason. */
void sim_process_die(struct sim *sim, struct process *process);
/* sim_process_say says something as a runner; false where the process is gone after that, or does
 * something else. sim_process_later runs something on it unless its epoch has changed by then,
 * sim_process_anyhow while it is there. */
bool sim_process_say(struct sim *sim, struct process *process, struct gw_message *message);
void sim_process_later(struct sim *sim, struct process *process, uint64_t in_ns,
                       void (*run)(struct sim *sim, struct process *process));
void sim_process_anyhow(struct sim *sim, struct process *process, uint64_t in_ns,
                        void (*run)(struct sim *sim, struct process *process));
void sim_process_go_on(struct sim *sim, struct process *process, int32_t execution);

/* -- gpu.c */
/* sim_gpu_spawned takes note of the GPUs that a process is given, and checks that they are its own;
 * sim_gpu_gone has what it used of them come back, some time. */
void sim_gpu_spawned(struct sim *sim, struct process *process, const struct gw_msg_spawn *spawn);
void sim_gpu_gone(struct sim *sim, const struct process *process);
/* What it has; names: room for theirs. */
void sim_gpu_list(const struct host *host, struct gw_node_gpu *gpus, char (*names)[SIM_GPU_NAME]);
/* GPUs of one machine that several hosts offer have one name. */
void sim_gpu_name(const struct host *host, uint32_t number, char name[static SIM_GPU_NAME]);
void sim_gpu_start(struct sim *sim, struct host *host); /* a life of the host: all are well */
bool sim_gpu_may_break(const struct host *host, uint32_t number);
void sim_gpu_faults(struct sim *sim);

/* -- elastic.c */
/* sim_elastic_shape: perhaps attempts of a gang may have fewer ranks. sim_work_least: how many
 * results of a task there are at the least; sim_elastic_lacks: it has none of this rank.
 * sim_elastic_told: a worker is told of an attempt; sim_elastic_world: how many ranks it has. */
void sim_elastic_shape(struct sim *sim, struct work *work);
uint32_t sim_work_least(const struct work *work);
bool sim_elastic_lacks(const struct work *work, uint32_t rank, uint32_t size);
void sim_elastic_told(struct sim *sim, const struct gw_msg_gang *gang);
uint32_t sim_elastic_world(struct sim *sim, const struct row *row);

/* -- transfer.c */
/* sim_transfer_saved: an attempt's rank 0 has saved. sim_transfer_execute takes
 * CHECKPOINT_TRANSFER, WATCH and UNWATCH; sim_transfer_check: a rank goes, and has what it goes on
 * from. */
void sim_transfer_saved(struct process *process, uint64_t attempt);
void sim_transfer_execute(struct sim *sim, struct host *host, const struct gw_effect *effect);
void sim_transfer_check(struct sim *sim, const struct process *process);

/* -- gang.c */
struct gang *sim_gang_of(struct sim *sim, const struct row *row);
/* sim_gang_resume: an attempt is to go on from the checkpoint that its process was told of. */
void sim_gang_resume(struct sim *sim, const struct row *row, const struct process *process);
/* sim_gang_save: rank 0 of a function saves now and then, between collectives. sim_gang_asked takes
 * what rank 0 is to answer; sim_gang_pause says that a rank returns for that. false: the process is
 * gone after it said something. */
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

/* -- actor.c: what makes a process, a client and a job those of an actor */
void sim_actor_make(struct sim *sim, struct client *client);
void sim_actor_act(struct sim *sim, struct client *client);
void sim_actor_finish(struct sim *sim, struct client *client);
/* sim_actor_blocked: a call of the job waits, long after all is well, for what has not ended. */
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
/* sim_published_tokens counts the published values that lie in descriptors of the scheduler. */
size_t sim_published_tokens(struct sim *sim);
void sim_shares_free(struct client *client);

/* -- replica.c */
void sim_replica_ask(struct sim *sim, struct client *client, const struct work *work);
void sim_replica_promise(struct sim *sim, const struct client *client,
                         const struct gw_msg_replicated *replicated);
void sim_replica_take(struct sim *sim, struct client *client,
                      const struct gw_msg_replicated *replicated);
/* What a host is told before it hears of it, and after; and what it says. */
void sim_replica_told(struct host *host, const struct gw_message *message);
void sim_replica_check(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_replica_kept(struct sim *sim, struct host *host, const struct gw_msg_kept *kept);

/* -- tunnel.c */
void sim_tunnel_act(struct sim *sim, struct client *client, const struct sim_job *job);
void sim_tunnel_client_take(struct sim *sim, struct client *client,
                            const struct gw_message *message);
void sim_tunnel_host_take(struct sim *sim, struct host *host, const struct gw_message *message);
void sim_tunnel_host_look(struct sim *sim, struct host *host);
/* sim_tunnel_watch follows what the scheduler says of tunnels; sim_tunnel_closed, when it has heard
 * that a connection is closed. */
void sim_tunnel_watch(struct sim *sim, const struct gw_effect *effect);
void sim_tunnel_closed(struct sim *sim, uint64_t peer);

/* -- sync.c: semaphores, queues, variables, events */
void sim_sync_act(struct sim *sim, struct client *client);
void sim_sync_acquire(struct sim *sim, struct client *client);
void sim_sync_release(struct sim *sim, struct client *client);
void sim_sync_take(struct sim *sim, struct client *client, const struct gw_msg_synced *synced);
void sim_sync_end(struct sim *sim, struct client *client);

/* -- trespass.c: reaching for what is another user's */
void sim_trespass_act(struct sim *sim, struct client *client);
/* sim_trespass_answered checks that a reply to that refuses it; other replies are none of its. */
void sim_trespass_answered(struct sim *sim, struct client *client,
                           const struct gw_msg_reply *reply);

/* -- trust.c: keys of gangs. sim_trust_add puts what the scheduler's I/O side would into an effect;
 * sim_trust_told sees what a worker says; sim_trust_go: a rank of this process goes. */
struct keyed {
    struct gw_effect effect;
    uint8_t key[32];
};
const struct gw_effect *sim_trust_add(const struct gw_effect *effect, struct keyed *keyed);
void sim_trust_told(struct sim *sim, const struct gw_message *message);
void sim_trust_go(struct sim *sim, const struct process *process, const struct gw_msg_gang_go *go);

/* -- patience.c: one seed of a world where gangs wait in an endless stream of tasks */
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
/* sim_work_count_shared counts the tasks of a job that share another one's result. */
void sim_work_count_shared(struct sim *sim, const struct sim_job *job);
/* sim_work_unwanted marks what may be cancelled because nobody holds it any more. */
void sim_work_unwanted(struct work *work);
void sim_work_free(struct sim *sim);
/* sim_job_check_turn checks that a job may begin: those before it have ended as it wants. */
void sim_job_check_turn(struct sim *sim, const struct sim_job *job);

#endif
