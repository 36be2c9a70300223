/* gangway-sim: runs seeds, and counts what happened in them.
 *
 *     gangway-sim --seeds N [--from S]   runs N seeds; with --all, no fault and no transition may
 *                                        have happened in none of them
 *     gangway-sim --seed S               runs one, with a log of every message
 *     gangway-sim --patience --seeds N   only the worlds where gangs wait (patience.c)
 *     gangway-sim --crowd --seeds N      only the worlds where memory is short (crowd.c)
 *     gangway-sim --seeds N --hash       prints only the hash of all effects of the cores;
 *                                        --hash=FILE: compares it with that in FILE, at the end
 *     gangway-sim --diagram              prints the state machines as Graphviz
 *     gangway-sim-planted --planted NAME [--seeds N] [--from S]
 *                                        runs seeds until one fails: bug NAME is switched on
 */
#include "tests/sim/checks/preemption.h"
#include "tests/sim/effects.h"
#include "tests/sim/faults/crowd.h"
#include "tests/sim/world/accounts.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef GANGWAY_PLANTED
int gw_planted;
static const struct {
    const char *name, *what;
} planted[] = {
    {"", ""},
    {"stale-attempt", "an end is accepted from an attempt of an earlier life of its place"},
    {"debit-leak", "a bad end gives nothing back"},
    {"duplicate", "messages seen before are taken again"},
    {"crash-budget", "crashes are not charged"},
    {"early-announcement", "ends of detached jobs are told before they are committed"},
    {"gang-short", "a gang goes when all ranks but one stand"},
    {"gang-half-killed", "only the first worker of a gang is told to end it"},
    {"lost-result", "a lost result is not made again"},
    {"early-release", "a result is released while somebody needs it"},
    {"failure-stops", "a failure does not reach what depends on it"},
    [610] = {"idle-kept", "what was handed over keeps slots that it does not use, whoever waits"},
    [60] = {"heir-runs", "what a failed task was to feed at its worker runs all the same"},
    [92] = {"fence-stuck", "leases have the same number"},
    [91] = {"dead-holder", "a session that ends keeps its leases"},
    [90] = {"credited-twice", "a task that waited gives its slots back again when it goes on"},
    [110] = {"paused-for-ever", "a worker that was short of memory never has enough again"},
    [111] = {"spill-left", "the file of a result that went while it was written stays on the disk"},
    [121] = {"arguments-ignored", "pure tasks with different arguments share a result"},
    [122] = {"users-shared", "pure tasks of different users share a result"},
    [100] = {"call-twice", "a call that had begun when its actor died is run again"},
    [101] = {"actor-outlives", "an actor does not end when nobody holds it any more"},
    [120] = {"first-holder", "a result goes when the first of its holders lets go"},
    [130] = {"range-twice", "a number of a range is given out twice"},
    [131] = {"range-ahead", "a range does not wait for its client to take results"},
    [133] = {"refused-told", "what a refused stream has begun is told of"},
    [134] = {"given-up-kept", "what is given up before it is made is kept all the same"},
    [132] = {"gate-early", "a job does not wait for those before it"},
    [140] = {"resource-debit",
             "only the first of a worker's tasks of one shape takes its named resources"},
    [141] = {"backoff", "a failed task is tried again at once"},
    [190] = {"event-log-lies",
             "the event log says of a task that ended well that it was cancelled"},
    [191] = {"restart-uncounted", "a gang that fails is started again for ever"},
    [195] = {"pause-ends", "what a gang returns that was told to pause is its result"},
    [193] = {"checkpoint-lost", "an attempt does not go on from the current checkpoint"},
    [320] = {"checkpoint-homeless", "the host of a checkpoint is taken for lost while it lives"},
    [380] = {"asks-again",
             "a worker that has a checkpoint no more is asked for it again and again"},
    [340] = {"checkpoint-early", "a rank starts before its checkpoint is transferred to its host"},
    [194] = {"hang-blame", "of ranks that hang the furthest is named, and not the one behind"},
    [192] = {"old-rank", "a rank of an earlier attempt counts for the one that has its place"},
    [150] = {"folder-early", "a task starts before its files are there"},
    [360] = {"kept-grows", "folders that commands left are kept, however much is in them"},
    [250] = {"lease-left", "the port of a gang that never went stays leased"},
    [161] = {"copy-early", "a worker says that it has a copy before it is there"},
    [162] = {"copy-goes-on", "a copy that is released while it is fetched is fetched all the same"},
    [241] = {"reconnect-forgets", "a connection that is reconnected lacks a message"},
    [240] = {"beat-counted", "what a heartbeat passed on its way is taken for old"},
    [230] = {"reservation-ignored", "what is reserved for a gang is given to whoever comes"},
    [231] = {"never-rises", "a gang that waits does not rise in the order"},
    [260] = {"elastic-too-small", "a gang starts with fewer ranks than it must have"},
    [220] = {"tunnel-left", "a client that goes leaves its tunnels at the workers"},
    [170] = {"stranger-acts", "a user acts on the jobs of another"},
    [180] = {"gpu-early", "a GPU is clear for the next task before the last one's memory is back"},
    [270] = {"gang-keyless", "ranks of a gang are given an empty key"},
    [280] = {"doors-shifted", "a gang's ranks are told each other's doors in another order"},
    [281] = {"stranger-charged", "a gang whose port a stranger took is charged for it"},
    [282] = {"look-ignored", "a rank stands although its program is not on its host"},
    [283] = {"far-cpus", "a process is bound to the CPUs near another GPU"},
    [350] = {"places-shuffled", "ranks are not numbered in the order of their gang's places"},
    [401] = {"instances-seen", "ranks of a command see the MIG instances of all of them"},
    [681] = {"parked-works", "a runner whose slots others use is given work"},
    [680] = {"early-receipt", "that something is cancelled is told before it is committed"},
    [601] = {"unbegun-stays", "what never began of a range does not run when it is run again"},
    [760] = {"stop-forgotten", "that a gang was told to stop is not known in the next life"},
    [761] = {"stop-untold", "a gang that was told to stop is not told by the next life"},
    [762] = {"stop-again", "a gang that was told to stop, and is lost, starts again"},
    [700] = {"kept-forgotten", "a GPU that stays drained is not, once its worker comes again"},
    [701] = {"rests-not", "the GPUs of a lost worker go to others at once"},
    [730] = {"rest-forgotten", "the next life does not wait for a lost worker that has GPUs"},
    [731] = {"spilled-newest", "the result that was used last goes to disk first"},
    [732] = {"spilled-wanted", "what runs take goes to disk before what they do not"},
    [733] = {"roots-ahead", "what only adds to memory starts before what lets go of some"},
    [734] = {"memory-unweighed", "what tasks are known to use of memory is not looked at"},
    [736] = {"revoked-charged", "what a worker ran is charged when its token is revoked"},
    [737] = {"revoked-goes-on", "what a client whose token is revoked had submitted goes on"},
    [738] = {"line-ignored", "tasks begin beyond the line of memory above which none is to"},
    [739] = {"all-begin", "where one task may begin beyond that line, all do that are there"},
    [703] = {"drains-ignored", "drained GPUs are given to tasks"},
    [704] = {"drain-answered", "an admin is told that a GPU is drained, and it is not"},
    [705] = {"given-back-not", "an admin is told that a GPU is given back, and it stays drained"},
    [710] = {"worker-drain-forgotten", "a drained worker is not, once it comes again"},
    [711] = {"worker-drain-ignored", "a drained worker gets tasks"},
    [600] = {"gpu-twice", "a GPU that two workers offer is given to both"},
    [400] = {"gang-mixed", "a gang gets whole GPUs and MIG instances, whatever is free"},
    [310] = {"rank-beside", "a rank starts on a GPU that another one has just left"},
    [420] = {"scatter-unlimited", "values are taken for which there is no room"},
    [391] = {"turn-free", "a command whose turn comes has no slots"},
    [560] = {"long-before-others", "tasks stay in a runner behind one that runs long"},
    [390] = {"command-beside", "a command starts beside the one that it was to wait for"},
    [370] = {"no-hold", "another life of the scheduler places at once what may still run"},
    [371] = {"gang-lacking", "a gang is taken over though a rank of it did not come back"},
    [404] = {"queue-repeats", "of several values that are taken from a queue the last one stays"},
    [405] = {"queue-overflows", "a queue takes more values than it may hold"},
    [406] = {"name-reopened", "an object is made under a name of a job that has ended"},
    [407] = {"name-outlives", "an object of a job stays when the job ends"},
    [402] = {"variable-torn", "a variable is replaced though another was faster"},
    [403] = {"event-unset", "who waits for an event passes before it is set"},
    [410] = {"must-ignored", "a task runs on a worker that it does not name"},
    [421] = {"retry-alone", "what failed before a task that is retried is not run again"},
    [780] = {"retry-untold", "what failed before what is retried is not told when it is well"},
    [430] = {"wall-ignored", "nothing ends at its time limit"},
    [431] = {"silence-ignored", "nothing ends at its inactivity timeout"},
    [432] = {"wall-early", "a task ends before its time limit"},
    [433] = {"deaf-to-output", "a task that writes ends at its inactivity timeout all the same"},
    [440] = {"oom-spares-most", "who uses least is killed where memory is short"},
    [441] = {"oom-spares-all", "nobody is killed where memory is short"},
    [569] = {"full-adds", "what adds to memory starts where that and the disk are full"},
    [570] = {"judged-again", "what became of an attempt is decided again by what is told later"},
    [450] = {"descriptors-pile", "results keep their descriptors, however many there are"},
    [561] = {"results-disowned", "results of another life are let go by who has them"},
    [562] = {"results-given-up", "another life makes at once what workers still have"},
    [563] = {"any-attempt", "a result is taken back whatever attempt made it"},
    [564] = {"prefer-ignored", "a task goes anywhere, whichever workers it prefers"},
    [568] = {"orphaned-files-taken", "a worker removes what it has of jobs that are known"},
    [470] = {"not-adopted", "another life of the scheduler does not take over what runs"},
    [471] = {"end-adrift", "what ended while no scheduler was there is never told"},
    [480] = {"orphans-stay", "a worker without a scheduler runs on for ever"},
    [481] = {"fence-down", "a worker that hears nothing runs on"},
    [482] = {"fence-hasty", "a worker kills what it runs after a short break"},
    [500] = {"limit-ignored", "what is run again of a range comes on top of what it lets"},
    [510] = {"stream-late", "nothing of a stream starts before its last graph is there"},
    [520] = {"published-lost", "a published result is not held"},
    [521] = {"published-over", "a name is published twice"},
    [530] = {"slots-kept", "a task that waits for its own keeps its slots"},
    [123] = {"cancel-shared", "who cancels a pure task cancels it for all who share it"},
    [540] = {"alike-lost", "of targets that fail alike one is told of twice, another not at all"},
    [232] = {"backfill-late", "what is let in before a gang may run longer than until it starts"},
    [330] = {"ids-again", "a scheduler gives out ids of jobs of the life before"},
    [790] = {"crash-innocent", "the first that was not told is charged with the crash of another"},
    [755] = {"parted-together", "a gang has ranks at two workers that cannot reach each other"},
    [750] = {"rest-ignored", "ranks go to a worker that failed a gang just now"},
    [751] = {"rest-same", "a worker that fails gangs again and again rests as long each time"},
    [752] = {"rest-kept",
             "a worker that failed gangs and does well rests as long as it would have"},
    [753] = {"files-again", "what has files goes to a worker that could not lay any"},
    [754] = {"rest-unended", "nobody looks when a worker has rested"},
    [791] = {"killed-again", "what was cancelled in a runner's queue runs when it came back"},
    [792] = {"killed-late", "what is cancelled as its runner is gone runs when it comes back"},
    [740] = {"leaves-alone", "a worker is let go with the only checkpoint of a gang"},
    [741] = {"leaves-not", "work is placed at a worker that was told to end"},
    [742] = {"leaves-unasked", "a worker that was told to end goes before it is let go"},
    [743] = {"accused-keeps", "who is said to have lost a result keeps it"},
    [770] = {"leaves-hasty", "what runs at a worker that is told to end has no time to"},
    [771] = {"pause-prepares", "a gang that prepares goes though its job was paused"},
    [773] = {"stop-half-heard", "ends of ranks of functions are not told to the next life"},
    [772] = {"pause-unadopted", "a gang that is taken over does not hear that its job was paused"},
    [720] = {"calls-deaf", "a cancelled call waits for its turn behind one that runs long"},
    [611] = {"cancel-deaf", "what runs goes on though it was cancelled"},
    [612] = {"left-behind", "what a client that is gone had submitted goes on"},
    [613] = {"lease-over", "a semaphore gives out one lease more than it has"},
    [614] = {"priority-ignored", "tasks run as they came, whatever their priority"},
    [615] = {"retries-ignored", "a task that fails is not tried again, whatever its retries"},
    [617] = {"memory-queued", "what needs memory queues where none was debited for it"},
    [616] = {"retries-endless", "a task that has retries is tried again for ever"},
    [660] = {"memfile-lent", "a result is written over one that a runner reads"},
    [661] = {"memfile-left", "a result is written over one whose descriptor went elsewhere"},
    [662] = {"memfile-strangers", "a result is written over another user's"},
    [663] = {"memfile-spilling", "a result is written over one that goes to disk"},
    [664] = {"memfile-hoards", "what lies idle is no room for anything"},
    [800] = {"report-lost", "a worker does not send its reports to another term again"},
    [801] = {"report-twice", "a report that is sent again is stored again"},
    [810] = {"account-unpaid", "an attempt that ends is charged for ever"},
    [811] = {"account-unordered", "queues keep their places when users change theirs"},
    [812] = {"account-quota-stale", "quotas are not reviewed when resources are given back"},
    [813] = {"account-usage-old", "compaction keeps an older usage"},
    [820] = {"preemption-charged", "a task that is preempted counts as killed"},
    [821] = {"preemption-early", "an attempt is preempted before it has run for the minimum"},
    [822] = {"preemption-overtaken", "others take the room that preempted work frees"},
    [823] = {"preemption-borrows", "work preempts others for what it only borrows"},
    [824] = {"preemption-equals", "work preempts others of its priority, within their quotas"},
    [825] = {"preemption-unsaved", "work is preempted that has saved nothing"},
    [827] = {"preemption-unclaimed", "a preemption does not see the quota that another one needs"},
    [828] = {"preemption-again", "work is preempted twice for one job"},
    [829] = {"preemption-waits", "a preemptor waits until the victims of another one have ended"},
    [802] = {"report-renumbered", "events of another term have the numbers of earlier ones"},
    [160] = {"recall-leak", "a recall of a task that ran all the same is never over"},
};
enum { PLANTED_COUNT = sizeof planted / sizeof *planted };
#endif

