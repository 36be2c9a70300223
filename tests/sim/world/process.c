/* Processes of a host: runners and commands, and the supervisor that starts and reaps them.
 *
 * A rank is simulated by a table: it starts, reports that it is ready, joins at gang_start, and
 * runs collectives. A collective ends when all N ranks are in it. A rank may also hang or ignore
 * SIGTERM. start.c checks the conditions at the start of a task. */
#include "tests/sim/checks/admission.h"
#include "tests/sim/checks/cancelled.h"
#include "tests/sim/checks/limit.h"
#include "tests/sim/checks/reports.h"
#include "tests/sim/checks/start.h"
#include "tests/sim/faults/ask.h"
#include "tests/sim/faults/late.h"
#include "tests/sim/faults/leave.h"
#include "tests/sim/faults/parting.h"
#include "tests/sim/world/failure.h"
#include "tests/sim/world/folder.h"
#include "tests/sim/world/memfile.h"
#include "tests/sim/world/nested.h"
#include "tests/sim/world/turn.h"

static const struct gw_sm_state rank_states[] = {
    [RANK_STARTING] = {"starting", GW_SM_NEXT(RANK_REPORTED) | GW_SM_NEXT(RANK_JOINED) |
                                       GW_SM_NEXT(RANK_EXITED)},
    [RANK_REPORTED] = {"reported",
                       GW_SM_NEXT(RANK_JOINED) | GW_SM_NEXT(RANK_DEAF) | GW_SM_NEXT(RANK_EXITED)},
    [RANK_JOINED] = {"joined", GW_SM_NEXT(RANK_COLLECTIVE) | GW_SM_NEXT(RANK_HUNG) |
                                   GW_SM_NEXT(RANK_DEAF) | GW_SM_NEXT(RANK_EXITED)},
    [RANK_COLLECTIVE] = {"in collective",
                         GW_SM_NEXT(RANK_JOINED) | GW_SM_NEXT(RANK_DEAF) | GW_SM_NEXT(RANK_EXITED)},
    [RANK_HUNG] = {"hung", GW_SM_NEXT(RANK_DEAF) | GW_SM_NEXT(RANK_EXITED)},
    [RANK_DEAF] = {"ignoring TERM", GW_SM_NEXT(RANK_EXITED)},
    [RANK_EXITED] = {"exited", GW_SM_NEXT(RANK_STARTING)},
};
struct gw_sm sim_rank_sm = {"simulated rank", rank_states, sizeof rank_states / sizeof *rank_states,
                            NULL};

/* A planned event of a process. It is dropped if the process was freed or its epoch has changed. */
struct later {
    struct host *host;
    uint64_t pid, epoch;
    int32_t number, signal;
    uint32_t oom;
    void (*run)(struct sim *sim, struct process *process, const struct later *later);
    void (*plain)(struct sim *sim, struct process *process);
};

struct process *sim_process_find(struct host *host, uint64_t pid)
{
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->pid == pid)
            return host->processes.items[i];
    return NULL;
}

static void on_later(struct sim *sim, void *arg)
{
    struct later later = *(struct later *)arg;
    free(arg);
    struct process *process = sim_process_find(later.host, later.pid);
    if (process && (later.epoch == 0 || later.epoch == process->epoch))
        later.run(sim, process, &later);
}

static void plan(struct sim *sim, struct process *process, uint64_t in_ns, struct later later)
{
    struct later *copy = malloc(sizeof *copy);
    GW_MUST_PTR(copy);
    *copy = later;
    copy->host = process->host;
    copy->pid = process->pid;
    sim_plan_own(sim, in_ns, on_later, copy, sim_drop);
}

/* Delivers a message to the worker's core as if it came from a socket. */
static void say(struct sim *sim, struct host *host, uint64_t peer, uint64_t *sequence,
                struct gw_message *message, const uint64_t *tokens, uint32_t token_count)
{
    message->sequence = ++*sequence;
    struct packet packet = sim_pack(sim, message, tokens, token_count);
    struct gw_arena arena = {0};
    struct gw_message copy;
    struct gw_error error;
    int rc = gw_message_decode(packet.bytes + 8, packet.size - 8, &arena, &copy, &error);
    SIM_CHECK(sim, rc == 0, "a message does not decode: %s", error.text);
    for (uint32_t i = 0; i < token_count; i++)
        GW_MUST(gw_array_push(&host->tokens, packet.tokens[i]));
    struct gw_event event = {.type = GW_EVENT_MESSAGE,
                             .peer = {peer},
                             .message = &copy,
                             .tokens = packet.tokens,
                             .token_count = token_count};
    rc = sim_host_step(sim, host, &event);
    SIM_CHECK(sim, rc == 0, "a worker says that %s of its own processes broke the protocol",
              gw_message_name(copy.type));
    free(packet.bytes);
    gw_arena_deinit(&arena);
}

