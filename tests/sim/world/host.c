/* A host: a production worker core, and a driver that replaces worker/net. */
#include "tests/sim/checks/admission.h"
#include "tests/sim/checks/cancelled.h"
#include "tests/sim/checks/limit.h"
#include "tests/sim/checks/recency.h"
#include "tests/sim/effects.h"
#include "tests/sim/faults/crash.h"
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/late.h"
#include "tests/sim/faults/leave.h"
#include "tests/sim/faults/recant.h"
#include "tests/sim/faults/revocation.h"
#include "tests/sim/world/door.h"
#include "tests/sim/world/folder.h"
#include "tests/sim/world/memfile.h"
#include "tests/sim/world/nested.h"

#include <stdio.h>

static const uint8_t *token_retained(struct host *host, uint64_t token)
{
    for (size_t i = 0; i < host->tokens.count; i++)
        if (host->tokens.items[i] == token) {
            gw_array_remove_swap(&host->tokens, i);
            return (const uint8_t *)"";
        }
    return NULL;
}

static void on_tick(struct sim *sim, void *arg)
{
    struct host *host = arg;
    if (!host->core || host->tick_ns > sim->now_ns)
        return;
    host->tick_ns = UINT64_MAX;
    (void)sim_host_step(sim, host, &(struct gw_event){.type = GW_EVENT_TICK});
}

static void set_tick(struct sim *sim, struct host *host)
{
    uint64_t at = gw_node_core_deadline_ns(host->core);
    if (at == UINT64_MAX || at >= host->tick_ns)
        return;
    host->tick_ns = at < sim->now_ns ? sim->now_ns : at;
    sim_plan(sim, host->tick_ns - sim->now_ns, on_tick, host);
}

/* -- What comes back a little later --------------------------------------------------------------
 */

struct answer {
    struct host *host;
    uint64_t incarnation, number;
    uint32_t type; /* GW_EVENT_PROGRAM, LEASED, MEASURED, FOLDER or COUNTED */
    uint8_t hash[32];
    bool leads; /* LEASED: this worker leads the gang */
    uint32_t doors;
};

static void on_answer(struct sim *sim, void *arg)
{
    struct answer answer = *(struct answer *)arg;
    free(arg);
    if (!answer.host->core || answer.host->incarnation != answer.incarnation)
        return;
    struct gw_event event = {.type = answer.type, .number = answer.number};
    uint64_t token;
    uint32_t ports[RANKS_MAX];
    char text[FOLDER_TEXT];
    if (answer.type == GW_EVENT_FOLDER) {
        sim_folder_answer(sim, answer.host, &event, text);
    } else if (answer.type == GW_EVENT_COUNTED) {
        sim_folder_count(answer.host, &event);
    } else if (answer.type == GW_EVENT_MEASURED) {
        event.bytes = sim_process_output(sim, answer.host, answer.number);
    } else if (answer.type == GW_EVENT_PROGRAM) {
        event.hash = (struct gw_bin){answer.hash, sizeof answer.hash};
        event.text = "/program";
    } else if (!sim->healed && sim_chance(sim, 3)) {
        sim_fault(sim, FAULT_NO_LEASE);
        event.code = GW_ELIMIT;
        event.text = "no port is free";
        sim->some_did_not_start = true;
    } else {
        event.code = 2000;
        event.text = "127.0.0.1";
        if (answer.doors == 0) { /* commands have no collectives */
            token = sim_token(sim, answer.number, 0);
            event.tokens = &token;
            event.token_count = 1;
            GW_MUST(gw_array_push(&answer.host->tokens, token));
        }
        for (uint32_t i = 0; i < answer.doors; i++)
            ports[i] = sim_door_port(answer.host, i);
        event.ports = ports;
        event.port_count = answer.doors;
        if (answer.leads || answer.doors)
            sim_lease_open(answer.host, answer.number);
    }
    int rc = sim_host_step(sim, answer.host, &event);
    SIM_CHECK(sim, rc == 0, "a worker refuses what it asked for");
    sim_folder_counted(sim, answer.host);
}

