/* See sched_life.h. */
#include "tests/unit/scheduler/sched_life.h"

#include <stdlib.h>

struct gw_buffer life_facts;
uint64_t run_start_ns = MS;

void life_commit(struct world *w)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_COMMIT)
            assert_int_equal(gw_buffer_append(&life_facts, w->effects.list.items[i].bytes.data,
                                              w->effects.list.items[i].bytes.size),
                             0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000000});
}

struct world *life_begin(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->speaker = CLIENT;
    w->now_ns = run_start_ns;
    w->sched = gw_sched_new(&(struct gw_sched_options){.state_dir = "/s", .keeps_workers = true});
    assert_int_equal(gw_sched_durable_restore(w->sched, life_facts.data, life_facts.size), 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_START, .number = gw_sched_term(w->sched) + 1});
    life_commit(w);
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    return w;
}