enum { TRANSITIONS_MAX = GW_SM_STATES_MAX * GW_SM_STATES_MAX, MACHINES_MAX = 16 };
static uint64_t taken[MACHINES_MAX][TRANSITIONS_MAX];

/* Returns state machine i: those of the scheduler, those of the worker, then the simulator's own.
 * Returns NULL after the last one. */
static struct gw_sm *machine(size_t i)
{
    size_t scheduler = 0, worker = 0;
    while (gw_sched_check_machine(scheduler))
        scheduler++;
    while (gw_node_core_machine(worker))
        worker++;
    if (i < scheduler)
        return gw_sched_check_machine(i);
    if (i < scheduler + worker)
        return gw_node_core_machine(i - scheduler);
    return i == scheduler + worker ? &sim_rank_sm : NULL;
}

/* Prints the counts. Returns how many of them are zero. */
static int print_counts(void)
{
    static const char *const faults[] = {
#define FAULT_NAME(name, text) text,
        FAULTS(FAULT_NAME)
#undef FAULT_NAME
    };
    int zeros = 0;
    for (int i = 0; i < FAULT_COUNT; i++) {
        printf("%-40s %llu\n", faults[i], (unsigned long long)sim_faults[i]);
        zeros += sim_faults[i] == 0;
    }
    struct gw_sm *sm;
    for (size_t i = 0; (sm = machine(i)); i++)
        for (unsigned from = 0; from < sm->count; from++)
            for (unsigned to = 0; to < sm->count; to++) {
                if (!gw_sm_may(sm, from, to))
                    continue;
                uint64_t count = sm->taken[from * sm->count + to];
                printf("%s: %s -> %s: %llu\n", sm->name, gw_sm_name(sm, from), gw_sm_name(sm, to),
                       (unsigned long long)count);
                zeros += count == 0;
            }
    return zeros;
}