void sim_process_tell(struct sim *sim, struct process *process, struct gw_message *message,
                      const uint64_t *tokens, uint32_t token_count)
{
    struct host *host = process->host;
    uint64_t pid = process->pid;
    if (process->unsaid.count)
        sim_actor_say(sim, process);
    process = host->core ? sim_process_find(host, pid) : NULL;
    if (process && process->link_open)
        say(sim, host, process->peer, &process->sent, message, tokens, token_count);
}

bool sim_process_say(struct sim *sim, struct process *process, struct gw_message *message)
{
    struct host *host = process->host;
    uint64_t pid = process->pid, epoch = process->epoch;
    sim_process_tell(sim, process, message, NULL, 0);
    process = host->core ? sim_process_find(host, pid) : NULL;
    return process && process->epoch == epoch;
}

static void run_plain(struct sim *sim, struct process *process, const struct later *later)
{
    later->plain(sim, process);
}

void sim_process_later(struct sim *sim, struct process *process, uint64_t in_ns,
                       void (*run)(struct sim *sim, struct process *process))
{
    plan(sim, process, in_ns,
         (struct later){.epoch = process->epoch, .run = run_plain, .plain = run});
}

void sim_process_anyhow(struct sim *sim, struct process *process, uint64_t in_ns,
                        void (*run)(struct sim *sim, struct process *process))
{
    plan(sim, process, in_ns, (struct later){.run = run_plain, .plain = run});
}

void sim_process_supervisor(struct sim *sim, struct host *host, struct gw_message *message)
{
    say(sim, host, host->supervisor_peer, &host->supervisor_sent, message, NULL, 0);
}

/* -- Executing -----------------------------------------------------------------------------------
 */

static void exit_now(struct sim *sim, struct process *process, int32_t code, int32_t signal,
                     uint32_t oom);

void sim_process_pop(struct process *process)
{
    memmove(process->rows.items, process->rows.items + 1,
            --process->rows.count * sizeof *process->rows.items);
    process->executing = process->blocked = process->woke = false;
}

static void report_done(struct sim *sim, struct process *process)
{
    if (sim_late_done(sim, process))
        return;
    struct row row = process->rows.items[0];
    uint32_t rank = row.rank == GW_RANK_NONE ? 0 : row.rank;
    const bool partial = process->answer == SIM_PAUSE;
    uint64_t value = sim_work_value(row.work, rank) ^ (partial && !row.work->stop);
    uint64_t run_ns = row.work->run_ns, bytes = row.work->bytes, token = 0;
    uint32_t size = bytes <= GW_INLINE_BYTES_MAX ? (uint32_t)bytes : 0;
    uint8_t data[GW_INLINE_BYTES_MAX] = {0};
    memcpy(data, &value, sizeof value);
    if (size == 0 && !(token = sim_memfile_result(sim, process, value)))
        return;
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {&row.attempt, 1},
        .rank = {&row.rank, 1},
        .bytes = {&bytes, 1},
        .value_size = {&size, 1},
        .values = {data, size},
        .run_ns = {&run_ns, 1},
    };
    sim_nested_end(sim, process);
    sim_process_pop(process);
    process->epoch++;
    row.work->ended_well += !partial || row.work->stop;
    row.work->pausing |= partial && !row.work->stop;
    process->answer = 0;
    if (!partial)
        sim_ask_returned(sim, &row, process->host);
    uint64_t pid = process->pid;
    struct host *host = process->host;
    if (row.rank != GW_RANK_NONE)
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_EXITED);
    sim_process_tell(sim, process, &message, &token, token != 0);
    if (token)
        sim_token_drop(sim, token);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
}

