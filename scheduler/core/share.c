/* Shares.
 *
 * What always holds: each share counts once in its task's `users`, so that the result stays, is
 * made again when it is lost, and is not cancelled with the session that submitted it; the last one
 * to let go makes it idle or unwanted, like any other user. A share is found by its task
 * (`shares`), and by its session's request or its name. */
#include "scheduler/core/share.h"

#include "graph/base/text.h"
#include "scheduler/core/announce.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_rare.h"
#include "scheduler/core/nested.h"
#include "scheduler/core/object.h"
#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 255, PUBLISHED_MAX = 65536, KEY_BYTES = NAME_BYTES_MAX + 16 };

struct gw_share *gw_sched_shares_of(const struct gw_job *job, uint32_t row)
{
    uint64_t value;
    return gw_map_get(&gw_job_rare(job)->shares, row, &value) ? (struct gw_share *)(uintptr_t)value
                                                              : NULL;
}

/* Names are a user's own. */
static void key_of(uint32_t uid, const char *name, char key[KEY_BYTES])
{
    (void)snprintf(key, KEY_BYTES, "%u/%s", uid, name);
}

static struct gw_share *published_as(const struct gw_sched *sched, uint32_t uid, const char *name)
{
    char key[KEY_BYTES];
    uint64_t value;
    key_of(uid, name, key);
    return gw_strmap_get(&sched->published, key, &value) ? (struct gw_share *)(uintptr_t)value
                                                         : NULL;
}

/* -- Adding and dropping -------------------------------------------------------------------------
 */

void gw_sched_apply_share_added(struct gw_sched *sched, const struct gw_fact_share_added *fact)
{
    struct gw_job *job = fact->job;
    struct gw_share *share = calloc(1, sizeof *share);
    GW_MUST_PTR(share);
    *share = (struct gw_share){.session = fact->name ? NULL : fact->session,
                               .request = fact->request,
                               .job = job,
                               .index = fact->index,
                               .next = gw_sched_shares_of(job, fact->index)};
    GW_MUST(gw_map_put(&gw_job_rare_make(job)->shares, fact->index, (uintptr_t)share));
    job->shared++;
    job->tasks.users[fact->index] += !(GW_PLANTED(520) && fact->name);
    if (!fact->name) {
        GW_MUST(gw_map_put(&fact->session->shares, fact->request, (uintptr_t)share));
        return;
    }
    char key[KEY_BYTES];
    key_of(job->uid, fact->name, key);
    share->wall_ns = sched->wall_ns;
    share->name = strdup(fact->name);
    share->publisher = strdup(fact->session->remote->name);
    GW_MUST_PTR(share->name);
    GW_MUST_PTR(share->publisher);
    GW_MUST(gw_strmap_put(&sched->published, key, (uintptr_t)share));
}

/* Takes it out of the lists; the task is looked at by whoever drops it. */
static void share_free(struct gw_sched *sched, struct gw_share *share)
{
    struct gw_job *job = share->job;
    struct gw_share *first = gw_sched_shares_of(job, share->index), **at = &first;
    while (*at != share)
        at = &(*at)->next;
    *at = share->next;
    if (first)
        GW_MUST(gw_map_put(&gw_job_rare_make(job)->shares, share->index, (uintptr_t)first));
    else
        (void)gw_map_remove(&job->rare->shares, share->index);
    job->shared--;
    if (share->session) {
        (void)gw_map_remove(&share->session->shares, share->request);
    } else {
        char key[KEY_BYTES];
        key_of(job->uid, share->name, key);
        (void)gw_strmap_remove(&sched->published, key);
    }
    free(share->name);
    free(share->publisher);
    free(share);
}

void gw_sched_apply_share_dropped(struct gw_sched *sched, const struct gw_fact_share_dropped *fact)
{
    struct gw_row row = {fact->share->job, fact->share->index};
    share_free(sched, fact->share);
    bool last = --row.job->tasks.users[row.index] == 0 || GW_PLANTED(120);
    if (last && row.job->tasks.state[row.index] == GW_TASK_DONE)
        GW_MUST(gw_array_push(&sched->idle, row));
    if (!gw_sched_task_final(row.job, row.index))
        GW_MUST(gw_array_push(&sched->unwanted, row));
    if (row.job->state == GW_JOB_ENDED)
        GW_MUST(gw_array_push(&sched->aging, row.job->id));
}

