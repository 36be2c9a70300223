/* A scheduler's core with nothing around it. */
#include "tests/unit/scheduler/sched_world.h"

#include <stdlib.h>

int step(struct world *w, struct gw_event event)
{
    event.now_ns = event.wall_ns = ++w->now_ns;
    int rc = gw_sched_step(w->sched, &event, &w->effects);
    gw_sched_check(w->sched);
    return rc;
}

void say(struct world *w, uint64_t peer, struct gw_message message)
{
    message.sequence = ++w->sequence[peer];
    assert_int_equal(
        step(w, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message}),
        0);
}

void pass(struct world *w, uint64_t ns)
{
    w->now_ns += ns;
    (void)step(w, (struct gw_event){.type = GW_EVENT_TICK});
}

const struct gw_message *sent(const struct world *w, uint64_t peer, uint32_t type, int n)
{
    for (size_t i = 0; i < w->effects.list.count; i++) {
        const struct gw_effect *effect = &w->effects.list.items[i];
        if (effect->type == GW_EFFECT_SEND && effect->peer.id == peer &&
            effect->message.type == type && n-- == 0)
            return &effect->message;
    }
    return NULL;
}

const struct gw_message *must(const struct world *w, uint64_t peer, uint32_t type)
{
    const struct gw_message *message = sent(w, peer, type, 0);
    if (!message)
        fail_msg("no %s to %llu", gw_message_name(type), (unsigned long long)peer);
    return message;
}

void add_worker_with(struct world *w, int number, uint32_t slots, const char *host,
                     uint64_t memory_bytes)
{
    uint64_t peer = WORKER + (uint64_t)number;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = host});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = slots,
                                             .memory_bytes = memory_bytes,
                                             .host = host,
                                             .address = host}});
}

void add_worker(struct world *w, int number, uint32_t slots, const char *host)
{
    add_worker_with(w, number, slots, host, 1000);
}

struct world *new_world_with(struct gw_sched_options options)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->now_ns = MS;
    w->speaker = CLIENT;
    w->sched = gw_sched_new(&options);
    (void)step(w, (struct gw_event){.type = GW_EVENT_START, .number = 3});
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    return w;
}

struct world *new_world(void)
{
    return new_world_with((struct gw_sched_options){.state_dir = "/s"});
}

void free_world(struct world *w)
{
    gw_sched_free(w->sched);
    gw_array_deinit(&w->effects.list);
    gw_arena_deinit(&w->effects.arena);
    free(w);
}

void send_spec(struct world *w, struct gw_msg_spec spec)
{
    spec.kind = spec.kind ? spec.kind : GW_SPEC_FUNCTION;
    spec.function = spec.function ? spec.function : "f";
    spec.cwd = spec.cwd ? spec.cwd : "";
    say(w, w->speaker, (struct gw_message){.type = GW_MESSAGE_spec, .spec = spec});
}

void submit_in_turns(struct world *w, struct chunk c, uint32_t specs)
{
    uint32_t zeros[8] = {0}, spec[8], counts[8], index[8], ranks[8], targets[8];
    uint64_t jobs[8] = {0};
    for (uint32_t i = 0; i < c.rows; i++) {
        spec[i] = i % specs;
        counts[i] = c.chain && i > 0;
        index[i] = i;
        ranks[i] = c.rank;
        targets[i] = i;
    }
    uint32_t edges = c.chain ? c.rows - 1 : 0;
    struct gw_message message = {.type = GW_MESSAGE_submit};
    message.submit = (struct gw_msg_submit){
        .request = c.request,
        .flags = c.flags,
        .name = "j",
        .spec = {spec, c.rows},
        .args_size = {zeros, c.rows},
        .args = {"", 0},
        .dep_count = {counts, c.rows},
        .dep_job = {jobs, edges},
        .dep_index = {index, edges},
        .dep_rank = {ranks, edges},
        .names = {"", 0},
        .targets = {targets, c.rows},
    };
    say(w, w->speaker, message);
}

