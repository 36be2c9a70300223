/* Three weeks of a GPU cluster that eight accounts share, in virtual time, with the production
 * core.
 *
 *     shared [DAYS [DEVIATION]]
 *
 * 32 workers with 8 GPUs. On each day each account offers 1.5 times the work of its share: jobs of
 * 1, 2, 4, 8 or 16 GPUs (80, 10, 6, 3 and 1 %), of 10 minutes in the median (log-normal, cut at a
 * day), of which a third fails within minutes, with the arrivals of a day and bursts of 100 similar
 * jobs; in each account one user of five submits 80 % of the jobs. Time limits are 1.2 to 4 times
 * the run time. Jobs with a limit of at most 30 minutes go to a queue with a higher priority. The
 * half-life is a third of the time, and the longest job a seventh of that. The same trace also runs
 * without a policy: first come, first served, with reservations and backfill.
 *
 * Prints each account's worst deviation of its decayed usage from its share, from the second
 * half-life on; the part of the time in which GPUs are busy; waits. A wait is bounded by what the
 * same user had submitted before, done at the user's share: the output says by how much a job
 * waited longer. With DEVIATION, it exits with 1 unless usage deviates from the share by at
 * most that, GPUs are busy for 96 %, short jobs wait at most half as long as without a policy, and
 * no job waits for half a half-life longer than the work before it takes.
 */
#include "graph/base/heap.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
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
    CLIENT = WORKERS + 1, /* and one more for each user */
};
#define MINUTE_S 60.
#define HOUR_S 3600.
#define DAY_S (24 * HOUR_S)
#define LOAD 1.5
#define SHORT_S (30 * MINUTE_S)
#define MEDIAN_S (10 * MINUTE_S)
#define SIGMA 2

static const int64_t shares[ACCOUNTS] = {4, 3, 2, 2, 2, 1, 1, 1};
enum { SHARES = 16 };

struct job {
    double submit_s, run_s, limit_s, start_s; /* start_s: negative if it has not started */
    /* In GPU-seconds: what the user had submitted before and had not ended; all short jobs of the
     * user until then, and until the start. */
    double before_s, short_at_submit_s, short_at_start_s;
    uint32_t account, user, ranks, placed;
    uint64_t attempt, worker[RANKS_MAX];
};

/* A job that ends. */
struct ending {
    double at_s;
    uint32_t job;
};

struct trace {
    GW_ARRAY(struct job) jobs;
    double days, half_s; /* half_s: the half-life */
};

struct shared {
    struct trace *trace;
    struct gang_core core;
    GW_ARRAY(uint32_t) job_of; /* by the number of the job in the core */
    GW_ARRAY(struct ending) ends;
    GW_ARRAY(uint32_t) starting;
    double now_s, used_s[ACCOUNTS]; /* decayed GPU-seconds as of now */
    uint32_t gpus[ACCOUNTS];        /* in use */
    /* In GPU-seconds: what a user has submitted and has not ended; short jobs until now. */
    double waiting_s[ACCOUNTS * USERS], short_s[ACCOUNTS * USERS];
    double busy_s, next_look_s, worst[ACCOUNTS]; /* worst: deviation from the share */
};

static bool ends_first(struct ending a, struct ending b)
{
    return a.at_s < b.at_s;
}

static void set_ending(struct ending *items, size_t at, struct ending ending)
{
    items[at] = ending;
}

GW_HEAP(ends, struct ending, ends_first, set_ending)

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

/* The number of jobs that arrive at this hour, compared with the mean. */
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
    struct job job = {.start_s = -1,
                      .account = account,
                      .user = account * USERS + user,
                      .ranks = draw_ranks(seed)};
    double work_s = 0;
    for (int i = 0; i < count; i++) {
        job.submit_s = submit_s + i * MINUTE_S / BURST;
        job.run_s = fmin(trace->half_s / 7, fmax(1, run_s * (.9 + .2 * draw(seed))));
        job.limit_s = 60 * ceil(job.run_s * (1.2 + 2.8 * draw(seed)) / 60);
        if (draw(seed) < 1. / 3)
            job.run_s = fmin(job.run_s, -3 * MINUTE_S * log(draw(seed)));
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

static void set_policy(struct gw_sched *sched, double half_s)
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
    }
    static const struct gw_queue_config queue = {
        .name = "short", .priority = 1, .limits = {.time_limit_ns = (int64_t)(SHORT_S * 1e9)}};
    struct gw_error error;
    if (gw_sched_policy_set(sched,
                            &(struct gw_cluster_policy){.accounts = accounts,
                                                        .account_count = ACCOUNTS,
                                                        .queues = &queue,
                                                        .queue_count = 1,
                                                        .usage_halves_ns = (uint64_t)(half_s * 1e9),
                                                        .gpu_weight = 1},
                            &error) < 0) {
        fprintf(stderr, "shared: %s\n", error.text);
        exit(1);
    }
}

