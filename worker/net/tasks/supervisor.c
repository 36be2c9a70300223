/* Starts the supervisor, once and before any task runs, and sends it heartbeats. If its connection
 * closes, the core ends everything (peers.c). */
#include "worker/net/tasks/supervisor.h"

#include "graph/base/log.h"
#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/tasks/users.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BEAT_MS = GW_HEARTBEAT_NS / GW_NS_PER_MS };

/* The supervisor detects if this worker is stopped. In that case, the worker's own fence cannot
 * work. */
static void beat_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    const struct gw_message message = {.type = GW_MESSAGE_heartbeat};
    if (host->supervisor && !host->supervisor->closed)
        gw_host_send(host->supervisor, &message, NULL, 0);
    gw_users_beat(host);
}

static void supervisor_on_exit(uv_process_t *process, int64_t status, int signal)
{
    if (status || signal)
        gw_log_error("the process that starts this worker's tasks (its supervisor) ended (exit "
                     "code %lld, signal %d)",
                     (long long)status, signal);
    uv_close((uv_handle_t *)process, NULL);
}

int gw_supervisor_start(struct gw_host *host, struct gw_error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gw_error_set(error, GW_EIO,
                            "cannot start the supervisor, the process that starts tasks: %s",
                            strerror(errno));
    char *argv[] = {"gangway", "supervisor", *host->spill_dir ? host->spill_dir : NULL, NULL};
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
        {.flags = UV_INHERIT_FD, .data.fd = pair[1]},
    };
    uv_process_options_t options = {
        .exit_cb = supervisor_on_exit,
        .file = "/proc/self/exe", /* the running binary, even if its file was replaced */
        .args = argv,
        .stdio = stdio,
        .stdio_count = 4,
        .flags = UV_PROCESS_DETACHED, /* so that Ctrl-C in a terminal does not reach it */
    };
    int rc = uv_spawn(host->loop, &host->supervisor_process, &options);
    close(pair[1]);
    if (rc < 0) {
        uv_close((uv_handle_t *)&host->supervisor_process, NULL);
        close(pair[0]);
        return gw_error_set(error, GW_EIO,
                            "cannot start the supervisor, the process that starts tasks: %s",
                            uv_strerror(rc));
    }
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    host->supervisor = gw_host_link_new(host, pair[0], GW_ROLE_SUPERVISOR);
    if (!host->supervisor)
        return gw_error_set(
            error, GW_EIO,
            "cannot open the connection to the supervisor, the process that starts tasks");
    (void)uv_timer_start(&host->beat, beat_on_timer, 0, BEAT_MS);
    host->supervisor->told_core = true;
    return gw_host_step(host, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                 .peer = {host->supervisor->id},
                                                 .role = GW_ROLE_SUPERVISOR});
}