static void report_failed(struct sim *sim, struct process *process)
{
    struct row row = process->rows.items[0];
    struct gw_message message = sim_failure(process, &row);
    sim_fault(sim, FAULT_FAIL);
    row.work->failed_ns = sim->now_ns;
    row.work->failed_conn = process->host->scheduler ? process->host->scheduler->id : 0;
    sim_nested_end(sim, process);
    uint64_t self = process->pid;
    sim_actor_say(sim, process);
    if (!process->host->core || process != sim_process_find(process->host, self))
        return;
    sim_process_pop(process);
    sim_late_skip(sim, process, row.attempt);
    process->epoch++;
    if (row.rank != GW_RANK_NONE)
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_EXITED);
    uint64_t pid = process->pid;
    struct host *host = process->host;
    sim_process_tell(sim, process, &message, NULL, 0);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
}

/* A rank cannot reach rank 0, so its task does not start. */
static void report_unreached(struct sim *sim, struct process *process)
{
    const struct row row = process->rows.items[0];
    struct gw_message message = {.type = GW_MESSAGE_ended,
                                 .ended = {.attempt = row.attempt,
                                           .rank = row.rank,
                                           .outcome = GW_OUTCOME_UNREACHED,
                                           .code = GW_ETIMEDOUT,
                                           .text = "no route",
                                           .stderr_tail = ""}};
    const uint64_t pid = process->pid;
    struct host *host = process->host;
    sim_process_pop(process);
    process->epoch++;
    gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_EXITED);
    sim_process_tell(sim, process, &message, NULL, 0);
    if (host->core && (process = sim_process_find(host, pid)) && process->alive)
        sim_process_execute(sim, process);
}

/* Decides how this execution of the task ends. `at` is the number of the execution. */
static void end_execution(struct sim *sim, struct process *process, const struct later *later)
{
    struct work *work = process->rows.items[0].work;
    uint32_t at = (uint32_t)later->number;
    if (sim_door_taken(sim, process)) {
        exit_now(sim, process, 98, 0, 0);
        return;
    }
    bool first_rank = process->rows.items[0].rank == GW_RANK_NONE ||
                      process->rows.items[0].rank == work->id % sim_work_least(work);
    if (first_rank && at < work->crashes) {
        sim_fault(sim, work->oom ? FAULT_OOM : FAULT_CRASH);
        exit_now(sim, process, 0, work->oom ? 9 : 11, work->oom);
    } else if (first_rank && at < work->crashes + work->fails) {
        if (work->kind == GW_SPEC_COMMAND) {
            sim_fault(sim, FAULT_FAIL);
            exit_now(sim, process, 3, 0, 0);
        } else {
            report_failed(sim, process);
        }
    } else if (work->kind == GW_SPEC_COMMAND) {
        work->ended_well++;
        exit_now(sim, process, 0, 0, 0);
    } else if (work->makes_actor) {
        sim_actor_ready(sim, process);
    } else if (work->calls) {
        sim_actor_called(sim, process);
    } else {
        report_done(sim, process);
    }
}

static bool hangs(struct sim *sim, struct process *process)
{
    struct work *work = process->rows.items[0].work;
    if (!work->hangs)
        return false;
    sim_fault(sim, FAULT_HANG);
    if (process->rows.items[0].rank != GW_RANK_NONE) {
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_HUNG);
        work->blamed |= 1u << process->rows.items[0].rank;
    }
    return true;
}

/* A rank enters its next collective, which completes when all ranks are in it. */
static void on_collective(struct sim *sim, struct process *process, const struct later *later)
{
    if (!sim_gang_save(sim, process) || sim_hang_stops(sim, process))
        return;
    struct row row = process->rows.items[0];
    if (process->answer == SIM_PAUSE) {
        if (sim_gang_pause(sim, process))
            report_done(sim, process);
        return;
    }
    if (process->collective >= row.work->collectives || process->answer == SIM_STOP) {
        end_execution(sim, process, later);
        return;
    }
    struct gang *gang = sim_gang_of(sim, &row);
    gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_COLLECTIVE);
    gang->in[row.rank] = process;
    for (uint32_t i = 0; i < gang->world; i++)
        if (!gang->in[i])
            return;
    gang->at++;
    for (uint32_t i = 0; i < gang->world; i++) {
        struct process *member = gang->in[i];
        gang->in[i] = NULL;
        gw_sm_move(&sim_rank_sm, &member->rank_state, RANK_JOINED);
        SIM_CHECK(sim, member->collective + 1 == gang->at,
                  "ranks of attempt %llx are in different collectives",
                  (unsigned long long)gang->attempt);
        member->collective++;
        member->answer = gang->asked;
        plan(sim, member, sim_below(sim, row.work->run_ns + 1),
             (struct later){.epoch = member->epoch, .number = later->number, .run = on_collective});
    }
}

