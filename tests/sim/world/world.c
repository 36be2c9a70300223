/* One seed: a world is created, faults happen for a while, then all faults stop (the world heals).
 * Every step must be safe, and all work must end. */
#include "tests/sim/checks/acknowledgement.h"
#include "tests/sim/checks/across.h"
#include "tests/sim/checks/charge.h"
#include "tests/sim/checks/ledger.h"
#include "tests/sim/checks/limit.h"
#include "tests/sim/checks/preemption.h"
#include "tests/sim/checks/prefer.h"
#include "tests/sim/checks/quarantine.h"
#include "tests/sim/checks/recovery.h"
#include "tests/sim/checks/reports.h"
#include "tests/sim/effects.h"
#include "tests/sim/faults/again.h"
#include "tests/sim/faults/ask.h"
#include "tests/sim/faults/crash.h"
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/drain.h"
#include "tests/sim/faults/late.h"
#include "tests/sim/faults/leave.h"
#include "tests/sim/faults/parting.h"
#include "tests/sim/faults/pause.h"
#include "tests/sim/faults/recant.h"
#include "tests/sim/faults/revocation.h"
#include "tests/sim/faults/worker_drain.h"
#include "tests/sim/world/accounts.h"
#include "tests/sim/world/memfile.h"
#include "tests/sim/world/nested.h"
#include "tests/sim/world/request.h"
#include "tests/sim/world/scatter.h"

#include "graph/wire/codec.h"

#include <stdio.h>

/* -- Durable state -------------------------------------------------------------------------------
 */

struct gw_sched *sim_sched_new(const struct sim *sim)
{
    struct gw_sched_options options = {.state_dir = "/sim",
                                       .keeps_workers = true,
                                       .range_block = BLOCK,
                                       .ageing_ns = 300 * MS,
                                       .preempt_look_ns = 5 * MS};
    if (sim_has_short_history(sim))
        options.history_jobs = SIM_HISTORY_JOBS;
    sim_scatter_options(&options);
    struct gw_sched *sched = gw_sched_new(&options);
    sim_accounts_set(sim, sched);
    return sched;
}

/* Transitions of state machines in a scheduler that is only restored for a check are not counted.
 */
static void stop_counting(uint64_t *taken[16])
{
    struct gw_sm *sm;
    for (size_t i = 0; (sm = gw_sched_check_machine(i)); i++) {
        taken[i] = sm->taken;
        sm->taken = NULL;
    }
}

static void go_on_counting(uint64_t *const taken[16])
{
    struct gw_sm *sm;
    for (size_t i = 0; (sm = gw_sched_check_machine(i)); i++)
        sm->taken = taken[i];
}

void sim_sched_restore(struct sim *sim, struct gw_sched *sched, size_t bytes)
{
    uint64_t *taken[16];
    stop_counting(taken);
    int rc = gw_sched_durable_restore(sched, sim->facts.data, bytes);
    go_on_counting(taken);
    SIM_CHECK(sim, rc == 0, "durable facts do not apply: %d", rc);
}

void sim_sched_begin(struct sim *sim, struct gw_sched *sched)
{
    uint64_t *taken[16];
    struct gw_effects effects = {0};
    const struct gw_event start = {.type = GW_EVENT_START,
                                   .number = gw_sched_term(sched) + 1,
                                   .now_ns = sim->now_ns,
                                   .wall_ns = sim->now_ns};
    stop_counting(taken);
    int rc = gw_sched_step(sched, &start, &effects);
    go_on_counting(taken);
    SIM_CHECK(sim, rc == 0, "another life does not begin: %d", rc);
    gw_array_deinit(&effects.list);
    gw_arena_deinit(&effects.arena);
}

static struct gw_sched *restored(struct sim *sim, size_t bytes)
{
    struct gw_sched *sched = sim_sched_new(sim);
    sim_sched_restore(sim, sched, bytes);
    return sched;
}

