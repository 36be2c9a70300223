/* Three weeks of a GPU cluster that eight accounts share, in virtual time, with the production
 * core.
 *
 *     shared [DAYS [DEVIATION [SEEDS]]]
 *
 * 32 workers with 8 GPUs. On each day each account offers 1.5 times the work of its share: jobs of
 * 1, 2, 4, 8 or 16 GPUs (80, 10, 6, 3 and 1 %), of 10 minutes in the median (log-normal, cut at a
 * day), of which a third fails within minutes, with the arrivals of a day and bursts of 100 similar
 * jobs; in each account one user of five submits 80 % of the jobs. Time limits are 1.2 to 4 times
 * the run time. Jobs with a limit of at most 30 minutes go to a queue with a higher priority.
 * Longer ones are gangs that save a checkpoint each half hour; one in fifty goes to a queue with
 * the highest priority. The half-life is a third of the time, and the longest job a seventh of
 * that.
 *
 * The same trace runs three times:
 *   preemption   each account has a quota: a quarter of the GPUs of its share. It borrows more.
 *                A job that is preempted loses the work since its checkpoint.
 *   fair share   no quotas, and nothing is preempted (all jobs are too young).
 *   first come   no accounts: first come, first served, with reservations and backfill.
 *
 * Prints each account's worst deviation of its decayed usage from its share, from the second
 * half-life on; the part of the time in which GPUs are busy (and in which they do work that is not
 * lost); waits, those after preemptions included; and preemptions. A wait is bounded by what the
 * same user had submitted before, done at the user's share: the output says by how much a job
 * waited longer. With more than one of SEEDS, it also prints the worst and the median of each
 * figure. With DEVIATION, it exits with 1 unless, for each seed, usage deviates from the share by
 * at most that, GPUs are busy for 96 %, short jobs wait at most half as long as without accounts,
 * and no job waits for half a half-life longer than the work before it takes.
 */
#include "graph/base/heap.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "scheduler/core/sched.h"
#include "tests/bench/gang_core.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACCOUNTS = 8,
    USERS = 5,
    WORKERS = 32,
    ALL_GPUS = WORKERS * GANG_CORE_GPUS,
    RANKS_MAX = 16,
    BURST = 100,
    SEEDS_MAX = 100,
    CLIENT = 1000, /* and one more for each user */
};
#define MINUTE_S 60.
#define HOUR_S 3600.
#define DAY_S (24 * HOUR_S)
#define LOAD 1.5
#define SHORT_S (30 * MINUTE_S)
#define SAVE_S (30 * MINUTE_S) /* between two checkpoints of a job */
#define END_S 10.              /* from a preemption until the processes of the job have ended */
#define MEDIAN_S (10 * MINUTE_S)
#define SIGMA 2
#define QUOTA .25  /* of the GPUs of its share that an account never has to wait for */
#define URGENT .02 /* of the jobs that are not short */

static const int64_t shares[ACCOUNTS] = {4, 3, 2, 2, 2, 1, 1, 1};
enum { SHARES = 16 };

struct job {
    double submit_s, run_s, limit_s;
    bool urgent;
    uint32_t account, user, ranks;
    /* How it goes: since when it waits (negative: it runs or has ended), and how long it has waited
     * before; work that is saved; begin of the attempt, and time of its last checkpoint. */
    double waits_s, waited_s, done_s, began_s, saved_s;
    /* In GPU-seconds: what the user had submitted before and had not ended; all short jobs of the
     * user until then, and until the last start. */
    double before_s, short_at_submit_s, short_at_start_s;
    bool started, killed;
    uint32_t placed;
    uint64_t attempt, worker[RANKS_MAX];
};

enum event_type { END, SAVE, KILLED };

/* What happens to an attempt of a job, if the attempt has not ended before. */
struct event {
    double at_s;
    uint64_t attempt;
    uint32_t job;
    enum event_type type;
};

struct trace {
    GW_ARRAY(struct job) jobs;
    double days, half_s; /* half_s: the half-life */
};