/* Reports step `later->number`, and plans the next report. */
static void send_metric(struct sim *sim, struct process *process, const struct later *later)
{
    sim_host_queue(sim, process->host);
    const struct row *row = &process->rows.items[0];
    const uint64_t attempt = row->attempt, step = later->number;
    if (step > sim_reports_wanted(sim, attempt))
        return;
    struct gw_message message = {.type = GW_MESSAGE_metric};
    message.metric = (struct gw_msg_metric){.attempt = row->attempt,
                                            .rank = row->rank,
                                            .step = (int64_t)step,
                                            .name = "loss",
                                            .value = 0.5,
                                            .wall_ns = sim->now_ns};
    const uint64_t gap_ns = 500 + sim_hash(attempt, step) % (row->work->run_ns / 2 + 1);
    /* The worker moved the attempts behind the one that ran when it told the process to end. */
    if (process->link_open && (!process->kill_ns || process->kill_attempt == attempt))
        sim_reports_told(sim, attempt, step);
    if (sim_process_say(sim, process, &message))
        plan(sim, process, gap_ns,
             (struct later){.epoch = later->epoch, .number = step + 1, .run = send_metric});
}

/* The first row starts: a task, or a rank that has received gang_start. */
static void begin(struct sim *sim, struct process *process)
{
    struct row *row = &process->rows.items[0];
    struct work *work = row->work;
    process->executing = true;
    process->begun_ns = sim->now_ns;
    process->epoch++;
    sim_memfile_begin(sim, process);
    sim_start_check(sim, process);
    sim_crash_begins(sim, process);
    sim_limit_begin(sim, process);
    sim_folder_check(sim, process);
    uint32_t at = row->rank != GW_RANK_NONE ? sim_gang_of(sim, row)->number : work->started;
    if (work->started++ == 0)
        sim_job_check_turn(sim, work->job);
    if (work->calls)
        sim_actor_begin(sim, process);
    if (sim_door_taken(sim, process)) {
        plan(sim, process, 1000, (struct later){.epoch = process->epoch, .run = end_execution});
        return;
    }
    if (hangs(sim, process))
        return;
    if ((row->rank == 0 || row->rank == GW_RANK_NONE) && process->runner && !work->calls)
        plan(sim, process, 500,
             (struct later){.epoch = process->epoch, .number = 1, .run = send_metric});
    if (sim_nested_begin(sim, process, (int32_t)at))
        return;
    sim_process_go_on(sim, process, (int32_t)at);
}

void sim_process_go_on(struct sim *sim, struct process *process, int32_t execution)
{
    const struct work *work = process->rows.items[0].work;
    bool gang = process->rows.items[0].rank != GW_RANK_NONE;
    uint64_t run_ns = 1000 + sim_below(sim, work->run_ns + 1);
    if (sim_chance(sim, 2)) {
        sim_fault(sim, FAULT_SLOW);
        run_ns += sim_below(sim, 300 * MS);
    }
    if (work->talks && work->inactivity_timeout_ns) {
        sim_fault(sim, FAULT_TALKING);
        run_ns += 2 * work->inactivity_timeout_ns;
    }
    sim_nested_long(sim, process, run_ns);
    plan(sim, process, run_ns,
         (struct later){.epoch = process->epoch,
                        .number = execution,
                        .run = gang ? on_collective : end_execution});
}

static void on_stand(struct sim *sim, struct process *process, const struct later *later)
{
    struct row row = process->rows.items[0];
    sim_gang_of(sim, &row)->reported[row.rank] = true;
    gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_REPORTED);
    struct gw_message message = {.type = GW_MESSAGE_rank_ready,
                                 .rank_ready = {row.attempt, row.rank, {"", 0}}};
    sim_process_tell(sim, process, &message, NULL, 0);
}

static void on_let_go(struct sim *sim, struct process *process, const struct later *later)
{
    if (process->alive && !process->executing && process->rows.count == 0)
        exit_now(sim, process, 0, 0, 0);
}