void gw_sched_shares_free(struct gw_sched *sched, struct gw_job *job)
{
    for (uint32_t row = 0; job->shared > 0; row++)
        for (struct gw_share *share; (share = gw_sched_shares_of(job, row));)
            share_free(sched, share);
}

void gw_sched_shares_close(struct gw_sched *sched, struct gw_session *session)
{
    GW_ARRAY(struct gw_share *) all = {0};
    size_t at = 0;
    uint64_t request, value;
    while (gw_map_next(&session->shares, &at, &request, &value))
        GW_MUST(gw_array_push(&all, (struct gw_share *)(uintptr_t)value));
    for (size_t i = 0; i < all.count; i++)
        GW_FACT(sched, share_dropped, .share = all.items[i]);
    gw_array_deinit(&all);
}

/* -- Telling -------------------------------------------------------------------------------------
 */

void gw_sched_apply_share_told(struct gw_sched *sched, const struct gw_fact_share_told *fact)
{
    (void)sched;
    fact->share->told = fact->flags;
}

void gw_sched_shares_tell(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (struct gw_share *share = gw_sched_shares_of(job, row); share; share = share->next) {
        if (!share->session || (share->told & GW_TASK_TOLD))
            continue;
        const struct gw_hearer to = {share->session, share->request, 0};
        GW_FACT(sched, share_told, .share = share, .flags = gw_sched_tell(sched, &to, job, row));
    }
}

bool gw_sched_share_failed(const struct gw_job *job, uint32_t row)
{
    const struct gw_share *share = gw_sched_shares_of(job, row);
    while (share && !(share->told & GW_TASK_TOLD_FAILED))
        share = share->next;
    return share != NULL;
}

void gw_sched_shares_retell(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    for (struct gw_share *share = gw_sched_shares_of(job, row); share; share = share->next)
        if (share->told & GW_TASK_TOLD_FAILED)
            GW_FACT(sched, share_told, .share = share, .flags = 0);
}

/* -- Finding -------------------------------------------------------------------------------------
 */

uint32_t gw_sched_row_named(const struct gw_job *job, const char *name)
{
    size_t at = 0;
    uint64_t row, text;
    while (gw_map_next(&gw_job_rare(job)->names, &at, &row, &text))
        if (strcmp((const char *)(uintptr_t)text, name) == 0)
            return (uint32_t)row;
    return GW_NONE;
}

/* "7/model": the job, and where the name begins; NULL when it is not of this form. */
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
    int rc = gw_sched_job_check(row->job, id, uid, error);
    if (rc < 0)
        return rc;
    row->index = gw_sched_row_named(row->job, name);
    if (row->index == GW_NONE)
        return gw_error_set(error, GW_ENOENT, "job %llu has no task named \"%s\"",
                            (unsigned long long)id, name);
    return 0;
}

/* By name: published, else "JOB/NAME", else NAME of the latest job that has it. */
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
        return gw_error_set(error, GW_ENOENT, "nothing is published as \"%s\"", lookup->name);
    uint64_t id;
    const char *name = split_name(lookup->name, &id);
    if (name)
        return find_in_job(sched, id, name, uid, row, error);
    for (row->job = sched->last_job; row->job; row->job = row->job->prev) {
        if (row->job->uid != uid || gw_job_rare(row->job)->names.count == 0)
            continue;
        row->index = gw_sched_row_named(row->job, lookup->name);
        if (row->index != GW_NONE)
            return 0;
    }
    return gw_error_set(error, GW_ENOENT, "no task is named \"%s\", and nothing is published so",
                        lookup->name);
}

/* A result that is gone cannot be held. */
static int check_there(const struct gw_row *row, struct gw_error *error)
{
    if (row->job->range)
        return gw_error_set(error, GW_ENOTSUP,
                            "job %llu is a range: only its client can take its results",
                            (unsigned long long)row->job->id);
    if (row->job->actor)
        return gw_error_set(error, GW_EINVAL, "job %llu is an actor, and has no result: find it",
                            (unsigned long long)row->job->id);
    if (row->job->tasks.state[row->index] != GW_TASK_RELEASED)
        return 0;
    return gw_error_set(error, GW_ENOENT,
                        "the result of task %u of job %llu was released: nobody held it any more",
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
        rc = gw_sched_job_check(row->job, lookup->job, uid, error);
        if (rc == 0 && !row->job->range) /* of which some have no row */
            rc = gw_sched_row_check(row->job, lookup->job, lookup->index, uid, error);
    }
    return rc < 0 ? rc : check_there(row, error);
}