static void plan_answer(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    struct answer *answer = calloc(1, sizeof *answer);
    GW_MUST_PTR(answer);
    *answer = (struct answer){.host = host,
                              .incarnation = host->incarnation,
                              .number = effect->number,
                              .leads = effect->size > 0,
                              .doors = effect->doors ? effect->count : 0,
                              .type = effect->type == GW_EFFECT_PROGRAM  ? GW_EVENT_PROGRAM
                                      : effect->type == GW_EFFECT_LEASE  ? GW_EVENT_LEASED
                                      : effect->type == GW_EFFECT_FOLDER ? GW_EVENT_FOLDER
                                      : effect->type == GW_EFFECT_COUNT  ? GW_EVENT_COUNTED
                                                                         : GW_EVENT_MEASURED};
    if (effect->type == GW_EFFECT_PROGRAM)
        memcpy(answer->hash, effect->bytes.data, sizeof answer->hash);
    uint64_t most_ns = answer->type == GW_EVENT_MEASURED ? MS : 5 * MS;
    sim_plan_own(sim, 100000 + sim_below(sim, most_ns), on_answer, answer, sim_drop);
}

/* -- Other workers -------------------------------------------------------------------------------
 */

struct reach {
    struct host *from;
    uint64_t incarnation;
    uint32_t worker;
    char address[16];
};

static void on_reach(struct sim *sim, void *arg)
{
    struct reach reach = *(struct reach *)arg;
    free(arg);
    struct host *from = reach.from, *to = NULL;
    if (!from->core || from->incarnation != reach.incarnation)
        return;
    for (uint32_t i = 0; i < sim->host_count; i++)
        if (sim->hosts[i].core && strcmp(sim->hosts[i].address, reach.address) == 0)
            to = &sim->hosts[i];
    if (!to || (!sim->healed && sim_chance(sim, 10))) {
        (void)sim_host_step(sim, from,
                            &(struct gw_event){.type = GW_EVENT_CLOSE, .number = reach.worker});
        return;
    }
    struct end a = {.side = SIDE_HOST,
                    .host = from,
                    .incarnation = from->incarnation,
                    .peer = from->next_peer++};
    struct end b = {
        .side = SIDE_HOST, .host = to, .incarnation = to->incarnation, .peer = to->next_peer++};
    (void)sim_connect(sim, a, b);
    (void)sim_host_step(
        sim, to, &(struct gw_event){.type = GW_EVENT_OPEN, .peer = {b.peer}, .role = GW_ROLE_PEER});
    if (from->core)
        (void)sim_host_step(sim, from,
                            &(struct gw_event){.type = GW_EVENT_OPEN,
                                               .peer = {a.peer},
                                               .role = GW_ROLE_PEER,
                                               .number = reach.worker});
}

static void plan_reach(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    struct reach *reach = calloc(1, sizeof *reach);
    GW_MUST_PTR(reach);
    *reach = (struct reach){
        .from = host, .incarnation = host->incarnation, .worker = (uint32_t)effect->number};
    (void)snprintf(reach->address, sizeof reach->address, "%s", (const char *)effect->bytes.data);
    sim_plan_own(sim, 50000 + sim_below(sim, MS), on_reach, reach, sim_drop);
}

/* -- Effects -------------------------------------------------------------------------------------
 */

static void to_supervisor(struct sim *sim, struct host *host, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_spawn)
        sim_process_spawn(sim, host, &message->spawn);
    else if (message->type == GW_MESSAGE_reap)
        sim_process_reap(sim, host, &message->reap);
}

static void execute_send(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    if (effect->peer.id == host->supervisor_peer) {
        to_supervisor(sim, host, &effect->message);
        return;
    }
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->peer == effect->peer.id) {
            sim_process_take(sim, host->processes.items[i], effect);
            return;
        }
    int end;
    struct conn *conn = sim_conn_of(sim, SIDE_HOST, host, effect->peer.id, &end);
    sim_disk_told(sim, host, &effect->message);
    sim_leave_says(sim, host, &effect->message);
    if (effect->message.type == GW_MESSAGE_replica_reply)
        sim_replica_replied(sim, host, &effect->message.replica_reply);
    struct gw_effect sent = *effect;
    sim_recant_told(sim, host, &sent.message);
    if (sent.message.type == GW_MESSAGE_ended)
        sim_door_ended(sim, &sent.message);
    if (sent.message.type == GW_MESSAGE_ended)
        sim_limit_told(sim, &sent.message.ended);
    if (conn)
        sim_send(sim, conn, end, &sent);
}

