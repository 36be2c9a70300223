/* Runs the checks at their interval. The check of the disk is a process of its own, since a process
 * whose disk does not answer cannot end. */
#include "worker/net/parts/health.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "worker/net/parts/health_machine.h"
#include "worker/net/parts/health_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first run of the check of the clock does not wait for the interval. */
enum { FIRST_HEARTBEATS = 3 };

struct gw_health_checks {
    struct gw_health_checks_options options;
    uv_timer_t timer;
    struct gw_health_script *disk, *script; /* script: NULL: none */
    bool fails[GW_HEALTH_CHECKS];           /* as last logged */
    /* How far this clock is ahead of the scheduler's, at least: a heartbeat that was late makes it
     * more. The least one since the last run. */
    int64_t offset_ns;
    uint32_t heard; /* heartbeats since then */
    bool clock_known, closed;
};

/* -- Results ----------------------------------------------------------------------------------- */

/* clock_s: see GW_EVENT_HEALTH. */
static void report(struct gw_health_checks *checks, uint32_t check, const char *why,
                   int32_t clock_s)
{
    if (checks->closed)
        return;
    if (*why && !checks->fails[check])
        gw_log_warn("a health check fails: %s", why);
    else if (!*why && checks->fails[check])
        gw_log_info("a health check that failed passes: %s",
                    (const char *[]){"disk", "memory", "clock", "--health-check"}[check]);
    checks->fails[check] = *why != '\0';
    checks->options.on_checked(
        &(struct gw_event){.type = GW_EVENT_HEALTH, .number = check, .text = why, .code = clock_s},
        checks->options.arg);
}

static void health_on_disk(const char *why, void *arg)
{
    report(arg, GW_HEALTH_DISK, why, 0);
}

static void health_on_script(const char *why, void *arg)
{
    report(arg, GW_HEALTH_SCRIPT, why, 0);
}

/* -- Runs -------------------------------------------------------------------------------------- */

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, bytes - 1, file) : 0;
    if (file)
        (void)fclose(file);
    text[length] = '\0';
}

static void check_memory(struct gw_health_checks *checks)
{
    char meminfo[8192], pressure[512], why[GW_ERROR_TEXT_MAX];
    read_text("/proc/meminfo", meminfo, sizeof meminfo);
    read_text("/proc/pressure/memory", pressure, sizeof pressure);
    gw_health_memory(meminfo, pressure, why);
    report(checks, GW_HEALTH_MEMORY, why, 0);
}

static void check_clock(struct gw_health_checks *checks)
{
    char why[GW_ERROR_TEXT_MAX];
    if (!checks->heard)
        return;
    gw_health_clock(checks->offset_ns, why);
    checks->heard = 0;
    checks->clock_known = true;
    const int64_t clock_s = checks->offset_ns / (int64_t)GW_NS_PER_S;
    report(checks, GW_HEALTH_CLOCK, why,
           clock_s > INT32_MAX   ? INT32_MAX
           : clock_s < INT32_MIN ? INT32_MIN
                                 : (int32_t)clock_s);
}

void gw_health_checks_heard(struct gw_health_checks *checks, uint64_t wall_ns, uint64_t now_ns)
{
    const int64_t offset_ns = (int64_t)(now_ns - wall_ns);
    if (checks->heard++ == 0 || offset_ns < checks->offset_ns)
        checks->offset_ns = offset_ns;
    if (!checks->clock_known && checks->heard == FIRST_HEARTBEATS)
        check_clock(checks);
}

static void health_on_timer(uv_timer_t *timer)
{
    struct gw_health_checks *checks = timer->data;
    check_memory(checks);
    if (checks->clock_known)
        check_clock(checks);
    gw_health_script_run(checks->disk);
    if (checks->script)
        gw_health_script_run(checks->script);
}

/* -- Start and end ----------------------------------------------------------------------------- */

static struct gw_health_script *new_script(struct gw_health_checks *checks, const char *path,
                                           const char *folder,
                                           void (*on_ended)(const char *why, void *arg))
{
    return gw_health_script_new(
        &(struct gw_health_script_options){.loop = checks->options.loop,
                                           .path = path,
                                           .name = checks->options.name,
                                           .folder = folder,
                                           .timeout_ms = checks->options.timeout_ms,
                                           .on_ended = on_ended,
                                           .arg = checks});
}

struct gw_health_checks *gw_health_checks_new(const struct gw_health_checks_options *options)
{
    struct gw_health_checks *checks = calloc(1, sizeof *checks);
    GW_MUST_PTR(checks);
    checks->options = *options;
    checks->timer.data = checks;
    (void)uv_timer_init(options->loop, &checks->timer);
    /* the running binary, even if its file was replaced */
    checks->disk = new_script(checks, "/proc/self/exe", options->folder, health_on_disk);
    if (options->script)
        checks->script = new_script(checks, options->script, NULL, health_on_script);
    (void)uv_timer_start(&checks->timer, health_on_timer, 0, options->interval_ms);
    return checks;
}

static void health_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void gw_health_checks_close(struct gw_health_checks *checks)
{
    checks->closed = true;
    gw_health_script_close(checks->disk);
    if (checks->script)
        gw_health_script_close(checks->script);
    uv_close((uv_handle_t *)&checks->timer, health_on_closed);
}