static bool is_short(const struct job *job)
{
    return job->limit_s <= SHORT_S;
}

/* Changes by time alone are handled with the next event. */
static void tick(struct shared *run)
{
    if (gw_sched_deadline_ns(run->core.sched) < run->core.now_ns)
        gang_core_step(&run->core, (struct gw_event){.type = GW_EVENT_TICK});
}

static void submit(struct shared *run, uint32_t number, bool shares_used)
{
    struct job *job = &run->trace->jobs.items[number];
    job->before_s = run->waiting_s[job->user];
    run->waiting_s[job->user] += job->run_s * job->ranks;
    run->short_s[job->user] += is_short(job) ? job->run_s * job->ranks : 0;
    job->short_at_submit_s = run->short_s[job->user];
    GW_MUST(gw_array_push(&run->job_of, number));
    gang_core_submit(&run->core, CLIENT + job->user,
                     &(struct gw_msg_spec){.key = number + 1,
                                           .ranks = job->ranks > 1 ? job->ranks : 0,
                                           .time_limit_ns = (uint64_t)(job->limit_s * 1e9),
                                           .grace_ns = 1,
                                           .queue = shares_used && is_short(job) ? "short" : ""});
}

/* Starts the jobs that were placed. Starting one may place others. */
static void start(struct shared *run)
{
    for (size_t i = 0; i < run->starting.count; i++) {
        const uint32_t number = run->starting.items[i];
        struct job *job = &run->trace->jobs.items[number];
        uint32_t rank = GW_RANK_NONE;
        job->start_s = run->now_s;
        job->short_at_start_s = run->short_s[job->user];
        run->gpus[job->account] += job->ranks;
        GW_MUST(gw_array_push(&run->ends, ((struct ending){run->now_s + job->run_s, number})));
        ends_up(run->ends.items, run->ends.count - 1);
        if (job->ranks == 1)
            gang_core_send(&run->core, job->worker[0],
                           (struct gw_message){
                               .type = GW_MESSAGE_started,
                               .started = {.attempt = {&job->attempt, 1}, .rank = {&rank, 1}}});
        for (rank = 0; job->ranks > 1 && rank < job->ranks; rank++)
            gang_core_rank_ready(&run->core, job->worker[rank], job->attempt, rank);
    }
    gw_array_clear(&run->starting);
}