static void execute_close(struct sim *sim, struct host *host, uint64_t peer)
{
    int end;
    struct conn *conn = sim_conn_of(sim, SIDE_HOST, host, peer, &end);
    if (conn && conn == host->scheduler) { /* messages that still arrive are dropped */
        if (conn->id == host->welcomed)
            sim_reconnect_given_up(sim, conn);
        host->replica_seen = UINT64_MAX;
        gw_array_clear(&host->replica_requests);
    }
    if (conn)
        sim_close(sim, conn, end);
}

static void execute(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    switch (effect->type) {
    case GW_EFFECT_SEND:
        sim_trust_told(sim, &effect->message);
        execute_send(sim, host, effect);
        break;
    case GW_EFFECT_CLOSE:
        execute_close(sim, host, effect->peer.id);
        break;
    case GW_EFFECT_DROP_TOKEN:
        SIM_CHECK(sim, token_retained(host, effect->tokens[0]) != NULL,
                  "a worker closes a descriptor that it has not");
        sim_token_drop(sim, effect->tokens[0]);
        break;
    case GW_EFFECT_EMPTY:
        sim_memfile_empty(sim, effect->tokens[0]);
        break;
    case GW_EFFECT_SURVEY:
        sim_hang_survey(sim, host, effect);
        break;
    case GW_EFFECT_PROGRAM:
    case GW_EFFECT_LEASE:
    case GW_EFFECT_MEASURE:
    case GW_EFFECT_FOLDER:
        plan_answer(sim, host, effect);
        break;
    case GW_EFFECT_COUNT:
        sim_folder_retain(sim, host, effect->number);
        plan_answer(sim, host, effect);
        break;
    case GW_EFFECT_LOOK:
        sim_door_look(sim, host, effect);
        break;
    case GW_EFFECT_CHECKPOINT_TRANSFER:
    case GW_EFFECT_WATCH:
    case GW_EFFECT_UNWATCH:
        sim_transfer_execute(sim, host, effect);
        break;
    case GW_EFFECT_UNBIND:
        sim_lease_unbind(sim, host, effect->number);
        break;
    case GW_EFFECT_UNLEASE:
        sim_lease_close(host, effect->number);
        break;
    case GW_EFFECT_UNFOLDER:
        sim_folder_remove(sim, host, effect->number);
        break;
    case GW_EFFECT_LINK:
        sim_nested_link(sim, host, effect);
        break;
    case GW_EFFECT_CONNECT:
        plan_reach(sim, host, effect);
        break;
    case GW_EFFECT_SPILL:
    case GW_EFFECT_RESTORE:
    case GW_EFFECT_UNLINK:
        sim_disk_execute(sim, host, effect);
        break;
    case GW_EFFECT_ABORT:
        (void)sim_gang_abort(sim, effect->number);
        break;
    case GW_EFFECT_EXIT:
        sim_leave_exit(sim, host);
        break;
    default:
        break;
    }
}

/* Opens the links of runners that this step started, directly after the spawn, as the driver does.
 */
static void open_runners(struct sim *sim, struct host *host)
{
    for (size_t i = 0; i < host->processes.count; i++) {
        struct process *process = host->processes.items[i];
        if (!process->runner || process->peer)
            continue;
        process->peer = host->next_peer++;
        process->link_open = true;
        (void)sim_host_step(sim, host,
                            &(struct gw_event){.type = GW_EVENT_OPEN,
                                               .peer = {process->peer},
                                               .role = GW_ROLE_RUNNER,
                                               .number = process->id});
    }
}