struct shared {
    struct gang_core core;
    struct trace *trace;
    GW_ARRAY(uint32_t) job_of; /* by the number of the job in the core */
    GW_ARRAY(struct event) events;
    GW_ARRAY(uint32_t) starting;
    double now_s, used_s[ACCOUNTS]; /* decayed GPU-seconds as of now */
    uint32_t gpus[ACCOUNTS];        /* in use */
    /* In GPU-seconds: what a user has submitted and has not ended; short jobs until now. */
    double waiting_s[ACCOUNTS * USERS], short_s[ACCOUNTS * USERS];
    double busy_s, lost_s, next_look_s, worst[ACCOUNTS]; /* worst: deviation from the share */
    uint32_t preemptions;
};

static bool is_earlier(struct event a, struct event b)
{
    return a.at_s < b.at_s;
}

static void set_event(struct event *items, size_t at, struct event event)
{
    items[at] = event;
}

GW_HEAP(events, struct event, is_earlier, set_event)

static bool is_short(const struct job *job)
{
    return job->limit_s <= SHORT_S;
}

/* -- The trace -------------------------------------------------------------------------------- */

static double draw(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(*seed >> 11) + .5) * 0x1p-53;
}

static double draw_normal(uint64_t *seed)
{
    const double u = draw(seed);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * draw(seed));
}

static uint32_t draw_ranks(uint64_t *seed)
{
    const double u = draw(seed);
    return u < .8 ? 1 : u < .9 ? 2 : u < .96 ? 4 : u < .99 ? 8 : 16;
}

/* How many jobs arrive at this hour, compared with the mean. */
static double rate_at(double s)
{
    const double hour = fmod(s, DAY_S) / HOUR_S;
    return hour < 8 ? .7 : hour < 12 ? 1.2 : hour < 14 ? .85 : hour < 20 ? 1.15 : 1;
}

static double draw_time(uint64_t *seed, double day)
{
    for (;;) {
        const double s = (day + draw(seed)) * DAY_S;
        if (draw(seed) * 1.2 < rate_at(s))
            return s;
    }
}

static int by_submit(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    return x->submit_s < y->submit_s ? -1 : x->submit_s > y->submit_s;
}

/* Adds a job of an account, or a burst of similar ones. Returns their work in GPU-seconds. */
static double add_jobs(struct trace *trace, uint32_t account, double day, uint64_t *seed)
{
    const uint32_t user = draw(seed) < .8 ? 0 : 1 + (uint32_t)((USERS - 1) * draw(seed));
    const double submit_s = draw_time(seed, day), run_s = MEDIAN_S * exp(SIGMA * draw_normal(seed));
    const int count = draw(seed) < .005 ? BURST : 1;
    struct job job = {
        .account = account, .user = account * USERS + user, .ranks = draw_ranks(seed)};
    double work_s = 0;
    for (int i = 0; i < count; i++) {
        job.submit_s = submit_s + i * MINUTE_S / BURST;
        job.run_s = fmin(trace->half_s / 7, fmax(1, run_s * (.9 + .2 * draw(seed))));
        job.limit_s = 60 * ceil(job.run_s * (1.2 + 2.8 * draw(seed)) / 60);
        if (draw(seed) < 1. / 3)
            job.run_s = fmin(job.run_s, -3 * MINUTE_S * log(draw(seed)));
        job.urgent = !is_short(&job) && draw(seed) < URGENT;
        work_s += job.run_s * job.ranks;
        GW_MUST(gw_array_push(&trace->jobs, job));
    }
    return work_s;
}

/* Each account has its load on each day. The excess of a day's last job is taken from
 * the next day. */
static void make_trace(struct trace *trace, uint64_t seed)
{
    for (uint32_t account = 0; account < ACCOUNTS; account++) {
        double work_s = 0;
        for (int day = 0; day < trace->days; day++)
            while (work_s < (day + 1) * DAY_S * LOAD * ALL_GPUS * (double)shares[account] / SHARES)
                work_s += add_jobs(trace, account, day, &seed);
    }
    qsort(trace->jobs.items, trace->jobs.count, sizeof *trace->jobs.items, by_submit);
}

/* Only gangs save checkpoints. */
static bool is_gang(const struct job *job)
{
    return job->ranks > 1 || !is_short(job);
}

