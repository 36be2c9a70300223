/* Runs the built-in checks on a thread of libuv, and the admin's program beside them.
 *
 * Invariant: at most one run of the built-in checks is in progress. Only its thread uses `why` of
 * these checks until it has ended. A disk that does not answer keeps the thread, so a timer reports
 * it. */
#include "worker/net/parts/health.h"

#include "graph/base/log.h"
#include "graph/base/must.h"
#include "worker/net/parts/health_machine.h"
#include "worker/net/parts/health_script.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gw_health_checks {
    struct gw_health_checks_options options;
    char folder[PATH_MAX];
    uv_timer_t timer, late;
    uv_work_t work;
    struct gw_health_script *script; /* NULL: none */
    char why[GW_HEALTH_CHECKS][GW_ERROR_TEXT_MAX];
    bool fails[GW_HEALTH_CHECKS]; /* as last logged */
    bool running, closed;
    int handles; /* open ones */
};

/* -- Results ----------------------------------------------------------------------------------- */

static void report(struct gw_health_checks *checks, uint32_t check, const char *why)
{
    if (checks->closed)
        return;
    if (*why && !checks->fails[check])
        gw_log_warn("a health check fails: %s", why);
    else if (!*why && checks->fails[check])
        gw_log_info("a health check that failed passes: %s",
                    (const char *[]){"disk", "memory", "--health-check"}[check]);
    checks->fails[check] = *why != '\0';
    checks->options.on_checked(
        &(struct gw_event){.type = GW_EVENT_HEALTH, .number = check, .text = why},
        checks->options.arg);
}

static void health_on_script(const char *why, void *arg)
{
    report(arg, GW_HEALTH_SCRIPT, why);
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

static void check_on_thread(uv_work_t *work)
{
    struct gw_health_checks *checks = work->data;
    char meminfo[8192], pressure[512];
    read_text("/proc/meminfo", meminfo, sizeof meminfo);
    read_text("/proc/pressure/memory", pressure, sizeof pressure);
    gw_health_memory(meminfo, pressure, checks->why[GW_HEALTH_MEMORY]);
    gw_health_disk(checks->folder, checks->why[GW_HEALTH_DISK]);
}

static void health_on_closed(uv_handle_t *handle)
{
    struct gw_health_checks *checks = handle->data;
    if (--checks->handles == 0)
        free(checks);
}

static void end(struct gw_health_checks *checks)
{
    if (!checks->closed || checks->running)
        return;
    uv_close((uv_handle_t *)&checks->timer, health_on_closed);
    uv_close((uv_handle_t *)&checks->late, health_on_closed);
}

static void check_on_done(uv_work_t *work, int status)
{
    struct gw_health_checks *checks = work->data;
    (void)status;
    checks->running = false;
    (void)uv_timer_stop(&checks->late);
    report(checks, GW_HEALTH_MEMORY, checks->why[GW_HEALTH_MEMORY]);
    report(checks, GW_HEALTH_DISK, checks->why[GW_HEALTH_DISK]);
    end(checks);
}

static void health_on_late(uv_timer_t *timer)
{
    struct gw_health_checks *checks = timer->data;
    char why[GW_ERROR_TEXT_MAX];
    (void)snprintf(why, sizeof why, "a write to %.200s has not ended after %g s", checks->folder,
                   (double)checks->options.timeout_ms / 1000);
    report(checks, GW_HEALTH_DISK, why);
}

static void health_on_timer(uv_timer_t *timer)
{
    struct gw_health_checks *checks = timer->data;
    if (checks->script)
        gw_health_script_run(checks->script);
    if (checks->running || checks->closed)
        return;
    checks->running = true;
    (void)uv_timer_start(&checks->late, health_on_late, checks->options.timeout_ms, 0);
    int rc = uv_queue_work(checks->options.loop, &checks->work, check_on_thread, check_on_done);
    assert(rc == 0);
    (void)rc;
}

/* -- Start and end ----------------------------------------------------------------------------- */

struct gw_health_checks *gw_health_checks_new(const struct gw_health_checks_options *options)
{
    struct gw_health_checks *checks = calloc(1, sizeof *checks);
    GW_MUST_PTR(checks);
    checks->options = *options;
    (void)snprintf(checks->folder, sizeof checks->folder, "%s", options->folder);
    checks->timer.data = checks->late.data = checks->work.data = checks;
    (void)uv_timer_init(options->loop, &checks->timer);
    (void)uv_timer_init(options->loop, &checks->late);
    checks->handles = 2;
    if (options->script)
        checks->script = gw_health_script_new(
            &(struct gw_health_script_options){.loop = options->loop,
                                               .path = options->script,
                                               .name = options->name,
                                               .timeout_ms = options->timeout_ms,
                                               .on_ended = health_on_script,
                                               .arg = checks});
    (void)uv_timer_start(&checks->timer, health_on_timer, 0, options->interval_ms);
    return checks;
}

void gw_health_checks_close(struct gw_health_checks *checks)
{
    checks->closed = true;
    (void)uv_timer_stop(&checks->timer);
    (void)uv_timer_stop(&checks->late);
    if (checks->script)
        gw_health_script_close(checks->script);
    end(checks);
}
