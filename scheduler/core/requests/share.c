/* Shares: additional holds of results.
 *
 * Invariant: each share counts once in the `users` of its task. Because of this count, the result
 * is kept, a lost result is computed again, and the task is not cancelled together with the session
 * that submitted it. When the last share is dropped, the task becomes idle or unwanted, as with any
 * other user. A share is found by its task (`shares`), and by the request of its session or by its
 * published name. */
#include "scheduler/core/requests/share.h"

#include "graph/base/text.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/nested.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/send.h"

#include <stdlib.h>
#include <string.h>

static struct gw_share *published_as(const struct gw_sched *sched, uint32_t uid, const char *name)
{
    char key[KEY_BYTES];
    uint64_t value;
    gw_sched_share_key(uid, name, key);
    return gw_strmap_get(&sched->published, key, &value) ? (struct gw_share *)(uintptr_t)value
                                                         : NULL;
}

/* -- Dropping --------------------------------------------------------------------------------- */

void gw_sched_shares_close(struct gw_sched *sched, struct gw_session *session)
{
    GW_ARRAY(struct gw_share *) all = {0};
    size_t at = 0;
    uint64_t request, value;
    while (gw_map_next(&session->shares, &at, &request, &value))
        GW_MUST(gw_array_push(&all, (struct gw_share *)(uintptr_t)value));
    for (size_t i = 0; i < all.count; i++)
        gw_sched_share_drop(sched, all.items[i]);
    gw_array_deinit(&all);
}

/* -- Finding ---------------------------------------------------------------------------------- */

uint32_t gw_sched_share_row_named(const struct gw_job *job, const char *name)
{
    size_t at = 0;
    uint64_t row, text;
    while (gw_map_next(&gw_job_rare(job)->names, &at, &row, &text))
        if (strcmp((const char *)(uintptr_t)text, name) == 0)
            return (uint32_t)row;
    return GW_NO_INDEX;
}

/* Splits "7/model" into the job id and the name. Returns the name, or NULL if the text does not
 * have this form. */
static const char *split_name(const char *name, uint64_t *job)
{
    char *end;
    if (name[0] < '0' || name[0] > '9')
        return NULL;
    *job = strtoull(name, &end, 10);
    return *end == '/' && end[1] ? end + 1 : NULL;
}

static int find_in_job(const struct gw_sched *sched, uint64_t id, const char *name, uint32_t uid,
                       struct gw_row *row, struct gw_error *error)
{
    row->job = gw_sched_job_find(sched, id);
    row->index = 0;
    int rc = gw_sched_access_job(row->job, id, uid, error);
    if (rc < 0)
        return rc;
    row->index = gw_sched_share_row_named(row->job, name);
    if (row->index == GW_NO_INDEX)
        return gw_error_set(
            error, GW_ENOENT,
            "job %llu has no task named \"%s\": `gangway tasks JOB` lists its tasks",
            (unsigned long long)id, name);
    return 0;
}

/* Finds a task by a published name, else by "JOB/NAME", else by the name of a task in the latest
 * job that has such a task. */
static int find_named(const struct gw_sched *sched, const struct gw_msg_lookup *lookup,
                      uint32_t uid, struct gw_row *row, struct gw_error *error)
{
    if (lookup->job)
        return find_in_job(sched, lookup->job, lookup->name, uid, row, error);
    const struct gw_share *share = published_as(sched, uid, lookup->name);
    if (share) {
        *row = (struct gw_row){share->job, share->index};
        return 0;
    }
    if (lookup->kind != 0)
        return gw_error_set(error, GW_ENOENT,
                            "nothing is published as \"%s\": `gangway data list` lists the names",
                            lookup->name);
    uint64_t id;
    const char *name = split_name(lookup->name, &id);
    if (name)
        return find_in_job(sched, id, name, uid, row, error);
    for (row->job = sched->last_job; row->job; row->job = row->job->prev) {
        if (row->job->uid != uid || gw_job_rare(row->job)->names.count == 0)
            continue;
        row->index = gw_sched_share_row_named(row->job, lookup->name);
        if (row->index != GW_NO_INDEX)
            return 0;
    }
    return gw_error_set(
        error, GW_ENOENT,
        "no task is named \"%s\", and nothing is published under this name: `gangway data list` "
        "lists published names, and JOB/NAME means a task of one job",
        lookup->name);
}