void sim_process_execute(struct sim *sim, struct process *process)
{
    if (process->alive && !sim_memfile_sweep(sim, process))
        return;
    if (process->letting_go && process->alive && !process->rows.count)
        plan(sim, process, sim_below(sim, MS), (struct later){.run = on_let_go});
    if (process->executing || !process->rows.count || !process->alive)
        return;
    if (process->rows.items[0].rank == GW_RANK_NONE) {
        begin(sim, process);
        return;
    }
    if (process->rank_state == RANK_EXITED)
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_STARTING);
    process->collective = process->answer = 0;
    plan(sim, process, sim_below(sim, 20 * MS),
         (struct later){.epoch = ++process->epoch, .run = on_stand});
}

void sim_process_went(struct sim *sim, struct process *process)
{
    if (sim_parting_cuts(sim, process))
        report_unreached(sim, process);
    else
        begin(sim, process);
}

/* -- Birth and death -----------------------------------------------------------------------------
 */

void sim_process_free(struct sim *sim, struct process *process)
{
    sim_gang_leave(sim, process);
    sim_nested_end(sim, process);
    sim_memfile_end(sim, process);
    gw_array_deinit(&process->rows);
    gw_array_deinit(&process->unsaid);
    gw_array_deinit(&process->folders);
    free(process);
}

void sim_process_remove(struct sim *sim, struct process *process)
{
    struct host *host = process->host;
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i] == process) {
            gw_array_remove_swap(&host->processes, i);
            break;
        }
    sim_turn_come(sim, process);
    sim_process_free(sim, process);
}

/* No descendant is left. */
static void on_reaped(struct sim *sim, struct process *process, const struct later *later)
{
    struct host *host = process->host;
    struct gw_message message = {.type = GW_MESSAGE_reaped, .reaped = {process->id}};
    bool link = process->link_open;
    uint64_t peer = process->peer;
    sim_gpu_gone(sim, process);
    sim_process_remove(sim, process);
    if (link && sim_chance(sim, 50)) {
        (void)sim_host_step(sim, host, &(struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}});
        link = false;
    }
    sim_process_supervisor(sim, host, &message);
    if (link)
        (void)sim_host_step(sim, host, &(struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}});
}

static void exit_now(struct sim *sim, struct process *process, int32_t code, int32_t signal,
                     uint32_t oom)
{
    bool orphans = process->rows.count && process->rows.items[0].work->orphans;
    sim_limit_exit(sim, process);
    sim_gang_leave(sim, process);
    if (process->blocked)
        sim_fault(sim, FAULT_BLOCKED_DEATH);
    sim_nested_end(sim, process);
    if (process->rank_state != RANK_EXITED)
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_EXITED);
    process->alive = false;
    process->epoch++;
    if (process->actor && !process->letting_go)
        sim_fault(sim, FAULT_ACTOR_DEATH);
    sim_late_died(sim, process);
    sim_cancelled_died(sim, process);
    if (process->unsaid.count && process->began && !process->actor)
        sim_fault(sim, FAULT_CRASH_BEHIND);
    if (process->unsaid.count)
        sim_fault(sim, process->actor ? FAULT_ACTOR_SPEECHLESS : FAULT_UNSAID);
    uint64_t in_ns = 100000 + sim_below(sim, 3 * MS);
    if (orphans && !process->kill_ns) {
        sim_fault(sim, FAULT_ORPHAN);
        in_ns += sim_below(sim, 300 * MS);
    }
    plan(sim, process, in_ns, (struct later){.epoch = process->epoch, .run = on_reaped});
    struct gw_message message = {
        .type = GW_MESSAGE_exited,
        .exited = {process->id, code, signal, oom, process->began, !process->kill_ns,
                   process->begun_ns ? sim->now_ns - process->begun_ns : 0}};
    sim_process_supervisor(sim, process->host, &message);
}

static void on_killed(struct sim *sim, struct process *process, const struct later *later)
{
    if (process->alive)
        exit_now(sim, process, 0, later->signal, 0);
}

static void on_up(struct sim *sim, struct process *process, const struct later *later);

