/* A scheduler's core with nothing around it. */
#include "tests/unit/sched_world.h"

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

struct world *new_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->now_ns = MS;
    w->sched = gw_sched_new(&(struct gw_sched_options){.state_dir = "/s"});
    (void)step(w, (struct gw_event){.type = GW_EVENT_START, .number = 3});
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    return w;
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
    spec.function = "f";
    spec.cwd = "";
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_spec, .spec = spec});
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
    say(w, CLIENT, message);
}

void submit(struct world *w, struct chunk c)
{
    submit_in_turns(w, c, 1);
}

void finish(struct world *w, int worker, uint64_t attempt, uint32_t rank, uint64_t bytes)
{
    uint64_t run_ns = 50 * MS;
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

uint64_t attempt_in(const struct gw_message *assign, uint32_t row)
{
    assert_true(row < assign->assign.attempt.count);
    return gw_col64_at(assign->assign.attempt, row);
}