/* Returns an error if the result was released or cannot be shared. */
static int check_there(const struct gw_row *row, struct gw_error *error)
{
    if (row->job->range)
        return gw_error_set(
            error, GW_ENOTSUP,
            "job %llu is a range: only the client that submitted it can take its results",
            (unsigned long long)row->job->id);
    if (row->job->actor)
        return gw_error_set(error, GW_EINVAL,
                            "job %llu is an actor and has no result: look it up as an actor",
                            (unsigned long long)row->job->id);
    if (row->job->tasks.state[row->index] != GW_TASK_RELEASED)
        return 0;
    return gw_error_set(error, GW_ENOENT,
                        "the result of task %u of job %llu was released, because no future held it "
                        "any more: publish a result to keep it",
                        row->index, (unsigned long long)row->job->id);
}

static int find(const struct gw_sched *sched, const struct gw_msg_lookup *lookup, uint32_t uid,
                struct gw_row *row, struct gw_error *error)
{
    int rc;
    if (lookup->name[0]) {
        rc = find_named(sched, lookup, uid, row, error);
    } else {
        *row = (struct gw_row){gw_sched_job_find(sched, lookup->job), lookup->index};
        rc = gw_sched_access_job(row->job, lookup->job, uid, error);
        if (rc == 0 && !row->job->range) /* tasks of a range may have no row */
            rc = gw_sched_access_row(row->job, lookup->job, lookup->index, uid, error);
    }
    return rc < 0 ? rc : check_there(row, error);
}

/* -- Requests --------------------------------------------------------------------------------- */

int gw_sched_on_lookup(struct gw_sched *sched, struct gw_session *session,
                       const struct gw_msg_lookup *lookup)
{
    struct gw_error error = {0};
    struct gw_row row = {0};
    if (gw_map_get(&session->shares, lookup->request, NULL))
        return GW_EPROTO;
    int rc = find(sched, lookup, session->remote->uid, &row, &error);
    struct gw_msg_held *held = &gw_sched_send(sched, session->remote, GW_MESSAGE_held)->held;
    *held = (struct gw_msg_held){.request = lookup->request, .code = rc, .text = ""};
    if (rc < 0) {
        held->text = gw_sched_send_text(sched, error.text);
        return 0;
    }
    held->job = row.job->id;
    held->index = row.index;
    held->ranks = row.job->specs.items[row.job->tasks.spec[row.index]].message.ranks;
    held->own = gw_sched_nested_comes_before(sched, session, &row);
    gw_sched_share_add(sched, session, lookup->request, row.job, row.index, NULL);
    if (gw_sched_task_final(row.job, row.index))
        gw_sched_notify_task(sched, row.job, row.index);
    return 0;
}

void gw_sched_on_drop(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_drop *drop)
{
    for (uint32_t i = 0; i < drop->request.count; i++) {
        uint64_t value;
        if (gw_map_get(&session->shares, gw_col64_at(drop->request, i), &value))
            gw_sched_share_drop(sched, (struct gw_share *)(uintptr_t)value);
    }
}

static int check_name(const struct gw_sched *sched, const char *name, struct gw_error *error)
{
    if (!name[0] || strlen(name) > GW_SHARE_NAME_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "a name under which a result is published must have 1 to %d bytes: give another one",
            GW_SHARE_NAME_MAX);
    if (!gw_text_is_line(name, strlen(name)))
        return gw_error_set(error, GW_EINVAL,
                            "a name under which a result is published must be one line of UTF-8 "
                            "text: give another one");
    if (sched->published.count >= PUBLISHED_MAX)
        return gw_error_set(
            error, GW_ELIMIT,
            "%d results are published, which is the most: unpublish some (`gangway data rm NAME`)",
            PUBLISHED_MAX);
    return 0;
}

