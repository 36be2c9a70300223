/* Which jobs a client may act on: a user on the user's own, an admin on all. */
#include "tests/unit/scheduler/sched_world.h"

enum { STRANGER = CLIENT + 1, ADMIN, SLOTS = 4 };

/* A running job of CLIENT, and two more clients. */
static struct world *with_job(void)
{
    struct world *w = new_world();
    add_worker(w, 0, SLOTS, "a");
    for (uint64_t peer = STRANGER; peer <= ADMIN; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == ADMIN,
                                        .text = "another"});
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER, GW_MESSAGE_assign);
    return w;
}

static void only_an_admin_can_pause_jobs_of_other_users(void **state)
{
    const struct gw_message pause = {.type = GW_MESSAGE_gang_ask,
                                     .gang_ask = {5, 1, GW_ASK_PAUSE_NOW}};
    struct world *w = with_job();
    (void)state;
    say(w, STRANGER, pause);
    assert_int_equal(must(w, STRANGER, GW_MESSAGE_reply)->reply.code, GW_EPERM);
    say(w, ADMIN, pause);
    assert_int_equal(must(w, ADMIN, GW_MESSAGE_reply)->reply.code, 0);
    free_world(w);
}

static void only_an_admin_can_open_tunnels_to_jobs_of_others(void **state)
{
    const struct gw_message open = {
        .type = GW_MESSAGE_tunnel_open,
        .tunnel_open = {
            .request = 6, .job = 1, .cwd = "", .kind = GW_TUNNEL_PORT, .wait = 1, .number = 80}};
    struct world *w = with_job();
    (void)state;
    say(w, STRANGER, open);
    assert_int_equal(must(w, STRANGER, GW_MESSAGE_tunnel_opened)->tunnel_opened.code, GW_EPERM);
    say(w, ADMIN, open);
    assert_null(sent(w, ADMIN, GW_MESSAGE_tunnel_opened, 0)); /* the task has to be asked first */
    free_world(w);
}

/* The peer submits a job that waits for the first one. */
static void comes_after(struct world *w, uint64_t peer)
{
    static const uint64_t jobs[] = {1};
    static const uint32_t zero[] = {0};
    say(w, peer,
        (struct gw_message){
            .type = GW_MESSAGE_spec,
            .spec = {.key = 7, .kind = GW_SPEC_FUNCTION, .function = "f", .cwd = ""}});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_after,
                            .after = {.request = 7, .job = {jobs, 1}, .any = {zero, 1}}});
}

static void only_an_admin_can_depend_on_jobs_of_others(void **state)
{
    struct world *w = with_job();
    (void)state;
    comes_after(w, STRANGER);
    assert_int_equal(must(w, STRANGER, GW_MESSAGE_rejected)->rejected.code, GW_EPERM);
    comes_after(w, ADMIN);
    assert_null(sent(w, ADMIN, GW_MESSAGE_rejected, 0));
    free_world(w);
}

/* The reply when a client of a cluster submits with a priority; 0: there is none. */
static int priority_of(const char *address, uint64_t peer, int32_t priority)
{
    struct world *w =
        new_world_with((struct gw_sched_options){.state_dir = "/s", .address = address});
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {peer},
                                    .uid = (uint32_t)peer,
                                    .role = GW_ROLE_CLIENT,
                                    .admin = peer == ADMIN,
                                    .text = "another"});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_spec,
                            .spec = {.key = 7,
                                     .kind = GW_SPEC_FUNCTION,
                                     .function = "f",
                                     .cwd = "",
                                     .priority = priority}});
    const struct gw_message *message = sent(w, peer, GW_MESSAGE_rejected, 0);
    int code = message ? message->rejected.code : 0;
    if (code)
        assert_non_null(
            strstr(message->rejected.text, "only an admin may submit above priority 0"));
    free_world(w);
    return code;
}

static void priorities_above_0_need_an_admin(void **state)
{
    (void)state;
    assert_int_equal(priority_of("10.0.0.1:1", STRANGER, 1), GW_EPERM);
    assert_int_equal(priority_of("10.0.0.1:1", STRANGER, INT32_MAX), GW_EPERM);
    assert_int_equal(priority_of("10.0.0.1:1", STRANGER, 0), 0);
    assert_int_equal(priority_of("10.0.0.1:1", STRANGER, INT32_MIN), 0);
    assert_int_equal(priority_of("10.0.0.1:1", ADMIN, INT32_MAX), 0);
    assert_int_equal(priority_of(NULL, STRANGER, 1),
                     0); /* a cluster of a single user, and a task of that user */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_admin_can_pause_jobs_of_other_users),
        cmocka_unit_test(only_an_admin_can_open_tunnels_to_jobs_of_others),
        cmocka_unit_test(only_an_admin_can_depend_on_jobs_of_others),
        cmocka_unit_test(priorities_above_0_need_an_admin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