int sim_host_step(struct sim *sim, struct host *host, struct gw_event *event)
{
    event->now_ns = event->wall_ns = sim->now_ns;
    struct gw_node_core *core = host->core;
    sim_recency_event(sim, host, event);
    int rc = gw_node_core_step(core, event, &host->effects);
    sim_effects_add(sim->now_ns, host->number + 1, gw_node_core_deadline_ns(core), &host->effects);
#ifndef GANGWAY_CHECK /* otherwise the core itself does this */
    gw_node_core_check(core);
#endif
    sim_disk_stepped(sim, host);
    sim_admission_stepped(sim, host);
    sim_recency_stepped(sim, host, &host->effects);
    sim_late_stepped(sim, host, &host->effects);
    /* Executing effects may step this core again, so its effects are moved away first. */
    struct gw_effects effects = host->effects;
    memset(&host->effects, 0, sizeof host->effects);
    host->executing++;
    for (size_t i = 0; i < effects.list.count && host->core == core; i++)
        execute(sim, host, &effects.list.items[i]);
    host->executing--;
    gw_array_deinit(&effects.list);
    gw_arena_deinit(&effects.arena);
    if (host->core != core)
        return rc;
    open_runners(sim, host);
    if (host->core == core) {
        sim_disk_check(sim, host);
        sim_tunnel_host_look(sim, host);
        set_tick(sim, host);
    }
    return rc;
}

void sim_host_log(struct sim *sim, struct host *host, const struct gw_message *read)
{
    if (!host->scheduler || read->sequence <= host->log_seen)
        return;
    host->log_seen = read->sequence;
    struct gw_effect effect = {.message.type = GW_MESSAGE_log_data};
    effect.message.log_data = (struct gw_msg_log_data){.request = read->log_read.request,
                                                       .text = "",
                                                       .attempt = read->log_read.attempt,
                                                       .end = 1,
                                                       .data = {"out", 3}};
    gw_node_core_stamp(host->core, &effect.message);
    sim_send(sim, host->scheduler, 1, &effect);
}

/* -- Life ----------------------------------------------------------------------------------------
 */

static void on_connect(struct sim *sim, void *arg)
{
    struct host *host = arg;
    if (!host->core || host->leave.told || host->scheduler || sim_crash_refuses(sim, host) ||
        sim_revocation_refuses(sim, host))
        return;
    struct end sched = {.side = SIDE_SCHED, .peer = ++sim->next_conn + 1000000};
    struct end own = {.side = SIDE_HOST,
                      .host = host,
                      .incarnation = host->incarnation,
                      .peer = host->next_peer++};
    host->scheduler = sim_connect(sim, sched, own);
    host->log_seen = host->replica_seen = 0;
    gw_array_clear(&host->replica_requests);
    int rc = sim_host_step(
        sim, host,
        &(struct gw_event){.type = GW_EVENT_OPEN, .peer = {own.peer}, .role = GW_ROLE_SCHEDULER});
    SIM_CHECK(sim, rc == 0, "a worker refuses its scheduler");
    rc = sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                .peer = {sched.peer},
                                                .role = GW_ROLE_WORKER,
                                                .uid = 1000,
                                                .text = host->worker_name});
    SIM_CHECK(sim, rc == 0, "the scheduler refuses a worker");
    if (!sim->healed && sim_chance(sim, 4)) /* perhaps before it has registered */
        sim_cut(sim, host->scheduler);
}

bool sim_host_is_heard(const struct sim *sim, const struct host *host,
                       const struct gw_message *message)
{
    return message->peer == host->welcomed_peer && message->term == gw_sched_term(sim->sched);
}

void sim_host_connect(struct sim *sim, struct host *host)
{
    sim_plan(sim, MS + sim_below(sim, 500 * MS), on_connect, host);
}

void sim_host_start(struct sim *sim, struct host *host)
{
    char resources[48];
    (void)snprintf(resources, sizeof resources, host->licenses ? "tape=%u,license=%u" : "tape=%u",
                   host->tapes, host->licenses);
    struct gw_node_gpu gpus[SIM_GPUS];
    char names[SIM_GPUS][SIM_GPU_NAME];
    sim_gpu_list(host, gpus, names);
    struct gw_node_options options = {
        .slots = host->slots,
        .gpus = gpus,
        .gpu_count = host->gpus,
        .gpus_watched = true,
        .gpu_clear_ns = SECOND,
        .host = host->name,
        .machine =
            (sim->seed % 2 || sim_crash_rests(sim)) && host->number ? "machine" : host->worker_name,
        .address = host->address,
        .log_dir = "/log",
        .checkpoint_dir = "/checkpoint",
        .resources = resources,
        .yielded_max = sim->yielded_max,
        .retained_bytes_max = SIM_RETAINED_BYTES,
    };
    sim_disk_options(sim, host, &options);
    sim_crash_options(sim, host, &options);
    host->core = gw_node_core_new(&options);
    host->incarnation++;
    host->tick_ns = UINT64_MAX;
    host->supervisor_peer = host->next_peer++;
    host->supervisor_sent = 0;
    (void)sim_host_step(sim, host,
                        &(struct gw_event){.type = GW_EVENT_START, .number = host->incarnation});
    (void)sim_host_step(sim, host,
                        &(struct gw_event){.type = GW_EVENT_OPEN,
                                           .peer = {host->supervisor_peer},
                                           .role = GW_ROLE_SUPERVISOR});
    sim_host_connect(sim, host);
    sim_disk_start(sim, host);
    sim_gpu_start(sim, host);
}