/* Prints where the two cores disagree about the tasks of a job. */
static void say_difference(const struct gw_sched *live, const struct gw_sched *rebuilt, uint64_t id)
{
    struct gw_value *arguments = gw_dict(), *tasks[2] = {NULL, NULL};
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)id)));
    (void)gw_sched_query(live, "tasks", arguments, &tasks[0], NULL);
    (void)gw_sched_query(rebuilt, "tasks", arguments, &tasks[1], NULL);
    for (size_t i = 0; tasks[0] && tasks[1] && i < gw_value_count(tasks[0]); i++) {
        char text[2][512];
        for (int k = 0; k < 2; k++)
            (void)gw_value_format(gw_value_at(tasks[k], i), text[k], sizeof text[k]);
        fprintf(stderr, "job %llu live    %s\njob %llu rebuilt %s\n", (unsigned long long)id,
                text[0], (unsigned long long)id, text[1]);
    }
    gw_value_unref(tasks[0]);
    gw_value_unref(tasks[1]);
    gw_value_unref(arguments);
}

/* Checks that a core restored from the compacted facts has the same durable state. */
static void check_compact(struct sim *sim, const struct gw_buffer *rebuilt)
{
    struct gw_buffer less = {0}, dump = {0}, all = sim->facts;
    SIM_CHECK(sim, gw_sched_compact(&all, &less) == 0, "the facts are none");
    sim->facts = less;
    struct gw_sched *sched = restored(sim, less.size);
    sim->facts = all;
    gw_sched_durable_dump(sched, &dump);
    SIM_CHECK(sim, dump.size == rebuilt->size && memcmp(dump.data, rebuilt->data, dump.size) == 0,
              "compacted facts give another state");
    gw_sched_free(sched);
    gw_buffer_deinit(&less);
    gw_buffer_deinit(&dump);
}

/* Checks that a core restored from all facts has the durable state of the running core. */
static void check_restore(struct sim *sim)
{
    struct gw_buffer live = {0}, rebuilt = {0};
    struct gw_sched *sched = restored(sim, sim->facts.size);
    sim_fault(sim, FAULT_RESTORE);
    gw_sched_durable_dump(sim->sched, &live);
    gw_sched_durable_dump(sched, &rebuilt);
    bool same = live.size == rebuilt.size &&
                (live.size == 0 || memcmp(live.data, rebuilt.data, live.size) == 0);
    for (size_t i = 0; i < sim->jobs.count && !same; i++)
        if (sim->jobs.items[i]->detached)
            say_difference(sim->sched, sched, sim->jobs.items[i]->id);
    SIM_CHECK(sim, same, "the durable state does not follow from its facts");
    check_compact(sim, &rebuilt);
    gw_buffer_deinit(&live);
    gw_buffer_deinit(&rebuilt);
    gw_sched_free(sched);
}

static const char *state_in(struct sim *sim, const struct gw_value *tasks, uint32_t row)
{
    const char *state = "";
    SIM_CHECK(sim, tasks && gw_value_count(tasks) > row, "a job was told of and is not committed");
    (void)gw_value_get_str(gw_value_find(gw_value_at(tasks, row), "state"), &state, NULL);
    return state;
}

/* Checks that what a client is told about a detached job would survive a crash: it is in the
 * committed facts. row GW_INDEX_ALL: the job itself. */
static void check_survives(struct sim *sim, const struct sim_job *job, uint64_t id, uint32_t row)
{
    if (!job->detached || job->range) /* rows of a range are created only when workers have room */
        return;
    struct gw_sched *sched = restored(sim, sim->facts_committed);
    struct gw_value *arguments = gw_dict(), *tasks = NULL;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)id)));
    (void)gw_sched_query(sched, "tasks", arguments, &tasks, NULL);
    const char *state = state_in(sim, tasks, row == GW_INDEX_ALL ? 0 : row);
    SIM_CHECK(sim,
              row == GW_INDEX_ALL || strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
                  strcmp(state, "cancelled") == 0,
              "a client is told that task %u of job %llu ended, but that is not committed", row,
              (unsigned long long)id);
    gw_value_unref(tasks);
    gw_value_unref(arguments);
    gw_sched_free(sched);
}

static void check_end_survives(struct sim *sim, const struct client *client, uint64_t request,
                               uint32_t index)
{
    const struct share *share = sim_share_find(client, request);
    const struct sim_job *job = share ? NULL : sim_client_job(sim, client, request);
    if (share) {
        job = share->promised->job;
        index = share->promised->row;
    }
    check_survives(sim, job, job->promised, index);
}