/* -- The cluster ------------------------------------------------------------------------------ */

static void take_assign(void *context, uint64_t worker, const struct gw_msg_assign *assign)
{
    struct shared *run = context;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        const uint32_t number = run->job_of.items[gw_col64_at(assign->job, i)];
        struct job *job = &run->trace->jobs.items[number];
        job->attempt = gw_col64_at(assign->attempt, i);
        job->worker[job->ranks == 1 ? 0 : gw_col32_at(assign->rank, i)] = worker;
        if (++job->placed == job->ranks)
            GW_MUST(gw_array_push(&run->starting, number));
    }
}

static void add_event(struct shared *run, uint32_t number, enum event_type type, double after_s)
{
    const uint64_t attempt = run->trace->jobs.items[number].attempt;
    GW_MUST(
        gw_array_push(&run->events, ((struct event){run->now_s + after_s, attempt, number, type})));
    events_up(run->events.items, run->events.count - 1);
}

/* A running job is preempted. Each worker of a gang is told. */
static void take_kill(void *context, uint64_t attempt)
{
    struct shared *run = context;
    for (size_t i = 0; i < run->events.count; i++) {
        const struct event *event = &run->events.items[i];
        struct job *job = &run->trace->jobs.items[event->job];
        if (event->attempt != attempt || event->type != END || job->attempt != attempt)
            continue;
        if (!job->killed)
            add_event(run, event->job, KILLED, END_S);
        job->killed = true;
        return;
    }
}

static void set_policy(struct gw_sched *sched, double half_s, bool preempts)
{
    static char names[ACCOUNTS][16], users[ACCOUNTS * USERS][16];
    const char *members[ACCOUNTS][USERS];
    struct gw_account_config accounts[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++) {
        (void)snprintf(names[i], sizeof names[i], "team-%d", i);
        for (int k = 0; k < USERS; k++) {
            (void)snprintf(users[i * USERS + k], sizeof users[0], "user-%d", i * USERS + k);
            members[i][k] = users[i * USERS + k];
        }
        accounts[i] = (struct gw_account_config){
            .name = names[i], .shares = shares[i], .users = members[i], .user_count = USERS};
        if (preempts)
            accounts[i].limits.gpus = (int64_t)(QUOTA * ALL_GPUS * (double)shares[i] / SHARES);
    }
    static const struct gw_queue_config queues[] = {
        {.name = "short", .priority = 1, .limits = {.time_limit_ns = (int64_t)(SHORT_S * 1e9)}},
        {.name = "urgent", .priority = 2}};
    struct gw_error error;
    if (gw_sched_policy_set(sched,
                            &(struct gw_cluster_policy){
                                .accounts = accounts,
                                .account_count = ACCOUNTS,
                                .queues = queues,
                                .queue_count = 2,
                                .preempt_after_ns = preempts ? GW_PREEMPT_AFTER_NS : UINT64_MAX,
                                .usage_halves_ns = (uint64_t)(half_s * 1e9),
                                .gpu_weight = 1},
                            &error) < 0) {
        fprintf(stderr, "shared: %s\n", error.text);
        exit(1);
    }
}

/* Changes by time alone are handled with the next event. */
static void tick(struct shared *run)
{
    if (gw_sched_deadline_ns(run->core.sched) < run->core.now_ns)
        gang_core_step(&run->core, (struct gw_event){.type = GW_EVENT_TICK});
}

static void submit(struct shared *run, uint32_t number, bool accounts)
{
    struct job *job = &run->trace->jobs.items[number];
    const char *queue = is_short(job) ? "short" : job->urgent ? "urgent" : "";
    job->waits_s = run->now_s;
    job->before_s = run->waiting_s[job->user];
    run->waiting_s[job->user] += job->run_s * job->ranks;
    run->short_s[job->user] += is_short(job) ? job->run_s * job->ranks : 0;
    job->short_at_submit_s = run->short_s[job->user];
    GW_MUST(gw_array_push(&run->job_of, number));
    gang_core_submit(&run->core, CLIENT + job->user,
                     &(struct gw_msg_spec){.key = number + 1,
                                           .kind = GW_SPEC_COMMAND,
                                           .ranks = is_gang(job) ? job->ranks : 0,
                                           .time_limit_ns = (uint64_t)(job->limit_s * 1e9),
                                           .grace_ns = (uint64_t)(2 * END_S * 1e9),
                                           .queue = accounts ? queue : ""});
}

