/* Results that several clients share: looking up tasks by name, and publishing results.
 *
 * The future of a lookup is a group of one future. The scheduler answers with a `held` message,
 * which names the task that was found (gw_future_group_held), and later sends the task's end under
 * the same request. */
#include "client/link/session.h"
#include "client/results/future_group.h"

static int look_up(struct gw_client *client, const struct gw_msg_lookup *lookup,
                   struct gw_future **future, struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_lookup, .lookup = *lookup};
    int rc = gw_session_need(client, error);
    if (rc < 0)
        return rc;
    struct gw_rpc call;
    gw_rpc_open(&call, client);
    message.lookup.request = call.request;
    struct gw_future_group *group = gw_future_group_new(client, call.request, NULL, 1);
    rc = group ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0) {
        group->shared = true;
        rc = gw_rpc_exchange(&call, client, &message, UINT64_MAX, error);
    }
    gw_rpc_close(&call, client);
    if (rc == 0)
        *future = &group->futures[0];
    else if (group)
        gw_future_group_drop(group);
    return rc;
}

int gw_client_lookup(struct gw_client *client, const char *name, struct gw_future **future,
                     struct gw_error *error)
{
    if (!name || !*name)
        return gw_error_set(error, GW_EINVAL,
                            "the name of the task is empty: give JOB/NAME or NAME");
    return look_up(client, &(struct gw_msg_lookup){.name = name}, future, error);
}

int gw_client_task(struct gw_client *client, uint64_t job, uint32_t index,
                   struct gw_future **future, struct gw_error *error)
{
    return look_up(client, &(struct gw_msg_lookup){.job = job, .index = index, .name = ""}, future,
                   error);
}

int gw_published(struct gw_client *client, const char *name, struct gw_future **future,
                 struct gw_error *error)
{
    if (!name || !*name)
        return gw_error_set(error, GW_EINVAL,
                            "the name of the published result is empty: give its name");
    return look_up(client, &(struct gw_msg_lookup){.kind = 1, .name = name}, future, error);
}

static int publish(struct gw_client *client, const struct gw_msg_publish *publish,
                   struct gw_error *error)
{
    struct gw_rpc call;
    struct gw_message message = {.type = GW_MESSAGE_publish, .publish = *publish};
    int rc = gw_session_ask(client, &call, &message, &message.publish.request, UINT64_MAX, error);
    gw_rpc_close(&call, client);
    return rc;
}

int gw_publish(struct gw_client *client, const char *name, const struct gw_future *future,
               struct gw_error *error)
{
    if (!name || !*name)
        return gw_error_set(error, GW_EINVAL,
                            "the name under which to publish the result is empty: give one");
    return publish(client,
                   &(struct gw_msg_publish){.name = name,
                                            .job = gw_future_job(future),
                                            .index = gw_future_index(future)},
                   error);
}

int gw_unpublish(struct gw_client *client, const char *name, struct gw_error *error)
{
    if (!name || !*name)
        return gw_error_set(error, GW_EINVAL,
                            "the name of the published result is empty: give its name");
    return publish(client, &(struct gw_msg_publish){.name = name}, error);
}

int gw_who_has(const struct gw_future *future, struct gw_value **answer, struct gw_error *error)
{
    struct gw_value *filter = gw_dict();
    int rc = gw_dict_set(filter, "job", gw_i64((int64_t)gw_future_job(future)));
    if (rc == 0)
        rc = gw_dict_set(filter, "index", gw_i64(gw_future_index(future)));
    rc = rc == 0 ? gw_client_query(future->group->client, "who_has", filter, answer, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(filter);
    return rc;
}