static void check_told(struct sim *sim, const struct client *client,
                       const struct gw_message *message)
{
    sim_ledger_told(sim, client, message);
    sim_drain_told(sim, client, message);
    if (message->type == GW_MESSAGE_accepted) {
        if (gw_map_get(&client->holding, message->accepted.request, NULL))
            return; /* a handle of an actor */
        struct sim_job *job = sim_client_job(sim, client, message->accepted.request);
        job->promised = message->accepted.job;
        sim_crash_check(sim, job);
        check_survives(sim, job, job->promised, GW_INDEX_ALL);
    } else if (message->type == GW_MESSAGE_reply) {
        sim_acknowledgement_told(sim, client, &message->reply);
    } else if (message->type == GW_MESSAGE_held) {
        sim_share_promise(sim, client, &message->held);
    } else if (message->type == GW_MESSAGE_replicated) {
        sim_replica_promise(sim, client, &message->replicated);
    } else if (message->type == GW_MESSAGE_failed) {
        sim_again_failed(sim, client, &message->failed);
        check_end_survives(sim, client, message->failed.request, message->failed.index);
    } else if (message->type == GW_MESSAGE_done) {
        for (uint32_t i = 0; i < message->done.request.count; i++)
            check_end_survives(sim, client, gw_col64_at(message->done.request, i),
                               gw_col32_at(message->done.index, i));
    }
}

/* -- The scheduler -------------------------------------------------------------------------------
 */

static void on_sched_tick(struct sim *sim, void *arg)
{
    (void)arg;
    if (sim->sched_tick_ns > sim->now_ns)
        return;
    sim->sched_tick_ns = UINT64_MAX;
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_TICK});
}

struct commit {
    uint64_t number, bytes, life;
};

static void on_committed(struct sim *sim, void *arg)
{
    struct commit commit = *(struct commit *)arg;
    free(arg);
    if (commit.life != sim->life)
        return; /* the scheduler that requested this commit is gone */
    sim->facts_committed = commit.bytes;
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_COMMITTED,
                                                 .number = commit.number,
                                                 .bytes = commit.bytes});
}

static void commit(struct sim *sim, const struct gw_effect *effect)
{
    sim_reports_facts(sim, &effect->bytes);
    GW_MUST(gw_buffer_append(&sim->facts, effect->bytes.data, effect->bytes.size));
    struct commit *commit = malloc(sizeof *commit);
    GW_MUST_PTR(commit);
    *commit = (struct commit){effect->number, sim->facts.size, sim->life};
    uint64_t in_ns = 100000 + sim_below(sim, 2 * MS);
    if (!sim->healed && sim_chance(sim, 10)) {
        sim_fault(sim, FAULT_LATE_COMMIT);
        in_ns += sim_below(sim, 400 * MS);
    }
    uint64_t at_ns = sim->now_ns + in_ns;
    if (at_ns <= sim->commit_ns)
        at_ns = sim->commit_ns + 1; /* commits finish in order */
    sim->commit_ns = at_ns;
    sim_plan_own(sim, at_ns - sim->now_ns, on_committed, commit, sim_drop);
}

static void drop_sched_token(struct sim *sim, uint64_t token)
{
    for (size_t i = 0; i < sim->sched_tokens.count; i++)
        if (sim->sched_tokens.items[i] == token) {
            gw_array_remove_swap(&sim->sched_tokens, i);
            sim_token_drop(sim, token);
            return;
        }
    sim_fail(sim, "the scheduler closes a descriptor that it has not");
}