/* Starts the jobs that were placed. Starting one may place others. */
static void start(struct shared *run)
{
    for (size_t i = 0; i < run->starting.count; i++) {
        const uint32_t number = run->starting.items[i];
        struct job *job = &run->trace->jobs.items[number];
        uint32_t rank = GW_RANK_NONE;
        job->waited_s += run->now_s - job->waits_s;
        job->waits_s = -1;
        job->began_s = job->saved_s = run->now_s;
        job->short_at_start_s = run->short_s[job->user];
        job->started = true;
        run->gpus[job->account] += job->ranks;
        add_event(run, number, END, job->run_s - job->done_s);
        if (!is_short(job))
            add_event(run, number, SAVE, SAVE_S);
        if (!is_gang(job))
            gang_core_send(&run->core, job->worker[0],
                           (struct gw_message){
                               .type = GW_MESSAGE_started,
                               .started = {.attempt = {&job->attempt, 1}, .rank = {&rank, 1}}});
        for (rank = 0; is_gang(job) && rank < job->ranks; rank++)
            gang_core_rank_ready(&run->core, job->worker[rank], job->attempt, rank);
    }
    gw_array_clear(&run->starting);
}

static void save(struct shared *run, uint32_t number)
{
    struct job *job = &run->trace->jobs.items[number];
    job->saved_s = run->now_s;
    add_event(run, number, SAVE, SAVE_S);
    gang_core_send(&run->core, job->worker[0],
                   (struct gw_message){
                       .type = GW_MESSAGE_checkpointed,
                       .checkpointed = {job->attempt, 0, (int64_t)(job->done_s + job->saved_s)}});
}

static void end_rank(struct shared *run, const struct job *job, uint32_t i, bool killed)
{
    const uint64_t run_ns = (uint64_t)((run->now_s - job->began_s) * 1e9);
    const uint32_t rank = is_gang(job) ? i : GW_RANK_NONE;
    if (!killed)
        gang_core_finish(&run->core, job->worker[i], job->attempt, rank, run_ns);
    else
        gang_core_send(&run->core, job->worker[i],
                       (struct gw_message){.type = GW_MESSAGE_ended,
                                           .ended = {.attempt = job->attempt,
                                                     .rank = rank,
                                                     .outcome = GW_OUTCOME_KILLED,
                                                     .executing = 1,
                                                     .run_ns = run_ns,
                                                     .text = "",
                                                     .stderr_tail = ""}});
}

/* An attempt has ended. If it was killed, the job continues later, from its checkpoint. */
static void end(struct shared *run, uint32_t number, bool killed)
{
    struct job *job = &run->trace->jobs.items[number];
    const struct job before = *job;
    run->gpus[job->account] -= job->ranks;
    job->attempt = 0;
    job->placed = 0;
    job->killed = false;
    if (killed) {
        run->preemptions++;
        run->lost_s += (run->now_s - job->saved_s) * job->ranks;
        job->done_s += job->saved_s - job->began_s;
        job->waits_s = run->now_s;
    } else {
        run->waiting_s[job->user] -= job->run_s * job->ranks;
    }
    for (uint32_t i = 0; i < job->ranks; i++)
        end_rank(run, &before, i, killed);
}

/* Lets time pass: usage decays and grows. */
static void go_on(struct shared *run, double to_s)
{
    const double halves = (to_s - run->now_s) / run->trace->half_s, left = exp2(-halves);
    double all = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        run->used_s[i] =
            run->used_s[i] * left + run->gpus[i] * run->trace->half_s / M_LN2 * (1 - left);
        run->busy_s += run->gpus[i] * (to_s - run->now_s);
        all += run->used_s[i];
    }
    run->now_s = to_s;
    run->core.now_ns = (uint64_t)(to_s * 1e9) + 1;
    if (to_s < run->trace->half_s || to_s < run->next_look_s)
        return;
    run->next_look_s = to_s + HOUR_S;
    for (int i = 0; i < ACCOUNTS; i++) {
        const double deviation = run->used_s[i] / all / ((double)shares[i] / SHARES) - 1;
        if (fabs(deviation) > fabs(run->worst[i]))
            run->worst[i] = deviation;
    }
}

