/* Replies to requests that change durable state: none before the commit, and errors at once. */
#include "tests/unit/scheduler/sched_world.h"

#include <stdlib.h>

enum { OTHER = 2 };

/* The number of the commit of the last step; fails if nothing was written. */
static uint64_t written(const struct world *w)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_COMMIT)
            return w->effects.list.items[i].number;
    fail_msg("nothing durable was written");
    return 0;
}

static void commit(struct world *w)
{
    const uint64_t number = written(w);
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
}

/* The request of the last step is answered by the commit of its own facts, not by an earlier one.
 */
static const struct gw_msg_reply *answered_by_its_commit(struct world *w, uint64_t request)
{
    const uint64_t number = written(w);
    assert_null(sent(w, CLIENT, GW_MESSAGE_reply, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number - 1});
    assert_null(sent(w, CLIENT, GW_MESSAGE_reply, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
    const struct gw_msg_reply *reply = &must(w, CLIENT, GW_MESSAGE_reply)->reply;
    assert_int_equal(reply->request, request);
    assert_int_equal(reply->code, 0);
    assert_string_equal(reply->text, "");
    assert_null(sent(w, CLIENT, GW_MESSAGE_reply, 1));
    return reply;
}

static uint64_t submit_some(struct world *w, uint64_t request, uint32_t rows, uint32_t flags)
{
    send_spec(w, (struct gw_msg_spec){.key = request});
    submit(w, (struct chunk){request, rows, GW_SUBMIT_LAST | flags, false, 0});
    if (flags & GW_SUBMIT_DETACHED)
        commit(w);
    return must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
}

static void ask_gang(struct world *w, uint64_t request, uint64_t job, uint32_t verb)
{
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {request, job, verb}});
}

static void cancel_and_retry_replies_wait_for_the_commit(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t job = submit_some(w, 1, 3, GW_SUBMIT_DETACHED);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {7, job, 1, 0}});
    (void)answered_by_its_commit(w, 7);
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {8, job, GW_INDEX_ALL, 0}});
    (void)answered_by_its_commit(w, 8);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {9, job, GW_INDEX_ALL}});
    const struct gw_msg_reply *reply = answered_by_its_commit(w, 9);
    assert_int_equal(reply->body.size, 5);
    assert_memory_equal(reply->body.data, "\xce\0\0\0\3", 5);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {10, job, GW_INDEX_ALL}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_EINVAL); /* at once */
    free_world(w);
}

static void pause_and_resume_replies_wait_for_the_commit(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t job = submit_some(w, 1, 1, GW_SUBMIT_DETACHED);
    ask_gang(w, 7, job, GW_ASK_PAUSE);
    const uint64_t number = written(w);
    ask_gang(w, 8, job, GW_ASK_PAUSE); /* it is paused already, but that is not on disk either */
    assert_null(sent(w, CLIENT, GW_MESSAGE_reply, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.request, 7);
    assert_int_equal(sent(w, CLIENT, GW_MESSAGE_reply, 1)->reply.request, 8);
    ask_gang(w, 9, job, GW_ASK_PAUSE);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.request,
                     9); /* there is no commit to wait for */
    ask_gang(w, 10, job, GW_ASK_RESUME);
    (void)answered_by_its_commit(w, 10);
    free_world(w);
}

/* An attached job ends with the scheduler, so nothing of it is durable and no reply waits for a
 * disk. */
static void attached_job_requests_are_answered_at_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    (void)submit_some(w, 1, 1, GW_SUBMIT_DETACHED);
    uint64_t job = submit_some(w, 2, 2, 0);
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {7, job, 0, 0}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.request, 7);
    ask_gang(w, 8, job, GW_ASK_PAUSE);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.request, 8);
    free_world(w);
}

static void disconnected_client_receives_no_late_reply(void **state)
{
    struct world *w = new_world();
    (void)state;
    uint64_t job = submit_some(w, 1, 1, GW_SUBMIT_DETACHED);
    ask_gang(w, 7, job, GW_ASK_PAUSE);
    const uint64_t number = written(w);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {CLIENT}});
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
    assert_null(sent(w, CLIENT, GW_MESSAGE_reply, 0));
    (void)step(
        w, (struct gw_event){
               .type = GW_EVENT_OPEN, .peer = {OTHER}, .role = GW_ROLE_CLIENT, .text = "other"});
    assert_null(sent(w, OTHER, GW_MESSAGE_reply, 0));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_and_retry_replies_wait_for_the_commit),
        cmocka_unit_test(pause_and_resume_replies_wait_for_the_commit),
        cmocka_unit_test(attached_job_requests_are_answered_at_once),
        cmocka_unit_test(disconnected_client_receives_no_late_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