void sim_process_reap(struct sim *sim, struct host *host, const struct gw_msg_reap *reap)
{
    struct process *process = NULL;
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->id == reap->process)
            process = host->processes.items[i];
    if (!process || !process->alive || sim_turn_reap(sim, process))
        return;
    sim_leave_reaped(sim, process, reap);
    uint64_t kill_ns = sim->now_ns + reap->grace_ns;
    if (!process->kill_ns && process->rows.count)
        process->kill_attempt = process->rows.items[0].attempt;
    bool earlier = process->kill_ns && process->kill_ns <= kill_ns;
    if (!earlier)
        process->kill_ns = kill_ns;
    if (!process->up && sim_chance(sim, 70)) { /* the process would not have started anyway */
        plan(sim, process, sim_below(sim, MS),
             (struct later){.epoch = ++process->epoch, .number = GW_ESTART, .run = on_up});
        return;
    }
    if (process->rows.count && process->rows.items[0].work->preempted && reap->grace_ns == 50 * MS)
        sim_fault(sim, FAULT_PREEMPT);
    bool deaf = process->stopped || (process->rows.count && process->rows.items[0].work->deaf &&
                                     (process->executing || process->rank_state == RANK_REPORTED));
    if (!deaf) {
        plan(sim, process, 10000 + sim_below(sim, MS),
             (struct later){.signal = 15, .run = on_killed});
        return;
    }
    sim_fault(sim, FAULT_DEAF);
    sim_gang_leave(sim, process);
    process->epoch++;
    if (process->rank_state != RANK_EXITED && process->rank_state != RANK_DEAF)
        gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_DEAF);
    if (!earlier)
        plan(sim, process, reap->grace_ns, (struct later){.signal = 9, .run = on_killed});
}

static void on_up(struct sim *sim, struct process *process, const struct later *later)
{
    struct host *host = process->host;
    struct gw_message spawned = {.type = GW_MESSAGE_spawned,
                                 .spawned = {process->id, 1000, later->number, ""}};
    uint64_t pid = process->pid;
    process->up = true;
    if (later->number < 0) {
        bool link = process->link_open;
        uint64_t peer = process->peer;
        sim_fault(sim, FAULT_NO_START);
        sim->some_did_not_start = true;
        spawned.spawned.text = "not found";
        sim_process_remove(sim, process);
        sim_process_supervisor(sim, host, &spawned);
        if (link)
            (void)sim_host_step(sim, host,
                                &(struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}});
        return;
    }
    sim_process_supervisor(sim, host, &spawned);
    process = sim_process_find(host, pid);
    if (!host->core || !process || !process->alive)
        return;
    if (!process->runner) {
        if (process->rows.items[0].rank != GW_RANK_NONE) {
            sim_gang_went(sim, &process->rows.items[0]);
            gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_JOINED);
        }
        begin(sim, process);
        return;
    }
    process->hello = true;
    struct gw_message hello = {.type = GW_MESSAGE_runner,
                               .runner = {GW_PROTOCOL,
                                          {"\x91\xa1"
                                           "f",
                                           3}}};
    sim_process_tell(sim, process, &hello, NULL, 0);
}

void sim_process_die(struct sim *sim, struct process *process)
{
    if (!process->alive || process->behind)
        return;
    sim_turn_lost(sim, process);
    sim_fault(sim, FAULT_DEATH);
    if (process->rows.count)
        process->rows.items[0].work->deaths++;
    if (process->runner && !process->hello)
        sim->some_did_not_start = true;
    exit_now(sim, process, 0, 9, 0);
}

void sim_process_up(struct sim *sim, struct process *process)
{
    bool fails = !sim->healed && sim_below(sim, 120) == 0;
    uint64_t in_ns = MS + sim_below(sim, sim_chance(sim, 10) ? 60 * MS : 5 * MS);
    plan(sim, process, in_ns,
         (struct later){.epoch = process->epoch, .number = fails ? GW_ESTART : 0, .run = on_up});
}

void sim_process_spawn(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn)
{
    struct process *process = calloc(1, sizeof *process);
    GW_MUST_PTR(process);
    process->host = host;
    process->id = spawn->process;
    process->pid = ++sim->next_pid;
    process->runner = spawn->runner != 0;
    process->alive = true;
    process->epoch = 1;
    process->rank_state = RANK_EXITED;
    GW_MUST(gw_array_push(&host->processes, process));
    sim_gpu_spawned(sim, process, spawn);
    if (!process->runner) {
        GW_MUST(gw_array_push(&process->rows, sim_door_row(sim, host, spawn)));
        if (process->rows.items[0].rank != GW_RANK_NONE) {
            sim_door_started(sim, process, spawn);
            gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_STARTING);
        }
    }
    if (!spawn->behind)
        sim_admission_spawned(sim, process);
    if (!sim_turn_wait(sim, process, spawn->behind))
        sim_process_up(sim, process);
}
