/* Tunnels that wait for their task, and established tunnels. */
#include "tests/unit/scheduler/gang_world.h"

#include "scheduler/core/model/limits.h"

static struct gw_message open_message(uint64_t request, uint64_t job, uint32_t kind)
{
    return (struct gw_message){
        .type = GW_MESSAGE_tunnel_open,
        .tunnel_open = {
            .request = request, .job = job, .cwd = "", .kind = kind, .wait = 1, .number = 80}};
}

/* Each command that waits for a worker has an input stream that waits; their number must not
 * matter. */
static void waiting_input_streams_do_not_use_up_tunnels(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    uint64_t attempt = 0;
    for (uint64_t job = 1; job <= 2; job++) {
        send_spec(w, (struct gw_msg_spec){.key = job, .ranks = 1});
        submit(w, (struct chunk){job, 1, GW_SUBMIT_LAST, false, 0});
        if (job == 1)
            attempt = gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt, 0);
    }
    ready(w, 0, attempt, 0);
    for (uint64_t i = 0; i < GW_TUNNELS_MAX; i++)
        say(w, CLIENT, open_message(10 + i, 2, GW_TUNNEL_INPUT));
    assert_null(sent(w, CLIENT, GW_MESSAGE_tunnel_opened, 0));
    say(w, CLIENT, open_message(9, 1, GW_TUNNEL_PORT));
    assert_null(sent(w, CLIENT, GW_MESSAGE_tunnel_opened, 0));
    must(w, WORKER, GW_MESSAGE_tunnel_open);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_input_streams_do_not_use_up_tunnels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
