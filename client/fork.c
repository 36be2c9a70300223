/* Clients in the child of a fork. Only the forking thread exists there: nobody receives messages,
 * and the connection, the descriptor and a private cluster belong to the parent.
 *
 * The thread that forks holds the locks of all open clients during the fork, so their state is
 * consistent in the child. The child then makes the locks anew, because other threads may have
 * waited for them. */
#include "client/fork.h"

#include "client/link/rpc.h"
#include "client/results/deferred_accept.h"
#include "client/results/future_group.h"
#include "client/services/tunnel.h"

static pthread_mutex_t watching = PTHREAD_MUTEX_INITIALIZER; /* taken before the clients' locks */
static struct gw_client *watched;

static void before_fork(void)
{
    pthread_mutex_lock(&watching);
    for (struct gw_client *client = watched; client; client = client->next_watched)
        pthread_mutex_lock(&client->lock);
}

static void after_fork_in_parent(void)
{
    for (struct gw_client *client = watched; client; client = client->next_watched)
        pthread_mutex_unlock(&client->lock);
    pthread_mutex_unlock(&watching);
}

/* Closes the child's copy. Everything that threads of the parent use is leaked. */
static void give_up(struct gw_client *client)
{
    pthread_mutex_init(&client->lock, NULL);
    pthread_mutex_init(&client->start_lock, NULL);
    gw_reader_handoff_init(&client->turn);
    client->refs++; /* it is never freed: threads of the parent may wait at its conditions */
    client->forked = client->closed = true;
    client->lost = false;
    gw_error_set(&client->down, GW_ECLOSED, GW_CLIENT_FORKED_TEXT);
    client->io = NULL;
    client->descriptor = -1;
    client->reconnect = NULL;
    client->cluster = NULL;
    client->printer = NULL;
    client->unsent = NULL;
    pthread_mutex_lock(&client->lock);
    gw_future_group_fail_all(client, true);
    gw_rpc_fail_all(client);
    gw_tunnel_fail_all(client);
    pthread_mutex_unlock(&client->lock);
    gw_deferred_accepts_closed(client);
}

static void after_fork_in_child(void)
{
    pthread_mutex_init(&watching, NULL);
    for (struct gw_client *client = watched; client; client = client->next_watched)
        give_up(client);
    watched = NULL;
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void gw_fork_watch(struct gw_client *client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    pthread_mutex_lock(&watching);
    client->next_watched = watched;
    watched = client;
    pthread_mutex_unlock(&watching);
}

void gw_fork_unwatch(struct gw_client *client)
{
    pthread_mutex_lock(&watching);
    struct gw_client **at = &watched;
    while (*at && *at != client)
        at = &(*at)->next_watched;
    if (*at)
        *at = client->next_watched;
    pthread_mutex_unlock(&watching);
}