/* Prints the result. Returns false if an event that should have happened did not happen. */
static bool sum_up(uint64_t from, uint64_t count)
{
    int zeros = print_counts();
    if (sim_with_accounts)
        zeros = sim_preemption_print();
    printf("%llu seeds from %llu: all safe, all ended; %d counts are zero\n",
           (unsigned long long)count, (unsigned long long)from, zeros);
    return zeros == 0;
}

static char last_words[128];
static int only_patience, only_crowd;
enum { CROWD_EVERY = 20 }; /* one in this many seeds is a crowd */

/* Every failure ends in SIGABRT. Prints the command that replays it. */
static void on_abort(int number)
{
    (void)number;
    ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written;
}

static void run(uint64_t seed, bool log)
{
    (void)snprintf(last_words, sizeof last_words,
                   "gangway-sim --seed %llu fails, commit " GANGWAY_COMMIT "\n",
                   (unsigned long long)seed);
    if (!only_patience && !only_crowd)
        sim_run(seed, log);
    if (!only_crowd)
        sim_patience_run(seed);
    if (only_crowd || (!only_patience && !sim_with_accounts && seed % CROWD_EVERY == 0))
        sim_crowd_run(seed, log);
}

#ifdef GANGWAY_PLANTED
/* Runs seeds in a child process, which a failure aborts. */
static int find_planted(const char *name, uint64_t from, uint64_t seeds)
{
    gw_planted = 0;
    for (int i = 1; i < PLANTED_COUNT; i++)
        if (planted[i].name && strcmp(planted[i].name, name) == 0)
            gw_planted = i;
    if (!gw_planted) {
        fprintf(stderr, "gangway-sim-planted: there is no bug %s; there are:\n", name);
        for (int i = 1; i < PLANTED_COUNT; i++)
            if (planted[i].name)
                fprintf(stderr, "  %-20s %s\n", planted[i].name, planted[i].what);
        return 2;
    }
    only_patience = (gw_planted >= 230 && gw_planted < 240) ||
                    gw_planted == 350; /* these bugs show in those worlds */
    only_crowd = gw_planted == 733 || gw_planted == 734;
    sim_with_accounts = gw_planted >= 810 && gw_planted < 830;
    int ends[2];
    if (pipe(ends) < 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        for (uint64_t seed = from; seed < from + seeds; seed++) {
            if (write(ends[1], &seed, sizeof seed) != sizeof seed)
                abort();
            run(seed, false);
        }
        _exit(0);
    }
    close(ends[1]);
    uint64_t seed = 0;
    while (read(ends[0], &seed, sizeof seed) == sizeof seed)
        ;
    close(ends[0]);
    int status;
    if (waitpid(child, &status, 0) < 0)
        abort();
    bool found = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    printf("%s: %s %llu\n", name, found ? "found by seed" : "not found in seeds up to",
           (unsigned long long)seed);
    return found ? 0 : 1;
}
#endif