/* -- Asking --------------------------------------------------------------------------------------
 */

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
        held->text = gw_sched_text(sched, error.text);
        return 0;
    }
    held->job = row.job->id;
    held->index = row.index;
    held->ranks = row.job->specs.items[row.job->tasks.spec[row.index]].message.ranks;
    held->own = gw_sched_nested_comes_before(sched, session, &row);
    GW_FACT(sched, share_added, .session = session, .request = lookup->request, .job = row.job,
            .index = row.index);
    if (gw_sched_task_final(row.job, row.index))
        gw_sched_announce_task(sched, row.job, row.index);
    return 0;
}

void gw_sched_on_drop(struct gw_sched *sched, struct gw_session *session,
                      const struct gw_msg_drop *drop)
{
    for (uint32_t i = 0; i < drop->request.count; i++) {
        uint64_t value;
        if (gw_map_get(&session->shares, gw_col64_at(drop->request, i), &value))
            GW_FACT(sched, share_dropped, .share = (struct gw_share *)(uintptr_t)value);
    }
}

static int check_name(const struct gw_sched *sched, const char *name, struct gw_error *error)
{
    if (!name[0] || strlen(name) > NAME_BYTES_MAX)
        return gw_error_set(error, GW_EINVAL, "a name to publish under has 1 to %d bytes",
                            NAME_BYTES_MAX);
    if (!gw_text_is_line(name, strlen(name)))
        return gw_error_set(error, GW_EINVAL,
                            "a name to publish under is one line of text, in UTF-8");
    if (sched->published.count >= PUBLISHED_MAX)
        return gw_error_set(error, GW_ELIMIT, "%d results are published: unpublish some",
                            PUBLISHED_MAX);
    return 0;
}

static int publish_check(const struct gw_sched *sched, const struct gw_msg_publish *publish,
                         uint32_t uid, struct gw_row *row, struct gw_error *error)
{
    int rc = check_name(sched, publish->name, error);
    if (rc < 0)
        return rc;
    if (published_as(sched, uid, publish->name) && !GW_PLANTED(521))
        return gw_error_set(error, GW_EEXIST,
                            "\"%s\" is published already: unpublish it first (`gangway data rm`), "
                            "or take another name",
                            publish->name);
    *row = (struct gw_row){gw_sched_job_find(sched, publish->job), publish->index};
    rc = gw_sched_row_check(row->job, publish->job, publish->index, uid, error);
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
            GW_FACT(sched, share_added, .session = session, .job = row.job, .index = row.index,
                    .name = publish->name);
    } else {
        struct gw_share *share = strlen(publish->name) <= NAME_BYTES_MAX
                                     ? published_as(sched, uid, publish->name)
                                     : NULL;
        if (share)
            GW_FACT(sched, share_dropped, .share = share);
        else
            gw_error_set(&error, GW_ENOENT, "nothing is published as \"%s\"", publish->name);
    }
    gw_sched_reply(sched, session->remote, publish->request, &error);
}

/* -- Listing -------------------------------------------------------------------------------------
 */

static struct gw_value *describe(const struct gw_sched *sched, const struct gw_share *share)
{
    struct gw_value *dict = gw_dict();
    uint64_t bytes = 0;
    uint8_t state = share->job->tasks.state[share->index];
    for (uint32_t at = gw_sched_objects_of(sched, share->job, share->index); at != GW_NONE;
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

/* worker NULL: the scheduler itself. */
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

struct gw_value *gw_sched_query_published(const struct gw_sched *sched)
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

struct gw_value *gw_sched_query_who_has(const struct gw_sched *sched, const struct gw_job *job,
                                        uint32_t row)
{
    struct gw_value *list = gw_list();
    for (uint32_t at = gw_sched_objects_of(sched, job, row); at != GW_NONE;
         at = sched->objects.items[at].next) {
        const struct gw_object *object = &sched->objects.items[at];
        if (gw_sched_object_here(object))
            push_holder(list, object, NULL);
        for (uint32_t place = object->holders; place != GW_NONE;
             place = sched->holders.items[place].next)
            if (sched->holders.items[place].firm)
                push_holder(list, object, sched->workers.items[sched->holders.items[place].worker]);
    }
    return list;
}
