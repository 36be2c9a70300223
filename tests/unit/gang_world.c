#include "tests/unit/gang_world.h"

void submit_gang(struct world *w, uint64_t request, struct gw_msg_spec spec)
{
    spec.key = request;
    send_spec(w, spec);
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
}

void pass(struct world *w, uint64_t ns)
{
    w->now_ns += ns;
    (void)step(w, (struct gw_event){.type = GW_EVENT_TICK});
}

void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, rank, {"", 0}}});
}

uint64_t go(struct world *w, int worker)
{
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
    ready(w, worker, attempt, 0);
    ready(w, worker, attempt, 1);
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_gang_go);
    return attempt;
}

void rank_ended(struct world *w, int worker, struct gw_msg_ended ended)
{
    ended.text = ended.text ? ended.text : "";
    ended.stderr_tail = "";
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_ended, .ended = ended});
}

void explained(struct world *w, uint64_t job, const char *words)
{
    struct gw_value *arguments = gw_dict(), *answer;
    const char *text = "";
    gw_dict_set(arguments, "job", gw_i64((int64_t)job));
    gw_dict_set(arguments, "index", gw_i64(0));
    assert_int_equal(gw_sched_query(w->sched, "explain", arguments, &answer, NULL), 0);
    assert_int_equal(gw_value_get_str(answer, &text, NULL), 0);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    gw_value_unref(answer);
    gw_value_unref(arguments);
}