/* -- The result ------------------------------------------------------------------------------- */

enum figure { WORST, BUSY, USED, SHORT, WAIT, LONGEST, LATE, PREEMPTIONS, LOST, FIGURES };

static const char *const figure_names[] = {"worst deviation from a share",
                                           "GPUs busy",
                                           "with work that is not lost",
                                           "wait of short jobs [h]",
                                           "wait of all [h]",
                                           "longest [h]",
                                           "longer than the work before it [h]",
                                           "preemptions",
                                           "lost GPU-hours"};

struct result {
    double of[FIGURES];
};

/* The longest time that the work before a job takes, if its user gets no more than the share: what
 * the user had submitted before the job, and short jobs that the user submitted while it waited. */
static double bound_s(const struct shared *run, const struct job *job)
{
    const double gpus = ALL_GPUS * (double)shares[job->account] / SHARES / USERS;
    const double short_s = job->waits_s >= 0 ? run->short_s[job->user] : job->short_at_start_s;
    return (job->before_s + short_s - job->short_at_submit_s) / gpus;
}

/* Waits that have not ended count until the end. */
static struct result result_of(const struct shared *run)
{
    const double all_s = run->now_s * ALL_GPUS;
    struct result result = {.of = {[BUSY] = run->busy_s / all_s,
                                   [USED] = (run->busy_s - run->lost_s) / all_s,
                                   [PREEMPTIONS] = run->preemptions,
                                   [LOST] = run->lost_s / HOUR_S}};
    uint32_t shorts = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        result.of[WORST] = fmax(result.of[WORST], fabs(run->worst[i]));
    for (size_t i = 0; i < run->trace->jobs.count; i++) {
        const struct job *job = &run->trace->jobs.items[i];
        const double wait_s = job->waited_s + (job->waits_s < 0 ? 0 : run->now_s - job->waits_s);
        result.of[WAIT] += wait_s / HOUR_S / (double)run->trace->jobs.count;
        result.of[SHORT] += is_short(job) ? wait_s / HOUR_S : 0;
        shorts += is_short(job);
        result.of[LONGEST] = fmax(result.of[LONGEST], wait_s / HOUR_S);
        result.of[LATE] = fmax(result.of[LATE], (wait_s - bound_s(run, job)) / HOUR_S);
    }
    result.of[SHORT] /= shorts;
    return result;
}

static void reset(struct trace *trace)
{
    for (size_t i = 0; i < trace->jobs.count; i++) {
        struct job *job = &trace->jobs.items[i];
        job->waits_s = -1; /* it may come after the end */
        job->waited_s = job->done_s = 0;
        job->started = job->killed = false;
        job->placed = 0;
        job->attempt = 0;
    }
}

static void happen(struct shared *run, struct event event)
{
    const struct job *job = &run->trace->jobs.items[event.job];
    if (job->attempt != event.attempt || (job->killed && event.type != KILLED))
        return;
    if (event.type == SAVE)
        save(run, event.job);
    else
        end(run, event.job, event.type == KILLED);
}

enum mode { FIRST_COME, FAIR_SHARE, PREEMPTION, MODES };

static void begin(struct shared *run, enum mode mode)
{
    gang_core_init(&run->core,
                   &(struct gw_sched_options){.heartbeat_ns = UINT64_MAX / 4,
                                              .worker_lost_ns = UINT64_MAX / 4,
                                              .history_jobs = 10},
                   CLIENT + ACCOUNTS * USERS);
    GW_MUST(gw_array_push(&run->job_of, 0)); /* the first job has the number 1 */
    if (mode != FIRST_COME)
        set_policy(run->core.sched, run->trace->half_s, mode == PREEMPTION);
    for (uint64_t i = 1; i <= WORKERS; i++)
        gang_core_add_worker(&run->core, i);
    for (uint32_t i = 0; i < ACCOUNTS * USERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "user-%" PRIu32, i);
        gang_core_add_client(&run->core, CLIENT + i, name);
    }
}