static int publish_check(const struct gw_sched *sched, const struct gw_msg_publish *publish,
                         uint32_t uid, struct gw_row *row, struct gw_error *error)
{
    int rc = check_name(sched, publish->name, error);
    if (rc < 0)
        return rc;
    if (published_as(sched, uid, publish->name))
        return gw_error_set(error, GW_EEXIST,
                            "\"%s\" is published already: unpublish it first (`gangway data rm`), "
                            "or take another name",
                            publish->name);
    *row = (struct gw_row){gw_sched_job_find(sched, publish->job), publish->index};
    rc = gw_sched_access_row(row->job, publish->job, publish->index, uid, error);
    return rc < 0 ? rc : check_there(row, error);
}

void gw_sched_on_publish(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_publish *publish)
{
    struct gw_error error = {0};
    uint32_t uid = session->remote->uid;
    struct gw_row row = {0};
    if (publish->job) {
        if (publish_check(sched, publish, uid, &row, &error) == 0)
            gw_sched_share_add(sched, session, 0, row.job, row.index, publish->name);
    } else {
        struct gw_share *share = strlen(publish->name) <= GW_SHARE_NAME_MAX
                                     ? published_as(sched, uid, publish->name)
                                     : NULL;
        if (share)
            gw_sched_share_drop(sched, share);
        else
            gw_error_set(&error, GW_ENOENT,
                         "nothing is published as \"%s\": `gangway data list` lists the names",
                         publish->name);
    }
    gw_sched_send_reply(sched, session->remote, publish->request, &error);
}

/* -- Listing ---------------------------------------------------------------------------------- */

static struct gw_value *describe(const struct gw_sched *sched, const struct gw_share *share)
{
    struct gw_value *dict = gw_dict();
    uint64_t bytes = 0;
    uint8_t state = share->job->tasks.state[share->index];
    for (uint32_t at = gw_sched_objects_of(sched, share->job, share->index); at != GW_NO_INDEX;
         at = sched->objects.items[at].next)
        bytes += sched->objects.items[at].bytes;
    GW_MUST(gw_dict_set(dict, "name", gw_str(share->name)));
    GW_MUST(gw_dict_set(dict, "job", gw_i64((int64_t)share->job->id)));
    GW_MUST(gw_dict_set(dict, "index", gw_i64(share->index)));
    GW_MUST(gw_dict_set(dict, "state", gw_str(gw_sm_name(&gw_sched_task_sm, state))));
    GW_MUST(gw_dict_set(dict, "bytes", gw_i64((int64_t)bytes)));
    GW_MUST(gw_dict_set(dict, "published_ns", gw_i64((int64_t)share->wall_ns)));
    GW_MUST(gw_dict_set(dict, "session", gw_str(share->publisher)));
    return dict;
}

/* worker NULL: the scheduler itself holds the object */
static void push_holder(struct gw_value *list, const struct gw_object *object,
                        const struct gw_worker *worker)
{
    struct gw_value *dict = gw_dict();
    GW_MUST(gw_dict_set(dict, "rank", gw_i64(object->rank)));
    GW_MUST(gw_dict_set(dict, "worker", gw_i64(worker ? worker->id : 0)));
    GW_MUST(gw_dict_set(dict, "host", gw_str(worker ? worker->host : "scheduler")));
    GW_MUST(gw_dict_set(dict, "bytes", gw_i64((int64_t)object->bytes)));
    GW_MUST(gw_list_push(list, dict));
}

struct gw_value *gw_sched_share_query_published(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    size_t at = 0;
    const char *key;
    uint64_t value;
    while (gw_value_count(list) < GW_ANSWER_TASKS_MAX &&
           gw_strmap_next(&sched->published, &at, &key, &value))
        GW_MUST(gw_list_push(list, describe(sched, (const struct gw_share *)(uintptr_t)value)));
    return list;
}

struct gw_value *gw_sched_share_query_holders(const struct gw_sched *sched,
                                              const struct gw_job *job, uint32_t row)
{
    struct gw_value *list = gw_list();
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NO_INDEX;
         at = sched->objects.items[at].next) {
        const struct gw_object *object = &sched->objects.items[at];
        if (gw_sched_object_here(object))
            push_holder(list, object, NULL);
        for (uint32_t place = object->holders; place != GW_NO_INDEX;
             place = sched->holders.items[place].next)
            if (sched->holders.items[place].firm)
                push_holder(list, object, sched->workers.items[sched->holders.items[place].worker]);
    }
    return list;
}
