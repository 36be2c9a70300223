/* Which results are spilled to disk if memory is short: among the results that no task at the
 * worker waits for, the least recently used one. A result that a task waits for is spilled only
 * after all those.
 *
 * A result is used when it is made, when a task that needs it is sent to the host, and when that
 * task has ended. The simulator does not see all of this at the same time as the worker, so it
 * knows only an interval for the last use. If the intervals of two results overlap, either may be
 * spilled first. Results from other hosts and results in memory files are not checked. */
#include "tests/sim/checks/recency.h"

#include "tests/sim/world/memfile.h"
#include "tests/sim/world/turn.h"

/* A result in memory. It was last used between used_ns and used_most_ns. */
struct recent {
    uint64_t token, used_ns, used_most_ns;
    const struct work *work;
    uint32_t rank;
    bool several;  /* several results of this task: it is unknown which of them is used */
    uint64_t file; /* the file to which it is being written; 0: none */
};

/* An attempt that the scheduler has sent to the host and that has not ended there. */
struct taker {
    uint64_t attempt;
    uint32_t rank;           /* rank of a gang; each rank uses its inputs until it has ended */
    const struct work *work; /* NULL: unknown */
};

struct recency {
    GW_ARRAY(struct recent) results;
    GW_ARRAY(struct taker) takers;
};

static struct recency *recency_of(struct host *host)
{
    if (!host->recency)
        GW_MUST_PTR(host->recency = calloc(1, sizeof *host->recency));
    return host->recency;
}

void sim_recency_forget(struct host *host)
{
    if (!host->recency)
        return;
    gw_array_deinit(&host->recency->results);
    gw_array_deinit(&host->recency->takers);
    free(host->recency);
    host->recency = NULL;
}

/* -- Use -----------------------------------------------------------------------------------------
 */

/* Returns the task that runs for all tasks with the same arguments. */
static const struct work *as_run(const struct work *work)
{
    return work->twin_of ? work->twin_of : work;
}

static bool takes(const struct taker *taker, const struct recent *result)
{
    for (uint32_t i = 0; taker->work && i < taker->work->dep_count; i++) {
        const struct dep *dep = &taker->work->deps[i];
        if (as_run(dep->on) == result->work &&
            (dep->rank == GW_DEP_ALL || dep->rank == result->rank))
            return true; /* but not if it only runs after it */
    }
    return !taker->work;
}

/* Returns true if it is known which result of the input the attempt uses. Pure tasks of detached
 * jobs run again for later jobs while results of earlier terms are still in use. */
static bool is_sure(const struct taker *taker, const struct recent *result)
{
    return taker->work && !result->several &&
           !(taker->work->job->pure && taker->work->job->detached);
}

/* The inputs of an attempt are used now. surely: the worker sees this at the same time. */
static void use_inputs(struct sim *sim, struct recency *recency, const struct taker *taker,
                       bool surely)
{
    for (size_t i = 0; i < recency->results.count; i++) {
        struct recent *result = &recency->results.items[i];
        if (!takes(taker, result))
            continue;
        result->used_most_ns = sim->now_ns;
        result->used_ns = surely && is_sure(taker, result) ? sim->now_ns : result->used_ns;
    }
}

static void begin(struct sim *sim, struct recency *recency, const struct gw_msg_assign *assign)
{
    const uint8_t *args = assign->args.data;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint64_t id = sim_turn_work(args, gw_col32_at(assign->args_size, i));
        args += gw_col32_at(assign->args_size, i);
        struct taker taker = {gw_col64_at(assign->attempt, i), gw_col32_at(assign->rank, i), NULL};
        if (id >= 1 && id <= sim->work.count)
            taker.work = as_run(sim->work.items[id - 1]);
        use_inputs(sim, recency, &taker, false);
        GW_MUST(gw_array_push(&recency->takers, taker));
    }
}

/* Ends an attempt and returns its task, or NULL if unknown. */
static const struct work *end(struct sim *sim, struct recency *recency, struct taker ended,
                              bool surely)
{
    for (size_t i = 0; i < recency->takers.count; i++) {
        struct taker taker = recency->takers.items[i];
        if (taker.attempt != ended.attempt || taker.rank != ended.rank)
            continue;
        gw_array_remove_swap(&recency->takers, i);
        use_inputs(sim, recency, &taker, surely);
        return taker.work;
    }
    return NULL;
}

static void add(struct recency *recency, struct recent result)
{
    for (size_t i = 0; i < recency->results.count; i++) {
        struct recent *other = &recency->results.items[i];
        if (other->work == result.work && other->rank == result.rank)
            other->several = result.several = true;
    }
    GW_MUST(gw_array_push(&recency->results, result));
}

static void make(struct sim *sim, struct recency *recency, const struct gw_event *event)
{
    const struct gw_msg_finished *finished = &event->message->finished;
    uint32_t at = 0;
    for (uint32_t i = 0; i < finished->attempt.count; i++) {
        const struct taker taker = {gw_col64_at(finished->attempt, i),
                                    gw_col32_at(finished->rank, i), NULL};
        const struct work *work = end(sim, recency, taker, true);
        if (gw_col32_at(finished->value_size, i) || at >= event->token_count)
            continue;
        uint64_t token = event->tokens[at++];
        if (work && !sim_memfile_is(sim, token))
            add(recency, (struct recent){.token = token,
                                         .used_ns = sim->now_ns,
                                         .used_most_ns = sim->now_ns,
                                         .work = work,
                                         .rank = taker.rank == GW_RANK_NONE ? 0 : taker.rank});
    }
}