static void on_restart(struct sim *sim, void *arg)
{
    struct host *host = arg;
    if (!host->core)
        sim_host_start(sim, host);
}

static void lose_all(struct sim *sim, struct host *host)
{
    while (host->processes.count) {
        struct process *process = host->processes.items[--host->processes.count];
        sim_process_free(sim, process);
    }
    gw_node_core_free(host->core);
    host->core = NULL;
    host->leave = (struct leave){0};
    for (size_t i = 0; i < host->tokens.count; i++)
        sim_token_drop(sim, host->tokens.items[i]);
    gw_array_clear(&host->tokens);
    gw_array_clear(&host->folders);
    gw_map_deinit(&host->retained_workdirs);
    gw_array_clear(&host->saved);
    gw_map_deinit(&host->leases);
    sim_recant_drop(host);
    sim_cancelled_drop(host);
    sim_recency_forget(host);
    gw_array_clear(&host->tunnels);
    gw_map_deinit(&host->files); /* its next incarnation has a folder of its own */
}

void sim_host_kill(struct sim *sim, struct host *host)
{
    if (!host->core)
        return;
    sim_fault(sim, FAULT_WORKER_KILL);
    sim->worker_losses++;
    sim_log(sim, "host %u is killed", host->number);
    sim_host_end(sim, host);
}

void sim_host_end(struct sim *sim, struct host *host)
{
    lose_all(sim, host);
    for (size_t i = 0; i < sim->conns.count; i++) {
        struct conn *conn = sim->conns.items[i];
        for (int k = 0; k < 2; k++)
            if (conn->ends[k].host == host && conn->ends[k].open)
                sim_close(sim, conn, k);
    }
    host->scheduler = NULL;
    sim_plan(sim, 50 * MS + sim_below(sim, 3 * SECOND), on_restart, host);
}

static void on_queue(struct sim *sim, void *arg)
{
    struct host *host = arg;
    const bool slow = sim_hash(sim->now_ns, 9) % 2;
    struct gw_event event = {.type = GW_EVENT_QUEUED, .bytes = slow ? GW_NODE_SLOW_BYTES + 1 : 0};
    if (!host->core)
        return;
    if (slow && host->scheduler)
        sim_fault(sim, FAULT_SLOW_READER);
    int rc = sim_host_step(sim, host, &event);
    SIM_CHECK(sim, rc == 0, "a worker refuses to hear how much is queued");
}

/* Uses a hash, so that the random numbers of the rest of the world do not change. */
void sim_host_queue(struct sim *sim, struct host *host)
{
    if (sim_hash(sim->now_ns ^ sim->seed, 8) % 10 == 0)
        sim_plan(sim, MS, on_queue, host);
}

void sim_host_free(struct sim *sim, struct host *host)
{
    if (host->core)
        lose_all(sim, host);
    for (size_t i = 0; i < host->old.count; i++)
        sim_packet_free(sim, &host->old.items[i], true);
    gw_array_deinit(&host->old);
    gw_array_deinit(&host->replica_requests);
    gw_array_deinit(&host->tokens);
    gw_array_deinit(&host->folders);
    gw_map_deinit(&host->retained_workdirs);
    gw_array_deinit(&host->saved);
    gw_array_deinit(&host->tunnels);
    gw_array_deinit(&host->processes);
    gw_array_deinit(&host->crashes);
    gw_array_deinit(&host->effects.list);
    gw_arena_deinit(&host->effects.arena);
}
