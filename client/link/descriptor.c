/* The descriptor of a client is an eventfd. `descriptor_signalled` is set while the eventfd may be
 * readable, so that a thousand results that arrive together make one write. */
#include "client/link/descriptor.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void gw_descriptor_signal(struct gw_client *client)
{
    if (client->descriptor < 0 || client->descriptor_signalled)
        return;
    client->descriptor_signalled = true;
    (void)!write(client->descriptor, &(uint64_t){1},
                 sizeof(uint64_t)); /* cannot be full: it is 0 */
}

void gw_descriptor_close(struct gw_client *client)
{
    if (client->descriptor >= 0)
        close(client->descriptor);
    client->descriptor = -1;
}

int gw_client_descriptor(struct gw_client *client, int *descriptor, struct gw_error *error)
{
    int rc = 0;
    pthread_mutex_lock(&client->lock);
    if (client->closed) {
        rc = gw_client_closed_error(client, error);
    } else if (client->descriptor < 0) {
        client->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (client->descriptor < 0)
            rc = gw_error_set(error, GW_EIO, "cannot make a descriptor: %s", strerror(errno));
        else /* nobody waits in this library, so the loop thread is the one that reads */
            gw_reader_handoff_suspend(&client->turn);
        gw_descriptor_signal(client); /* something may have ended before */
    }
    *descriptor = client->descriptor;
    pthread_mutex_unlock(&client->lock);
    return rc;
}

void gw_client_descriptor_clear(struct gw_client *client)
{
    uint64_t count;
    pthread_mutex_lock(&client->lock);
    if (client->descriptor >= 0 && client->descriptor_signalled)
        (void)!read(client->descriptor, &count, sizeof count);
    client->descriptor_signalled = false;
    pthread_mutex_unlock(&client->lock);
}