static void end(struct shared *run, uint32_t number)
{
    const struct job *job = &run->trace->jobs.items[number];
    run->gpus[job->account] -= job->ranks;
    run->waiting_s[job->user] -= job->run_s * job->ranks;
    for (uint32_t i = 0; i < job->ranks; i++)
        gang_core_finish(&run->core, job->worker[i], job->attempt,
                         job->ranks == 1 ? GW_RANK_NONE : i, (uint64_t)(job->run_s * 1e9));
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

struct result {
    double worst, busy, short_wait_s, wait_s, longest_s, late_s;
    uint32_t started;
};

/* The longest time that the work before a job takes, if its user gets no more than the share: what
 * the user had submitted before the job, and short jobs that the user submitted while it waited. */
static double bound_s(const struct shared *run, const struct job *job)
{
    const double gpus = ALL_GPUS * (double)shares[job->account] / SHARES / USERS;
    const double short_s = job->start_s < 0 ? run->short_s[job->user] : job->short_at_start_s;
    return (job->before_s + short_s - job->short_at_submit_s) / gpus;
}

/* Waits of jobs that have not started count until the end. */
static struct result result_of(const struct shared *run)
{
    struct result result = {.busy = run->busy_s / (run->now_s * ALL_GPUS)};
    uint32_t shorts = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        result.worst = fmax(result.worst, fabs(run->worst[i]));
    for (size_t i = 0; i < run->trace->jobs.count; i++) {
        const struct job *job = &run->trace->jobs.items[i];
        const double wait_s = (job->start_s < 0 ? run->now_s : job->start_s) - job->submit_s;
        result.started += job->start_s >= 0;
        result.wait_s += wait_s / (double)run->trace->jobs.count;
        result.short_wait_s += is_short(job) ? wait_s : 0;
        shorts += is_short(job);
        result.longest_s = fmax(result.longest_s, wait_s);
        result.late_s = fmax(result.late_s, wait_s - bound_s(run, job));
    }
    result.short_wait_s /= shorts;
    return result;
}

static struct result run_trace(struct trace *trace, bool shares_used)
{
    struct shared run = {.core = {.now_ns = 1, .on_assign = take_assign, .context = &run},
                         .trace = trace};
    gang_core_init(&run.core,
                   &(struct gw_sched_options){.heartbeat_ns = UINT64_MAX / 4,
                                              .worker_lost_ns = UINT64_MAX / 4,
                                              .history_jobs = 10},
                   CLIENT + ACCOUNTS * USERS);
    GW_MUST(gw_array_push(&run.job_of, 0)); /* the first job has the number 1 */
    if (shares_used)
        set_policy(run.core.sched, trace->half_s);
    for (uint64_t i = 1; i <= WORKERS; i++)
        gang_core_add_worker(&run.core, i);
    for (uint32_t i = 0; i < ACCOUNTS * USERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "user-%" PRIu32, i);
        gang_core_add_client(&run.core, CLIENT + i, name);
    }
    for (uint32_t i = 0; i < trace->jobs.count; i++) {
        trace->jobs.items[i].start_s = -1;
        trace->jobs.items[i].placed = 0;
    }
    for (uint32_t next = 0; run.now_s < trace->days * DAY_S;) {
        const double submit_s =
            next < trace->jobs.count ? trace->jobs.items[next].submit_s : trace->days * DAY_S;
        tick(&run);
        start(&run);
        if (run.ends.count && run.ends.items[0].at_s <= submit_s) {
            const struct ending ending = run.ends.items[0];
            ends_remove(run.ends.items, &run.ends.count, 0);
            go_on(&run, ending.at_s);
            end(&run, ending.job);
        } else {
            go_on(&run, submit_s);
            if (next < trace->jobs.count)
                submit(&run, next++, shares_used);
        }
    }
    const struct result result = result_of(&run);
    for (int i = 0; shares_used && i < ACCOUNTS; i++)
        printf("  account %d: share %4.1f %%, worst deviation %+.3f\n", i,
               100. * (double)shares[i] / SHARES, run.worst[i]);
    gang_core_deinit(&run.core);
    gw_array_deinit(&run.job_of);
    gw_array_deinit(&run.ends);
    gw_array_deinit(&run.starting);
    return result;
}

static void print(const char *name, const struct trace *trace, const struct result *result)
{
    printf(
        "%s: GPUs busy %.4f, wait of short jobs %.2f h, of all %.2f h, longest %.1f h (%.1f h more "
        "than the work before it), %" PRIu32
        " of %zu jobs started, worst deviation from a share %.3f\n",
        name, result->busy, result->short_wait_s / HOUR_S, result->wait_s / HOUR_S,
        result->longest_s / HOUR_S, result->late_s / HOUR_S, result->started, trace->jobs.count,
        result->worst);
}

int main(int argc, char **argv)
{
    struct trace trace = {.days = argc > 1 ? strtod(argv[1], NULL) : 21};
    const double deviation_max = argc > 2 ? strtod(argv[2], NULL) : INFINITY;
    trace.half_s = trace.days * DAY_S / 3;
    make_trace(&trace, 7);
    const struct result fair = run_trace(&trace, true);
    print("fair share", &trace, &fair);
    const struct result fifo = run_trace(&trace, false);
    print("first come", &trace, &fifo);
    gw_array_deinit(&trace.jobs);
    return argc > 2 &&
           (fair.worst > deviation_max || fair.busy < .96 ||
            fair.short_wait_s > .5 * fifo.short_wait_s || fair.late_s > trace.half_s / 2);
}
