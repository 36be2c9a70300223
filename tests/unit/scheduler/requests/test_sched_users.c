/* Which jobs a client may act on: a user on the user's own, an admin on all. */
#include "tests/unit/scheduler/sched_world.h"

enum { STRANGER = CLIENT + 1, ADMIN, SLOTS = 4 };

/* A job of CLIENT, and two more clients. */
static struct world *with_waiting_job(void)
{
    struct world *w = new_world();
    for (uint64_t peer = STRANGER; peer <= ADMIN; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == ADMIN,
                                        .text = "another"});
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    return w;
}

/* The job runs. */
static struct world *with_job(void)
{
    struct world *w = with_waiting_job();
    add_worker(w, 0, SLOTS, "a");
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

/* The code of the reply to a query of a peer about job 1. *body: the reply's bytes. */
static int query(struct world *w, uint64_t peer, const char *what, struct gw_bin *body)
{
    static const uint8_t job_1[] = "\x81\xa3job\x01";
    say(w, peer,
        (struct gw_message){
            .type = GW_MESSAGE_query,
            .query = {.request = 9, .what = what, .arguments = {job_1, sizeof job_1 - 1}}});
    const struct gw_msg_reply *reply = &must(w, peer, GW_MESSAGE_reply)->reply;
    *body = reply->body;
    return reply->code;
}

/* Asks for a pause or a resume, and returns the code of the reply. */
static int ask_pause(struct world *w, uint64_t peer, uint32_t verb)
{
    say(w, peer, (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {5, 1, verb}});
    return must(w, peer, GW_MESSAGE_reply)->reply.code;
}

static void job_that_an_admin_has_paused_is_resumed_only_by_an_admin(void **state)
{
    static const char said[] = "its job is paused, by another (user ";
    static const char hint[] = "(only an admin may resume it)";
    struct world *w = with_waiting_job();
    struct gw_bin body;
    (void)state;
    assert_int_equal(ask_pause(w, CLIENT, GW_ASK_PAUSE), 0);
    assert_int_equal(ask_pause(w, ADMIN, GW_ASK_PAUSE), 0);  /* takes over the owner's pause */
    assert_int_equal(ask_pause(w, CLIENT, GW_ASK_PAUSE), 0); /* changes nothing */
    assert_int_equal(ask_pause(w, CLIENT, GW_ASK_RESUME), GW_EPERM);
    assert_int_equal(query(w, CLIENT, "explain", &body), 0);
    assert_non_null(memmem(body.data, body.size, said, strlen(said)));
    assert_non_null(memmem(body.data, body.size, hint, strlen(hint)));
    assert_int_equal(ask_pause(w, ADMIN, GW_ASK_RESUME), 0);
    assert_int_equal(ask_pause(w, CLIENT, GW_ASK_PAUSE), 0);
    assert_int_equal(ask_pause(w, CLIENT, GW_ASK_RESUME), 0);
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

/* A cluster with a TCP address, with a worker of user `owner`. */
static struct world *with_worker_of(uint32_t owner, bool all_users)
{
    struct world *w =
        new_world_with((struct gw_sched_options){.state_dir = "/s", .address = "10.0.0.1:1"});
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {WORKER},
                                    .role = GW_ROLE_WORKER,
                                    .owner = owner,
                                    .text = "a"});
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = SLOTS,
                                             .memory_bytes = 1000,
                                             .host = "a",
                                             .address = "a",
                                             .all_users = all_users}});
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {STRANGER},
                                    .uid = STRANGER,
                                    .role = GW_ROLE_CLIENT,
                                    .user = "bob",
                                    .text = "bob"});
    w->speaker = STRANGER;
    return w;
}

static void workers_run_only_tasks_of_their_own_user(void **state)
{
    struct world *w = with_worker_of(STRANGER, false);
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.key = 1});
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);

    w = with_worker_of(STRANGER + 1, true);
    submit_task(w, 1, (struct gw_msg_spec){.key = 1});
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);

    w = with_worker_of(STRANGER + 1, false);
    submit_task(w, 1, (struct gw_msg_spec){.key = 1});
    const struct gw_message *rejected = must(w, STRANGER, GW_MESSAGE_rejected);
    assert_int_equal(rejected->rejected.code, GW_EINFEASIBLE);
    assert_non_null(strstr(rejected->rejected.text, "no worker runs tasks of user bob"));
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

static void only_an_admin_can_reload_the_configuration(void **state)
{
    struct world *w = with_waiting_job();
    struct gw_bin body;
    (void)state;
    assert_int_equal(query(w, CLIENT, "reload", &body), GW_EPERM);
    free_world(w);
}

static void failure_texts_reach_only_their_user_and_admins(void **state)
{
    static const char *const rows[] = {"job", "jobs", "tasks"}, *const refused[] = {"events",
                                                                                    "explain"};
    struct world *w = new_world();
    struct gw_bin body;
    (void)state;
    add_worker(w, 0, SLOTS, "a");
    for (uint64_t peer = STRANGER; peer <= ADMIN; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == ADMIN,
                                        .text = "another"});
    submit_task(w, 1, (struct gw_msg_spec){.key = 1});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_FAILED,
                                        .code = GW_ETASK,
                                        .executing = 1,
                                        .text = "the password is swordfish"});
    for (uint64_t peer = CLIENT; peer <= ADMIN; peer++) {
        for (int i = 0; i < 3; i++) {
            assert_int_equal(query(w, peer, rows[i], &body), 0);
            assert_int_equal(memmem(body.data, body.size, "swordfish", 9) != NULL,
                             peer != STRANGER);
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(query(w, peer, refused[i], &body), peer == STRANGER ? GW_EPERM : 0);
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_admin_can_pause_jobs_of_other_users),
        cmocka_unit_test(job_that_an_admin_has_paused_is_resumed_only_by_an_admin),
        cmocka_unit_test(only_an_admin_can_open_tunnels_to_jobs_of_others),
        cmocka_unit_test(only_an_admin_can_depend_on_jobs_of_others),
        cmocka_unit_test(priorities_above_0_need_an_admin),
        cmocka_unit_test(workers_run_only_tasks_of_their_own_user),
        cmocka_unit_test(only_an_admin_can_reload_the_configuration),
        cmocka_unit_test(failure_texts_reach_only_their_user_and_admins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