static void execute(struct sim *sim, const struct gw_effect *effect)
{
    int end;
    struct conn *conn;
    struct keyed keyed;
    struct packed packed = {.token = 0};
    switch (effect->type) {
    case GW_EFFECT_SEND:
        sim_worker_drain_told(sim, effect->peer.id, &effect->message);
        if (effect->message.type == GW_MESSAGE_assign)
            sim_limit_assigned(sim, &effect->message.assign);
        if (effect->message.type == GW_MESSAGE_assign)
            sim_across_assigned(sim, &effect->message.assign);
        if (effect->message.type == GW_MESSAGE_assign)
            sim_recant_assigned(sim, &effect->message.assign);
        if (effect->message.type == GW_MESSAGE_kill)
            sim_across_killed(sim, &effect->message.kill);
        if (effect->message.type == GW_MESSAGE_assign)
            sim_recovery_assigned(sim, &effect->message.assign);
        if (effect->message.type == GW_MESSAGE_release)
            sim_recovery_released(sim, &effect->message.release);
        if (effect->message.type == GW_MESSAGE_assign)
            for (uint32_t i = 0; i < effect->message.assign.attempt.count; i++)
                GW_MUST(gw_map_put(&sim->assigned, gw_col64_at(effect->message.assign.attempt, i),
                                   sim->now_ns));
        if (effect->message.type == GW_MESSAGE_kill &&
            effect->message.kill.reason == GW_KILL_TAKE_BACK)
            sim_fault(sim, FAULT_TAKE_BACK);
        /* fall through */
    case GW_EFFECT_CLOSE:
        conn = sim_conn_of(sim, SIDE_SCHED, NULL, effect->peer.id, &end);
        if (conn && effect->type == GW_EFFECT_SEND && conn->ends[1].side == SIDE_CLIENT)
            check_told(sim, conn->ends[1].client, &effect->message);
        if (conn && effect->type == GW_EFFECT_SEND)
            sim_tunnel_watch(sim, effect);
        if (conn && effect->type == GW_EFFECT_SEND && effect->message.type == GW_MESSAGE_assign) {
            sim_again_assigned(sim, &effect->message.assign);
            sim_worker_drain_assigned(sim, conn->ends[1].host, &effect->message.assign);
            sim_drain_assigned(sim, conn, &effect->message.assign);
            sim_prefer_assigned(sim, conn->ends[1].host, &effect->message.assign);
            sim_quarantine_assigned(sim, conn->ends[1].host, &effect->message.assign);
            sim_parting_told(sim, conn->ends[1].host, &effect->message);
        }
        if (conn && effect->type == GW_EFFECT_SEND && effect->message.type == GW_MESSAGE_assign)
            sim_revocation_assigned(sim, conn, &effect->message.assign);
        if (conn && effect->type == GW_EFFECT_SEND)
            sim_leave_told(sim, conn, &effect->message);
        if (conn && effect->type == GW_EFFECT_CLOSE && conn->ends[1].side == SIDE_CLIENT)
            sim_sync_end(sim, conn->ends[1].client); /* its leases are free from now on */
        if (conn && effect->type == GW_EFFECT_CLOSE) {
            sim_crash_silent(sim, conn);
            sim_recovery_closed(sim, conn);
        }
        if (conn && effect->type == GW_EFFECT_SEND)
            sim_send(sim, conn, end, sim_scatter_pack(sim, sim_trust_add(effect, &keyed), &packed));
        else if (conn)
            sim_close(sim, conn, end);
        if (packed.token)
            sim_token_drop(sim, packed.token);
        break;
    case GW_EFFECT_DROP_TOKEN:
        drop_sched_token(sim, effect->tokens[0]);
        break;
    case GW_EFFECT_COMMIT:
        commit(sim, effect);
        break;
    case GW_EFFECT_STORE_CONTENT: /* the cores know only the hash of a content */
    case GW_EFFECT_LOG:
        break;
    default:
        sim_fail(sim, "the scheduler wants %u", effect->type);
    }
}

int sim_sched_step(struct sim *sim, struct gw_event *event)
{
    event->now_ns = event->wall_ns = sim->now_ns;
    sim->committed = event->type == GW_EVENT_COMMITTED;
    sim_quarantine_before(sim, event);
    sim_preemption_before(sim);
    int rc = gw_sched_step(sim->sched, event, &sim->effects);
    sim_effects_add(sim->now_ns, 0, gw_sched_deadline_ns(sim->sched), &sim->effects);
#ifndef GANGWAY_CHECK /* otherwise the core itself does this */
    gw_sched_check(sim->sched);
#endif
    sim_charge_stepped(sim);
    sim_ask_stepped(sim, event);
    sim_quarantine_stepped(sim, event);
    sim_parting_stepped(sim);
    sim_pause_stepped(sim);
    sim_preemption_stepped(sim);
    for (size_t i = 0; i < sim->effects.list.count; i++)
        execute(sim, &sim->effects.list.items[i]);
    sim_drain_stepped(sim);
    if (event->type == GW_EVENT_CLOSE)
        sim_tunnel_closed(sim, event->peer.id);
    uint64_t at = gw_sched_deadline_ns(sim->sched);
    if (at != UINT64_MAX && at < sim->sched_tick_ns) {
        sim->sched_tick_ns = at < sim->now_ns ? sim->now_ns : at;
        sim_plan(sim, sim->sched_tick_ns - sim->now_ns, on_sched_tick, NULL);
    }
    return rc;
}