/* If a result could not be written, it stays in memory and is tried again after the others. */
static void written(struct sim *sim, struct recency *recency, const struct gw_event *event)
{
    for (size_t i = 0; i < recency->results.count; i++) {
        struct recent *result = &recency->results.items[i];
        if (result->file != event->number)
            continue;
        result->file = 0;
        result->used_ns = result->used_most_ns = sim->now_ns;
        if (event->code == 0)
            gw_array_remove_swap(&recency->results, i);
        return;
    }
}

void sim_recency_event(struct sim *sim, struct host *host, const struct gw_event *event)
{
    if (host->spills_nothing)
        return;
    if (event->type == GW_EVENT_SPILLED && event->number)
        written(sim, recency_of(host), event);
    if (event->type != GW_EVENT_MESSAGE)
        return;
    if (event->message->type == GW_MESSAGE_assign)
        begin(sim, recency_of(host), &event->message->assign);
    else if (event->message->type == GW_MESSAGE_finished)
        make(sim, recency_of(host), event);
    else if (event->message->type == GW_MESSAGE_replica_request)
        for (size_t i = 0; i < recency_of(host)->results.count; i++)
            host->recency->results.items[i].used_most_ns = sim->now_ns;
}

/* -- To disk -------------------------------------------------------------------------------------
 */

static struct recent *result_of(struct recency *recency, uint64_t token)
{
    for (size_t i = 0; i < recency->results.count; i++)
        if (recency->results.items[i].token == token)
            return &recency->results.items[i];
    return NULL;
}

static bool wanted(const struct recency *recency, const struct recent *result)
{
    for (size_t i = 0; i < recency->takers.count; i++)
        if (takes(&recency->takers.items[i], result))
            return true;
    return false;
}

static void check_spilled(struct sim *sim, const struct host *host, const struct recent *spilled)
{
    const struct recency *recency = host->recency;
    bool spared = false;
    for (size_t i = 0; i < recency->results.count; i++) {
        const struct recent *stays = &recency->results.items[i];
        if (stays->file || wanted(recency, stays))
            continue;
        SIM_CHECK(sim, stays->used_most_ns >= spilled->used_ns,
                  "host %u writes a result of task %llu to disk that was used at %.6f s, and not "
                  "that of task %llu, used at %.6f s",
                  host->number, (unsigned long long)spilled->work->id,
                  (double)spilled->used_ns / 1e9, (unsigned long long)stays->work->id,
                  (double)stays->used_most_ns / 1e9);
        spared = true;
    }
    if (spared)
        sim_fault(sim, FAULT_SPARED);
}

static void sent(struct sim *sim, struct recency *recency, const struct gw_effect *effect)
{
    const struct gw_message *message = &effect->message;
    const struct gw_msg_finished *finished = &message->finished;
    const struct gw_msg_failures *failures = &message->failures;
    if (message->type == GW_MESSAGE_ended)
        (void)end(sim, recency, (struct taker){message->ended.attempt, message->ended.rank, NULL},
                  false);
    for (uint32_t i = 0; message->type == GW_MESSAGE_finished && i < finished->attempt.count; i++)
        (void)end(
            sim, recency,
            (struct taker){gw_col64_at(finished->attempt, i), gw_col32_at(finished->rank, i), NULL},
            false);
    for (uint32_t i = 0; message->type == GW_MESSAGE_failures && i < failures->attempt.count; i++)
        (void)end(sim, recency,
                  (struct taker){gw_col64_at(failures->attempt, i), GW_RANK_NONE, NULL}, false);
    struct recent *result;
    if (effect->message.type == GW_MESSAGE_object && effect->token_count &&
        (result = result_of(recency, effect->tokens[0])))
        result->used_most_ns = sim->now_ns;
}

void sim_recency_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects)
{
    struct recency *recency = host->recency;
    if (!recency)
        return;
    for (size_t i = 0; i < effects->list.count; i++) {
        const struct gw_effect *effect = &effects->list.items[i];
        struct recent *result = NULL;
        if (effect->type == GW_EFFECT_SEND)
            sent(sim, recency, effect);
        if (effect->type == GW_EFFECT_DROP_TOKEN || effect->type == GW_EFFECT_SPILL)
            result = result_of(recency, effect->tokens[0]);
        if (result && effect->type == GW_EFFECT_SPILL)
            result->file = effect->number;
        else if (result)
            gw_array_remove_swap(&recency->results, (size_t)(result - recency->results.items));
    }
    for (size_t i = 0; i < effects->list.count; i++) {
        const struct gw_effect *effect = &effects->list.items[i];
        const struct recent *result = NULL;
        if (effect->type == GW_EFFECT_SPILL)
            result = result_of(recency, effect->tokens[0]);
        if (result)
            check_spilled(sim, host, result);
    }
}