static int quiet, diagram, all;
static const struct option options[] = {
    {"seed", required_argument, NULL, 's'},
    {"seeds", required_argument, NULL, 'n'},
    {"from", required_argument, NULL, 'f'},
    {"planted", required_argument, NULL, 'p'},
    {"diagram", no_argument, &diagram, 1},
    {"all", no_argument, &all, 1},
    {"hash", optional_argument, NULL, 'h'},
    {"quiet", no_argument, &quiet, 1},
    {"crowd", no_argument, &only_crowd, 1},
    {"patience", no_argument, &only_patience, 1},
    {"accounts", no_argument, &sim_with_accounts, 1},
    {NULL, 0, NULL, 0},
};

int main(int argc, char **argv)
{
    (void)signal(SIGABRT, on_abort);
    uint64_t from = 1, count = 1;
    bool one = false, hash = false;
    const char *bug = NULL, *recorded = NULL;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (option) {
        case 's':
            from = strtoull(optarg, NULL, 10);
            one = true;
            break;
        case 'n':
            count = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            from = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            bug = optarg;
            break;
        case 'h':
            hash = true;
            recorded = optarg;
            sim_effects_begin();
            break;
        case 0:
            break;
        default:
            return 2;
        }
    }
    struct gw_sm *sm;
    for (size_t i = 0; (sm = machine(i)); i++)
        sm->taken = taken[i];
    if (bug) {
#ifdef GANGWAY_PLANTED
        return find_planted(bug, from, count > 1 ? count : 2000);
#else
        fprintf(stderr, "gangway-sim: only gangway-sim-planted holds planted bugs\n");
        return 2;
#endif
    }
    if (diagram) {
        for (size_t i = 0; (sm = machine(i)); i++)
            gw_sm_diagram(sm, stdout);
        return 0;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* so that all output is visible when a seed aborts */
    for (uint64_t seed = from; seed < from + count; seed++)
        run(seed, one && !quiet);
    if (hash && !recorded)
        sim_effects_print();
    if (one || (hash && !recorded))
        return 0;
    bool well = sum_up(from, count) || !all;
    return (!recorded || sim_effects_compare(recorded)) && well ? 0 : 1;
}
