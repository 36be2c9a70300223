/* Ends a cluster. Running tasks are asked to end, and the processes of the cluster end after the
 * last task. */
#include "client/services/shutdown.h"

#include "client/link/session.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"

enum { LOOK_MS = 200, END_S = 20 /* without any grace time */ };

static int ask(struct gw_rpc *call, struct gw_client *client, uint64_t grace_ns_max)
{
    gw_rpc_open(call, client);
    struct gw_message message = {.type = GW_MESSAGE_shutdown,
                                 .shutdown = {.request = call->request,
                                              .text = "asked by its user",
                                              .grace_ns_max = grace_ns_max}};
    return gw_rpc_send(call, client, &message, -1);
}

/* Asks the scheduler to end at once. The first request is answered when all tasks have ended, but a
 * second request without grace time is answered at once. */
static void hurry_up(struct gw_client *client)
{
    struct gw_rpc call;
    if (ask(&call, client, 0) == 0)
        (void)gw_rpc_wait(&call, client, END_S * GW_NS_PER_S, NULL);
    gw_rpc_close(&call, client);
}

int gw_shutdown_wait(struct gw_client *client, const struct gw_shutdown *shutdown,
                     struct gw_error *error)
{
    struct gw_rpc call;
    int rc = gw_session_start(client, 0, error);
    if (rc < 0)
        return rc;
    pid_t pid = gw_io_peer_pid(client->io);
    uint64_t begun_ns = gw_clock_now_ns(), waited_ns = 0;
    uint64_t most_ns = shutdown->grace_ns_max + END_S * GW_NS_PER_S;
    bool hurried = false;
    rc = ask(&call, client, shutdown->grace_ns_max);
    for (bool more = rc == 0; more;) {
        rc = gw_rpc_wait(&call, client, LOOK_MS * GW_NS_PER_MS, error);
        waited_ns = gw_clock_now_ns() - begun_ns;
        more = rc == GW_ETIMEDOUT && waited_ns < most_ns;
        if (more && shutdown->hurry && !hurried &&
            shutdown->hurry(client, waited_ns, shutdown->arg)) {
            hurried = true;
            most_ns = waited_ns + END_S * GW_NS_PER_S;
            hurry_up(client);
        }
    }
    gw_rpc_close(&call, client);
    if (rc == GW_ECLOSED ||
        rc == 0) /* the scheduler ended while we waited, or it has confirmed and ends now */
        rc = pid <= 0 || gw_cluster_wait_gone(pid, END_S * GW_NS_PER_S) ? 0 : GW_ETIMEDOUT;
    char most[GW_TEXT_DURATION_ROOM];
    if (rc == GW_ETIMEDOUT)
        gw_error_set(error, rc, "the cluster has not ended within %s: it still waits for its tasks",
                     gw_text_duration(most_ns, most));
    return rc;
}

int gw_client_shutdown(struct gw_client *client, struct gw_error *error)
{
    return gw_shutdown_wait(client, &(struct gw_shutdown){.grace_ns_max = GW_SHUTDOWN_GRACE_NS_MAX},
                            error);
}
