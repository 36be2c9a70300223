/* Each attempt is decided once, in all terms of the scheduler: the budget that its end counts
 * against, or how it ended its task, does not change, and later reports about it do not count
 * again. A decision whose facts were lost with the scheduler does not exist.
 *
 * This file reads the durable facts, the assigns and the attempts that are taken over. So it knows
 * the attempt of a task without asking the scheduler. */
#include "tests/sim/checks/charge.h"
#include "tests/sim/checks/quarantine.h"
#include "tests/sim/faults/revocation.h"

#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/state.h"

enum { HEADER_BYTES = 6, CHARGES_BYTES = 8, TRIES_BYTES = 2, UNCOUNTED_AT = 5 };

/* A task as the facts identify it. */
struct task {
    uint64_t job;
    uint32_t index;
};

struct decided {
    uint64_t attempt;
    size_t end; /* end of the facts that contain the decision */
    bool well;
};

struct sim_charges {
    struct gw_map current; /* task -> its attempt in this term */
    struct gw_map sums;    /* task -> sum of all counted ends */
    struct gw_map paid;    /* task -> the same without ends that count against no budget */
    GW_ARRAY(struct decided) decided;
};

static uint64_t key_of(struct task task)
{
    return task.job << 32 | task.index;
}

static struct sim_charges *charges_of(struct sim *sim)
{
    if (!sim->charges)
        GW_MUST_PTR(sim->charges = calloc(1, sizeof *sim->charges));
    return sim->charges;
}

/* A successful end may be reported again to the next scheduler, which may have lost the result
 * (worker/core/link/orphaned.c). The task is then done a second time. */
static void judge(struct sim *sim, struct task task, struct decided judgement)
{
    struct sim_charges *charges = charges_of(sim);
    for (size_t i = 0; i < charges->decided.count; i++) {
        const struct decided *decided = &charges->decided.items[i];
        SIM_CHECK(sim,
                  decided->attempt != judgement.attempt || decided->end == judgement.end ||
                      (decided->well && judgement.well),
                  "attempt %llx of task %u of job %llu is judged twice",
                  (unsigned long long)judgement.attempt, task.index, (unsigned long long)task.job);
        if (decided->attempt == judgement.attempt)
            return; /* its end was counted, and it is over */
    }
    GW_MUST(gw_array_push(&charges->decided, judgement));
}

static uint32_t u32_at(const uint8_t *at)
{
    uint32_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

/* Fields: job, index, charges. A retry resets the counts of a task. */
static void on_charges(struct sim *sim, const uint8_t *fields, size_t end)
{
    struct sim_charges *charges = charges_of(sim);
    const struct task task = {u64_at(fields), u32_at(fields + 8)};
    uint64_t attempt = 0, before = 0, sum = 0, paid_before = UINT64_MAX;
    for (uint32_t i = TRIES_BYTES; i < CHARGES_BYTES; i++)
        sum += fields[12 + i];
    uint64_t paid = sum - fields[12 + UNCOUNTED_AT];
    (void)gw_map_get(&charges->paid, key_of(task), &paid_before);
    GW_MUST(gw_map_put(&charges->paid, key_of(task), paid));
    if (paid_before == UINT64_MAX && sim->life == 0)
        paid_before = 0; /* otherwise the task may be from an earlier term */
    (void)gw_map_get(&charges->sums, key_of(task), &before);
    GW_MUST(gw_map_put(&charges->sums, key_of(task), sum));
    if (sum <= before)
        return;
    SIM_CHECK(sim,
              !sim->revoking || paid <= paid_before ||
                  sim_quarantine_ended(sim, task.job, task.index),
              "task %u of job %llu is charged, because the token of its worker was revoked",
              task.index, (unsigned long long)task.job);
    SIM_CHECK(sim, gw_map_get(&charges->current, key_of(task), &attempt),
              "task %u of job %llu is charged, and has no attempt", task.index,
              (unsigned long long)task.job);
    judge(sim, task, (struct decided){attempt, end, false});
}

/* Fields: job, index, state, code, exit_code, attempt, text, cause_job. */
static void on_ended(struct sim *sim, const uint8_t *fields, size_t end)
{
    const struct task task = {u64_at(fields), u32_at(fields + 8)};
    const uint32_t state =
        u32_at(fields + 12); /* RELEASED, one of the states in between, is never written */
    const uint64_t attempt = u64_at(fields + 24), cause = u64_at(fields + 36 + u32_at(fields + 32));
    uint64_t current;
    if (state < GW_TASK_DONE || state > GW_TASK_CANCELLED || !attempt || cause)
        return;
    if (state == GW_TASK_DONE)
        sim_revocation_ended(sim, attempt);
    if (gw_map_get(&charges_of(sim)->current, key_of(task), &current) && current == attempt)
        judge(sim, task, (struct decided){attempt, end, state == GW_TASK_DONE});
    /* otherwise it shares the result of another task */
}

static void on_facts(struct sim *sim, const struct gw_bin *facts)
{
    const size_t end = sim->facts.size + facts->size;
    const uint8_t *at = facts->data;
    while (at < (const uint8_t *)facts->data + facts->size) {
        uint16_t type;
        memcpy(&type, at + 4, sizeof type);
        if (type == GW_FACT_task_charges)
            on_charges(sim, at + HEADER_BYTES, end);
        else if (type == GW_FACT_task_ended)
            on_ended(sim, at + HEADER_BYTES, end);
        at += 4 + u32_at(at);
    }
}

void sim_charge_stepped(struct sim *sim)
{
    for (size_t i = 0; i < sim->effects.list.count; i++)
        if (sim->effects.list.items[i].type == GW_EFFECT_COMMIT)
            on_facts(sim, &sim->effects.list.items[i].bytes);
    for (size_t i = 0; i < sim->effects.list.count; i++) {
        const struct gw_effect *effect = &sim->effects.list.items[i];
        const struct gw_msg_assign *assign = &effect->message.assign;
        if (effect->type != GW_EFFECT_SEND || effect->message.type != GW_MESSAGE_assign)
            continue;
        for (uint32_t k = 0; k < assign->attempt.count; k++)
            sim_charge_adopted(sim, gw_col64_at(assign->job, k), gw_col32_at(assign->index, k),
                               gw_col64_at(assign->attempt, k));
    }
}

void sim_charge_adopted(struct sim *sim, uint64_t job, uint32_t index, uint64_t attempt)
{
    GW_MUST(gw_map_put(&charges_of(sim)->current, key_of((struct task){job, index}), attempt));
}

bool sim_charge_decided(struct sim *sim, uint64_t attempt)
{
    const struct sim_charges *charges = charges_of(sim);
    for (size_t i = 0; i < charges->decided.count; i++)
        if (charges->decided.items[i].attempt == attempt)
            return true;
    return false;
}

void sim_charge_crashed(struct sim *sim)
{
    struct sim_charges *charges = charges_of(sim);
    gw_map_deinit(&charges->current);
    gw_map_deinit(&charges->paid);
    gw_map_deinit(&charges->sums); /* each count is written again when it grows */
    while (charges->decided.count &&
           charges->decided.items[charges->decided.count - 1].end > sim->facts.size)
        charges->decided.count--;
}

void sim_charge_free(struct sim *sim)
{
    if (!sim->charges)
        return;
    gw_map_deinit(&sim->charges->current);
    gw_map_deinit(&sim->charges->sums);
    gw_map_deinit(&sim->charges->paid);
    gw_array_deinit(&sim->charges->decided);
    free(sim->charges);
    sim->charges = NULL;
}