void sim_sched_start(struct sim *sim, uint64_t term)
{
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_START,
                                                 .number = term,
                                                 .bytes = sim->facts.size, /* number of commits */
                                                 .seed = sim->life + 1});
    sim->facts_committed = sim->facts.size;
}

/* -- Faults --------------------------------------------------------------------------------------
 */

static void on_faults(struct sim *sim, void *arg)
{
    (void)arg;
    if (sim->healed)
        return;
    sim_net_faults(sim);
    sim_gpu_faults(sim);
    if (sim_chance(sim, 5))
        sim_reconnect(sim);
    if (sim_chance(sim, 4))
        sim_host_kill(sim, &sim->hosts[sim_below(sim, sim->host_count)]);
    if (sim_chance(sim, 15)) {
        const struct host *host = &sim->hosts[sim_below(sim, sim->host_count)];
        if (host->core && host->processes.count)
            sim_process_die(sim, host->processes.items[sim_below(sim, host->processes.count)]);
    }
    if (sim_chance(sim, 1)) {
        struct client *client = &sim->clients[sim_below(sim, sim->client_count)];
        if (client->alive) {
            sim_fault(sim, FAULT_CLIENT_KILL);
            sim_client_kill(sim, client);
        }
    }
    if (sim_chance(sim, 20))
        check_restore(sim);
    sim_plan(sim, 5 * MS + sim_below(sim, 100 * MS), on_faults, NULL);
}

static void on_finish(struct sim *sim, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < sim->client_count; i++)
        sim_request_finish(sim, &sim->clients[i]);
    sim_plan(sim, 5 * SECOND, on_finish, NULL);
}

static void on_heal(struct sim *sim, void *arg)
{
    (void)arg;
    sim_log(sim, "everything heals");
    sim->healed = true;
    sim->healed_ns = sim->now_ns;
    on_finish(sim, NULL);
}

/* -- A life --------------------------------------------------------------------------------------
 */

void sim_world_begin(struct sim *sim)
{
    sim->crash = sim_crash_perhaps;
    sim->crash_now = sim_crash_now;
    sim->now_ns = SECOND;
    sim->sched_tick_ns = UINT64_MAX;
    sim->sched = sim_sched_new(sim);
    sim_sched_start(sim, 1 + sim_below(sim, 9));
}

void sim_world_host(struct sim *sim, uint32_t number, uint32_t slots)
{
    struct host *host = &sim->hosts[number];
    host->sim = sim;
    host->number = number;
    host->incarnation = 1000 * number; /* no two incarnations of any host have the same number */
    host->slots = slots;
    host->next_peer = 1;
    (void)snprintf(host->worker_name, sizeof host->worker_name, "worker-%u", number);
    (void)snprintf(host->name, sizeof host->name, "host-%u", number / 2);
    (void)snprintf(host->address, sizeof host->address, "/h/%u", number);
    sim_host_start(sim, host);
}

static void make_world(struct sim *sim)
{
    sim_world_begin(sim);
    sim->yielded_max = sim_chance(sim, 15) ? 2 : 0;
    const bool twins = SIM_PLANTED_IN_TWINS || sim_crash_rests(sim);
    sim->host_count = 1 + (uint32_t)sim_below(sim, sim_late_world(sim) ? 2 : HOSTS_MAX);
    if (sim_crash_rests(sim))
        sim->host_count = HOSTS_MAX;
    for (uint32_t i = 0; i < sim->host_count; i++) {
        struct host *host = &sim->hosts[i];
        uint32_t slots = 1 + (uint32_t)sim_below(sim, 4);
        if (i == 0)
            slots += 3; /* so that all work fits somewhere */
        host->gpus = sim_chance(sim, sim_crash_rests(sim) ? 100 : twins ? 90 : 40) ? SIM_GPUS : 0;
        host->licenses = i == 0 ? 2 : (uint32_t)sim_below(sim, 2);
        host->tapes = 1 + (uint32_t)sim_below(sim, 3);
        if (i == 0)
            host->tapes = RANKS_MAX;
        sim_world_host(sim, i, slots);
    }
    sim->client_count = 1 + (uint32_t)sim_below(sim, CLIENTS_FIRST);
    for (uint32_t i = 0; i < sim->client_count; i++) {
        sim->clients[i].sim = sim;
        sim->clients[i].number = i;
        sim_client_start(sim, &sim->clients[i]);
    }
    sim_plan(sim, 100 * MS, on_faults, NULL);
    sim_accounts_begin(sim);
    sim_crash_plan(sim);
    sim_drain_plan(sim);
    sim_worker_drain_plan(sim);
    sim_revocation_plan(sim);
    sim_leave_plan(sim);
    sim_pause_plan(sim);
    sim_plan(sim, SECOND + sim_below(sim, 5 * SECOND), on_heal, NULL);
}

