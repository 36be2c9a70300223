/* Copies of results at several workers. Each future is one request, and many requests are sent at
 * once. If the caller stops waiting, the scheduler still makes the copies. */
#include "client/link/session.h"

#include "graph/base/options_read.h"

#include <stdlib.h>

enum { BATCH = 128 };

static int ask(struct gw_rpc *call, struct gw_client *client, const struct gw_future *future,
               const struct gw_replicate_options *options)
{
    gw_rpc_open(call, client);
    struct gw_message message = {
        .type = GW_MESSAGE_replicate,
        .replicate = {.request = call->request,
                      .job = gw_future_job(future),
                      .index = gw_future_index(future),
                      .copies = options->copies,
                      .workers = options->workers ? options->workers : ""},
    };
    return gw_rpc_send(call, client, &message, -1);
}

/* Sends the requests of a batch and waits for the answers, up to the first failure. Answers that
 * arrive after a failure are ignored. */
static int replicate(struct gw_client *client, struct gw_future *const *futures, size_t count,
                     const struct gw_replicate_options *options, struct gw_error *error)
{
    struct gw_rpc *calls = malloc(count * sizeof *calls);
    size_t asked = 0;
    if (!calls)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = 0;
    for (; asked < count && rc == 0; asked++)
        rc = ask(&calls[asked], client, futures[asked], options);
    if (rc == GW_ECLOSED)
        rc = gw_client_down_error(client, error);
    else if (rc < 0)
        gw_error_set(error, rc, "replicate: %s", gw_error_text(rc));
    for (size_t i = 0; i < asked; i++) {
        if (rc == 0)
            rc = gw_rpc_wait(&calls[i], client, UINT64_MAX, error);
        gw_rpc_close(&calls[i], client);
    }
    free(calls);
    return rc;
}

/* With GANGWAY_INLINE=1 there are no workers, so gw_replicate only waits for the futures. */
static int wait_well(struct gw_future *const *futures, size_t count, struct gw_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct gw_value *value;
        int rc = gw_future_get(futures[i], 0, &value, error);
        if (rc < 0)
            return rc;
        gw_value_unref(value);
    }
    return 0;
}

int gw_replicate(struct gw_client *client, struct gw_future *const *futures, size_t count,
                 const struct gw_replicate_options *given, struct gw_error *error)
{
    struct gw_replicate_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_replicate_options, error);
    if (rc < 0)
        return rc;
    if (client->inlined)
        return wait_well(futures, count, error);
    rc = gw_session_start(client, 0, error);
    for (size_t at = 0; at < count && rc == 0; at += BATCH)
        rc = replicate(client, futures + at, count - at < BATCH ? count - at : BATCH, &options,
                       error);
    return rc;
}

int gw_scatter_to(struct gw_client *client, const struct gw_value *value,
                  const struct gw_replicate_options *options, struct gw_future **future,
                  struct gw_error *error)
{
    struct gw_future *scattered;
    int rc = gw_scatter(client, value, &scattered, error);
    if (rc < 0)
        return rc;
    rc = gw_replicate(client, &scattered, 1, options, error);
    if (rc < 0)
        gw_future_release(scattered);
    else
        *future = scattered;
    return rc;
}