static struct result run_trace(struct trace *trace, enum mode mode)
{
    struct shared run = {.trace = trace};
    run.core = (struct gang_core){
        .now_ns = 1, .on_assign = take_assign, .on_kill = take_kill, .context = &run};
    const double end_s = trace->days * DAY_S;
    reset(trace);
    begin(&run, mode);
    for (uint32_t next = 0; run.now_s < end_s;) {
        const double submit_s = next < trace->jobs.count ? trace->jobs.items[next].submit_s : end_s;
        tick(&run);
        start(&run);
        if (run.events.count && run.events.items[0].at_s <= submit_s) {
            const struct event event = run.events.items[0];
            events_remove(run.events.items, &run.events.count, 0);
            go_on(&run, event.at_s);
            happen(&run, event);
        } else {
            go_on(&run, submit_s);
            if (next < trace->jobs.count)
                submit(&run, next++, mode != FIRST_COME);
        }
    }
    const struct result result = result_of(&run);
    for (int i = 0; mode != FIRST_COME && i < ACCOUNTS; i++)
        printf("  account %d: share %4.1f %%, worst deviation %+.3f\n", i,
               100. * (double)shares[i] / SHARES, run.worst[i]);
    gang_core_deinit(&run.core);
    gw_array_deinit(&run.job_of);
    gw_array_deinit(&run.events);
    gw_array_deinit(&run.starting);
    return result;
}

static const char *const mode_names[] = {"first come", "fair share", "preemption"};

static void print(const char *name, const struct result *result)
{
    printf("%s:", name);
    for (int i = 0; i < FIGURES; i++)
        printf("%s %s %.4g", i ? "," : "", figure_names[i], result->of[i]);
    printf("\n");
    (void)fflush(stdout);
}

static bool holds(const struct result *result, const struct result *first_come,
                  const struct trace *trace, double deviation_max)
{
    return result->of[WORST] <= deviation_max && result->of[BUSY] >= .96 &&
           result->of[SHORT] <= .5 * first_come->of[SHORT] &&
           result->of[LATE] <= trace->half_s / 2 / HOUR_S;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_all(const char *name, const struct result *results, size_t count)
{
    struct result median, least, most;
    double values[SEEDS_MAX];
    for (int k = 0; k < FIGURES; k++) {
        for (size_t i = 0; i < count; i++)
            values[i] = results[i].of[k];
        qsort(values, count, sizeof *values, by_value);
        median.of[k] = values[count / 2];
        least.of[k] = values[0];
        most.of[k] = values[count - 1];
    }
    printf("%zu seeds, %s\n", count, name);
    print("  least", &least);
    print("  median", &median);
    print("  most", &most);
}

int main(int argc, char **argv)
{
    struct trace trace = {.days = argc > 1 ? strtod(argv[1], NULL) : 21};
    const double deviation_max = argc > 2 ? strtod(argv[2], NULL) : INFINITY;
    const unsigned long seeds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    static struct result results[MODES][SEEDS_MAX];
    bool good = true;
    trace.half_s = trace.days * DAY_S / 3;
    for (unsigned long i = 0; i < seeds && i < SEEDS_MAX; i++) {
        make_trace(&trace, 7 + i);
        printf("seed %lu: %zu jobs\n", 7 + i, trace.jobs.count);
        for (int mode = 0; mode < MODES; mode++) {
            results[mode][i] = run_trace(&trace, (enum mode)mode);
            print(mode_names[mode], &results[mode][i]);
            good &= mode == FIRST_COME ||
                    holds(&results[mode][i], &results[FIRST_COME][i], &trace, deviation_max);
        }
        gw_array_clear(&trace.jobs);
    }
    for (int mode = 0; mode < MODES && seeds > 1; mode++)
        print_all(mode_names[mode], results[mode], seeds);
    gw_array_deinit(&trace.jobs);
    return argc > 2 && !good;
}