void submit(struct world *w, struct chunk c)
{
    submit_in_turns(w, c, 1);
}

void submit_task(struct world *w, uint64_t request, struct gw_msg_spec spec)
{
    spec.key = request;
    send_spec(w, spec);
    if (!sent(w, w->speaker, GW_MESSAGE_rejected, 0))
        submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
}

static void say_finished(struct world *w, int worker, uint64_t attempt, uint32_t rank,
                         uint64_t bytes, uint64_t run_ns)
{
    uint32_t size = bytes <= 8 ? (uint32_t)bytes : 0;
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_finished,
                            .finished = {.attempt = {&attempt, 1},
                                         .rank = {&rank, 1},
                                         .bytes = {&bytes, 1},
                                         .value_size = {&size, 1},
                                         .values = {"12345678", size},
                                         .run_ns = {&run_ns, 1}}});
}

void finish(struct world *w, int worker, uint64_t attempt, uint32_t rank, uint64_t bytes)
{
    say_finished(w, worker, attempt, rank, bytes, 50 * MS);
}

void finish_after(struct world *w, int worker, uint64_t attempt, uint64_t run_ns)
{
    say_finished(w, worker, attempt, GW_RANK_NONE, 1, run_ns);
}

void attempt_ended(struct world *w, int worker, struct gw_msg_ended how)
{
    how.text = how.text ? how.text : "";
    how.stderr_tail = how.stderr_tail ? how.stderr_tail : "";
    say(w, WORKER + (uint64_t)worker, (struct gw_message){.type = GW_MESSAGE_ended, .ended = how});
}

void fail_attempt(struct world *w, int worker, uint64_t attempt)
{
    attempt_ended(w, worker,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_FAILED,
                                        .executing = 1,
                                        .text = "no luck"});
}

void give_back(struct world *w, int worker, uint64_t attempt)
{
    attempt_ended(w, worker,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_KILLED,
                                        .code = GW_ECANCELLED,
                                        .text = "killed"});
}

uint64_t attempt_in(const struct gw_message *assign, uint32_t row)
{
    assert_true(row < assign->assign.attempt.count);
    return gw_col64_at(assign->assign.attempt, row);
}

struct gw_value *ask(const struct world *w, const char *what, int64_t job, int64_t index)
{
    struct gw_value *arguments = gw_dict(), *answer;
    assert_int_equal(gw_dict_set(arguments, "job", gw_i64(job)), 0);
    if (index >= 0)
        assert_int_equal(gw_dict_set(arguments, "index", gw_i64(index)), 0);
    assert_int_equal(gw_sched_query(w->sched, what, arguments, &answer, NULL), 0);
    gw_value_unref(arguments);
    return answer;
}

const char *explain(const struct world *w, int64_t job, int64_t index)
{
    static char text[GW_ERROR_TEXT_MAX];
    struct gw_value *answer = ask(w, "explain", job, index);
    const char *found = "";
    assert_int_equal(gw_value_get_str(answer, &found, NULL), 0);
    (void)snprintf(text, sizeof text, "%s", found);
    gw_value_unref(answer);
    return text;
}

void explained(const struct world *w, int64_t job, const char *words)
{
    explained_of(w, job, -1, words);
}

void explained_of(const struct world *w, int64_t job, int64_t index, const char *words)
{
    const char *text = explain(w, job, index);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, text);
}

bool event_log_says(const struct world *w, int64_t job, const char *words)
{
    struct gw_value *event_log = ask(w, "events", job, 0);
    const struct gw_value *facts = gw_value_find(event_log, "events");
    bool found = false;
    for (size_t i = 0; i < gw_value_count(facts); i++) {
        const char *text = "";
        assert_int_equal(
            gw_value_get_str(gw_value_find(gw_value_at(facts, i), "text"), &text, NULL), 0);
        found = found || strstr(text, words);
    }
    gw_value_unref(event_log);
    return found;
}
