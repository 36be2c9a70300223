/* Runs a sweep of trials that sleep, in a private cluster, and prints what it took.
 *
 *     sweep_bench TRIALS MS random|tpe [attached|durable] [SLOTS]
 *
 * Trials are functions; MS 0: they return at once. Prints the seconds from before the cluster was
 * started to the end of the sweep, trials a second, the share of the time in which slots were busy,
 * and the CPU time of the client for each trial. The share counts MS milliseconds for each trial up
 * to the end of the last trial but SLOTS: the slots of the last wave have nothing to wait for.
 * durable: the scheduler keeps the trials, as with `gangway sweep`; then the sweep is also made
 * again from what it keeps, which must be equal, and the seconds of that are printed. */
#include "graph/base/clock.h"

#include <gangway/gangway.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* What the trial computes is a device that is busy for so long. */
static void work(int64_t ms)
{
    const struct itimerspec length = {.it_value.tv_nsec = ms * (long)GW_NS_PER_MS};
    uint64_t times;
    const int device = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timerfd_settime(device, 0, &length, NULL) == 0)
        (void)!read(device, &times, sizeof times);
    (void)close(device);
}

static int trial(struct gw_task *task)
{
    struct gw_value *params = NULL;
    double x = 0;
    int64_t ms = 0;
    int rc = gw_task_arg_value(task, 0, &params);
    if (rc == 0)
        rc = gw_value_get_f64(gw_value_find(params, "x"), &x, NULL);
    if (rc == 0)
        rc = gw_value_get_i64(gw_value_find(params, "ms"), &ms, NULL);
    if (rc < 0)
        return rc;
    if (ms > 0)
        work(ms);
    return gw_task_return(task, gw_f64(x));
}
GW_TASK(trial);

static int compare_times(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return (one > two) - (one < two);
}

/* When the last trial but `slots` has ended. */
static uint64_t find_end_ns(const struct gw_sweep *sweep, uint32_t slots)
{
    const uint32_t count = gw_sweep_count(sweep);
    uint64_t *times = calloc(count + 1, sizeof *times), end_ns;
    for (uint32_t i = 0; times && i < count; i++)
        times[i] = gw_sweep_trial(sweep, i)->ended_ns;
    if (!times)
        return 0;
    qsort(times, count, sizeof *times, compare_times);
    end_ns = times[count > slots ? count - slots - 1 : 0];
    free(times);
    return end_ns;
}

static double cpu_us(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct settings {
    const char *ms;
    uint32_t trials, slots;
    bool tpe, durable;
    struct gw_client *client;
    double load_s;
};

static void load(struct gw_sweep *run, void *arg);

static struct gw_sweep *make_sweep(struct settings *settings)
{
    struct gw_error error;
    struct gw_space *space = gw_space_new();
    struct gw_sweep *sweep = NULL;
    char constant[32];
    (void)snprintf(constant, sizeof constant, "ms=%s", settings->ms);
    if (gw_space_add(space, "x=0..1", &error) < 0 || gw_space_add(space, constant, &error) < 0 ||
        gw_sweep_new(space,
                     GW_SEARCH_OPTIONS(.method = settings->tpe ? GW_SEARCH_TPE : GW_SEARCH_RANDOM,
                                       .trials = settings->trials),
                     GW_SWEEP_OPTIONS(.name = "bench", .attached = !settings->durable,
                                      .on_change = load, .arg = settings,
                                      .function = GW_FUNCTION(trial)),
                     &sweep, &error) < 0)
        gw_error_exit(&error);
    return sweep;
}

/* Makes the sweep again from what the scheduler keeps, when all trials have ended and their results
 * are still held. */
static void load(struct gw_sweep *run, void *arg)
{
    struct settings *settings = arg;
    struct gw_error error;
    uint32_t done = 0;
    if (!settings->durable || gw_sweep_count(run) < settings->trials)
        return;
    for (uint32_t i = 0; i < gw_sweep_count(run); i++)
        done += gw_sweep_trial(run, i)->trial->state == GW_TRIAL_DONE;
    if (done < settings->trials)
        return;
    struct gw_sweep *sweep = make_sweep(settings);
    const uint64_t begin_ns = gw_clock_now_ns();
    if (gw_sweep_load(sweep, settings->client, &error) < 0)
        gw_error_exit(&error);
    settings->load_s = (double)(gw_clock_now_ns() - begin_ns) / 1e9;
    for (uint32_t i = 0; i < settings->trials; i++) {
        const struct gw_trial *trial = gw_sweep_trial(run, i)->trial,
                              *loaded = gw_sweep_trial(sweep, i)->trial;
        if (loaded->state != GW_TRIAL_DONE || loaded->value != trial->value) {
            fprintf(stderr, "sweep_bench: trial %" PRIu32 " is another one after the load\n", i);
            exit(1);
        }
    }
    gw_sweep_free(sweep);
}

int main(int argc, char **argv)
{
    struct gw_error error;
    gw_init(&argc, &argv);
    if (argc < 4) {
        fprintf(stderr, "usage: sweep_bench TRIALS MS random|tpe [attached|durable] [SLOTS]\n");
        return 2;
    }
    struct settings settings = {.trials = (uint32_t)strtoul(argv[1], NULL, 10),
                                .ms = argv[2],
                                .tpe = strcmp(argv[3], "tpe") == 0,
                                .durable = argc > 4 && strcmp(argv[4], "durable") == 0,
                                .slots = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 2};
    const uint32_t trials = settings.trials, slots = settings.slots;
    struct gw_sweep *sweep = make_sweep(&settings);
    const double cpu_before_us = cpu_us();
    const uint64_t begin_ns = gw_clock_now_ns(), begin_wall_ns = gw_clock_wall_ns();
    if (gw_client_open(GW_CLIENT_OPTIONS(.slots = slots), &settings.client, &error) < 0 ||
        gw_sweep_run(sweep, settings.client, &error) < 0)
        gw_error_exit(&error);
    const double seconds = (double)(gw_clock_now_ns() - begin_ns) / 1e9;
    const double waves_ms = (double)(find_end_ns(sweep, slots) - begin_wall_ns) / 1e6;
    printf("seconds %.3f\ntrials_per_second %.1f\nbusy %.4f\nclient_us %.1f\n", seconds,
           trials / seconds, strtod(argv[2], NULL) * (trials - slots) / slots / waves_ms,
           (cpu_us() - cpu_before_us) / trials);
    if (settings.durable)
        printf("load_seconds %.3f\n", settings.load_s);
    gw_client_close(settings.client);
    gw_sweep_free(sweep);
    return 0;
}