bool sim_next(struct sim *sim)
{
    if (sim->plans.count == 0)
        return false;
    struct plan plan = sim->plans.items[0];
    struct plan last = sim->plans.items[--sim->plans.count];
    size_t at = 0;
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= sim->plans.count)
            break;
        const struct plan *items = sim->plans.items;
        if (child + 1 < sim->plans.count && (items[child + 1].at_ns < items[child].at_ns ||
                                             (items[child + 1].at_ns == items[child].at_ns &&
                                              items[child + 1].order < items[child].order)))
            child++;
        if (last.at_ns < items[child].at_ns ||
            (last.at_ns == items[child].at_ns && last.order < items[child].order))
            break;
        sim->plans.items[at] = sim->plans.items[child];
        at = child;
    }
    if (sim->plans.count)
        sim->plans.items[at] = last;
    sim->now_ns = plan.at_ns;
    plan.run(sim, plan.arg);
    SIM_CHECK(sim, ++sim->steps < STEPS_MAX, "it does not come to rest");
    return true;
}

static bool settled(struct sim *sim)
{
    if (!sim->healed || sim_crash_down(sim))
        return false;
    for (uint32_t i = 0; i < sim->client_count; i++)
        if (!sim_client_settled(sim, &sim->clients[i]))
            return false;
    return true;
}

/* Prints why the seed has not ended. */
static void say_unsettled(struct sim *sim)
{
    for (size_t i = 0; i < sim->jobs.count; i++) {
        const struct sim_job *job = sim->jobs.items[i];
        for (size_t k = 0; k < job->work.count && job->client->alive; k++) {
            const struct work *work = job->work.items[k];
            if (!job->accepted)
                continue;
            struct gw_value *arguments = gw_dict(), *text = NULL;
            const char *words = "";
            GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job->id)));
            GW_MUST(gw_dict_set(arguments, "index", gw_i64(work->row)));
            if (gw_sched_query(sim->sched, "explain", arguments, &text, NULL) == 0)
                (void)gw_value_get_str(text, &words, NULL);
            bool untold = work->held && work->told == TOLD_NOTHING;
            if (untold || (!strstr(words, "it is done") && !strstr(words, "failed:") &&
                           !strstr(words, "cancelled:")))
                fprintf(stderr, "work %llu: %s\n", (unsigned long long)work->id, words);
            gw_value_unref(arguments);
            gw_value_unref(text);
        }
    }
    for (uint32_t i = 0; i < sim->client_count; i++) {
        size_t at = 0;
        uint64_t request, type;
        while (sim->clients[i].alive && gw_map_next(&sim->clients[i].calls, &at, &request, &type))
            fprintf(stderr, "client %u waits for %s to request %llu\n", i,
                    gw_message_name((uint32_t)type), (unsigned long long)request);
    }
}

/* Prints the jobs that have not ended, and why. */
static void say_left(struct sim *sim)
{
    for (size_t i = 0; i < sim->jobs.count; i++)
        for (size_t k = 0; k < sim->jobs.items[i]->work.count; k++) {
            struct gw_value *arguments = gw_dict(), *text = NULL;
            const char *words = "";
            GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)sim->jobs.items[i]->promised)));
            GW_MUST(gw_dict_set(arguments, "index", gw_i64((int64_t)k)));
            if (gw_sched_query(sim->sched, "explain", arguments, &text, NULL) == 0)
                (void)gw_value_get_str(text, &words, NULL);
            if (*words && !strstr(words, "it is done") && !strstr(words, "failed:") &&
                !strstr(words, "cancelled"))
                fprintf(stderr, "%s\n", words);
            gw_value_unref(arguments);
            gw_value_unref(text);
        }
}

static void check_liveness(struct sim *sim)
{
    uint64_t deadline_ns = UINT64_MAX;
    while (!settled(sim) && sim_next(sim)) {
        if (sim->healed && deadline_ns == UINT64_MAX)
            deadline_ns = sim->now_ns + 600 * SECOND;
        if (sim->now_ns > deadline_ns) {
            say_unsettled(sim);
            sim_fail(sim, "not all work ended within 600 s after everything healed");
        }
    }
    deadline_ns = sim->now_ns + 300 * SECOND;
    for (uint32_t i = 0; i < sim->host_count; i++)
        while (sim_disk_crowded(&sim->hosts[i]) && sim_next(sim))
            SIM_CHECK(sim, sim->now_ns < deadline_ns, "host %u keeps %zu descriptors, and may %u",
                      i, sim->hosts[i].tokens.count, sim->hosts[i].descriptors_max);
    for (uint32_t i = 0; i < sim->client_count; i++)
        sim_client_kill(sim, &sim->clients[i]);
    deadline_ns = sim->now_ns + 300 * SECOND;
    while (gw_sched_idle_since_ns(sim->sched) == UINT64_MAX && sim_next(sim)) {
        if (sim->now_ns >= deadline_ns)
            say_left(sim);
        SIM_CHECK(sim, sim->now_ns < deadline_ns, "jobs do not end after all clients left");
    }
    for (uint32_t i = 0; i < sim->host_count; i++)
        while (sim->hosts[i].folders.count > sim->hosts[i].retained_workdirs.count && sim_next(sim))
            SIM_CHECK(sim, sim->now_ns < deadline_ns, "a folder of a task stays on host %u", i);
    for (uint32_t i = 0; i < sim->host_count; i++)
        while (sim->hosts[i].leases.count > 0 && sim_next(sim))
            SIM_CHECK(sim, sim->now_ns < deadline_ns, "a gang's lease stays on host %u", i);
    size_t retained = sim_published_tokens(sim);
    SIM_CHECK(sim, sim->sched_tokens.count == retained,
              "the scheduler has %zu descriptors, %zu of them of published values",
              sim->sched_tokens.count, retained);
    check_restore(sim);
}

static void free_plans(struct sim *sim)
{
    for (size_t i = 0; i < sim->plans.count; i++)
        if (sim->plans.items[i].drop)
            sim->plans.items[i].drop(sim, sim->plans.items[i].arg);
    gw_array_deinit(&sim->plans);
}

void sim_world_free(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        sim_host_free(sim, &sim->hosts[i]);
    free_plans(sim);
    gw_sched_free(sim->sched);
    for (uint32_t i = 0; i < sim->client_count; i++)
        sim_client_free(sim, &sim->clients[i]);
    sim_nested_free(sim);
    sim_ledger_free(sim);
    sim_again_free(sim);
    sim_limit_free(sim);
    sim_conns_free(sim);
    sim_work_free(sim);
    sim_gangs_free(sim);
    gw_buffer_deinit(&sim->facts);
    gw_array_deinit(&sim->effects.list);
    gw_arena_deinit(&sim->effects.arena);
    gw_array_deinit(&sim->sched_tokens);
    gw_array_deinit(&sim->tunnels);
    gw_map_deinit(&sim->got);
    gw_map_deinit(&sim->fences);
    gw_map_deinit(&sim->contents);
    gw_map_deinit(&sim->assigned);
    gw_map_deinit(&sim->spread);
    gw_map_deinit(&sim->across);
    gw_map_deinit(&sim->calls_out);
    gw_map_deinit(&sim->sizes);
    sim_memfile_free(sim);
    sim_crash_free(sim);
    sim_recovery_free(sim);
    sim_charge_free(sim);
    sim_reports_free(sim);
    sim_ask_free(sim);
    sim_pause_free(sim);
    sim_drain_free(sim);
    sim_worker_drain_free(sim);
    sim_quarantine_free(sim);
    sim_preemption_free(sim);
    sim_parting_free(sim);
    sim_revocation_free(sim);
    free(sim);
}

void sim_run(uint64_t seed, bool log)
{
    struct sim *sim = calloc(1, sizeof *sim);
    GW_MUST_PTR(sim);
    sim->seed = seed;
    sim->log = log;
    make_world(sim);
    check_liveness(sim);
    sim_world_free(sim);
}
