/* Sends jobs to the scheduler: a spec for each group of equal tasks, and their rows in chunks of
 * random size, or as a range. */
#include "tests/sim/world/submission.h"

#include "tests/sim/checks/limit.h"
#include "tests/sim/world/turn.h"

#include <stdio.h>

static bool same_spec(const struct sim *sim, const struct work *a, const struct work *b)
{
    return sim_disk_declared(sim, a) == sim_disk_declared(sim, b) && a->kind == b->kind &&
           (a->kind == GW_SPEC_FUNCTION || !a->ranks) && a->ranks == b->ranks &&
           a->slots == b->slots && a->gpus == b->gpus && a->retries == b->retries &&
           a->time_limit_ns == b->time_limit_ns && a->run_ns == b->run_ns &&
           a->licenses == b->licenses && a->tapes == b->tapes && strcmp(a->on, b->on) == 0 &&
           a->prefers == b->prefers && a->backoff_ns == b->backoff_ns &&
           a->inactivity_timeout_ns == b->inactivity_timeout_ns && a->calls == b->calls &&
           a->files == b->files && a->min_ranks == b->min_ranks &&
           a->full_size_timeout_ns == b->full_size_timeout_ns;
}

/* Returns the number of the spec of a row. Equal rows share the spec of the first of them. */
static uint32_t spec_of(const struct sim *sim, const struct sim_job *job, uint32_t row,
                        bool *is_new)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i <= row; i++) {
        uint32_t k = 0;
        while (k < i && !same_spec(sim, job->work.items[k], job->work.items[i]))
            k++;
        if (i == row && k < i)
            return spec_of(sim, job, k, is_new);
        if (i == row)
            break;
        number += k == i;
    }
    *is_new = number >= job->specs_sent;
    return number;
}

/* In thousandths. All ranks of a gang fit on one GPU, because the other GPUs may fail. */
static uint32_t gpu_fraction(const struct work *work)
{
    uint32_t alone = 300 + 100 * (uint32_t)(work->id % 3);
    return work->gpus != WORK_GPU_FRACTION ? 0 : work->ranks ? 250 : alone;
}

static void send_spec(struct sim *sim, struct sim_job *job, const struct work *work,
                      uint32_t number)
{
    static const uint8_t hash[32] = {1};
    static const char argv[] = "\x91\xa8w{index}";
    char resources[48] = "";
    if (work->licenses || work->tapes)
        (void)snprintf(resources, sizeof resources, work->licenses ? "license=%u" : "tape=%u",
                       work->licenses ? work->licenses : work->tapes);
    struct gw_message message = {.type = GW_MESSAGE_spec};
    message.spec = (struct gw_msg_spec){
        .key = job->request,
        .number = number,
        .kind = work->kind,
        .function = work->kind == GW_SPEC_FUNCTION ? "f" : "",
        .cwd = "/",
        .ranks = work->ranks,
        .slots = work->slots || work->calls ? work->slots : GW_NONE,
        .memory_bytes = sim_disk_declared(sim, work),
        .gpus = work->gpus > WORK_GPU_IF_ANY,
        .gpu_mode = work->gpus == WORK_GPU_IF_ANY ? GW_GPU_MODE_IF_ANY : GW_GPU_MODE_EXACT,
        .gpu_fraction = gpu_fraction(work),
        .retries = work->retries,
        .time_limit_ns = work->time_limit_ns,
        .grace_ns = SIM_GRACE_NS,
        .fail_grace_ns = 20 * MS,
        .priority = (int32_t)(work->id % 3),
        .pure = job->pure,
        .resources = resources,
        .workers = work->on,
        .workers_prefer = work->prefers,
        .backoff_ns = work->backoff_ns,
        .inactivity_timeout_ns = work->inactivity_timeout_ns,
        .worker_losses_max = work->worker_losses_max,
        .preemptions_max = work->preemptions_max,
        .hang_timeout_ns = work->hang_timeout_ns,
        .spread =
            work->ranks && work->id % 2, /* checkpoints are copied if a gang has several hosts */
        .min_ranks = work->min_ranks,
        .full_size_timeout_ns = work->full_size_timeout_ns,
    };
    if (work->files)
        message.spec.files = (struct gw_bin){hash, sizeof hash};
    if (work->makes_actor)
        message.spec.actor = GW_ACTOR_NEW;
    else if (work->calls)
        message.spec.actor = work->calls->job->id;
    if (work->kind == GW_SPEC_FUNCTION)
        message.spec.program = (struct gw_bin){hash, sizeof hash};
    else
        message.spec.argv = (struct gw_bin){argv, sizeof argv - 1};
    sim_client_send(sim, job->client, &message);
    job->specs_sent++;
}

static void send_after(struct sim *sim, struct sim_job *job)
{
    if (!job->after)
        return;
    uint32_t any = job->after_any;
    struct gw_message message = {
        .type = GW_MESSAGE_after,
        .after = {
            job->request, job->detached ? GW_SUBMIT_DETACHED : 0, {&job->after->id, 1}, {&any, 1}}};
    sim_client_send(sim, job->client, &message);
}

struct columns {
    GW_ARRAY(uint32_t) spec, args_size, dep_count, dep_index, dep_rank, targets;
    GW_ARRAY(uint64_t) dep_job;
    struct gw_buffer args;
};

static void add_row(struct sim *sim, struct sim_job *job, uint32_t row, struct columns *columns)
{
    struct work *work = job->work.items[row];
    bool is_new = false;
    uint32_t number = spec_of(sim, job, row, &is_new);
    if (is_new)
        send_spec(sim, job, work, number);
    GW_MUST(gw_array_push(&columns->spec, number));
    GW_MUST(gw_array_push(&columns->args_size, sim_turn_args(work, &columns->args)));
    GW_MUST(gw_array_push(&columns->dep_count, work->dep_count));
    for (uint32_t i = 0; i < work->dep_count; i++) {
        const struct dep *dep = &work->deps[i];
        GW_MUST(gw_array_push(&columns->dep_job, dep->on->job == job ? 0 : dep->on->job->id));
        GW_MUST(gw_array_push(&columns->dep_index, dep->on->row));
        GW_MUST(gw_array_push(&columns->dep_rank, dep->rank));
    }
    if (work->target)
        GW_MUST(gw_array_push(&columns->targets, row));
}

/* Removes dependencies that a later graph of a stream cannot have: it can use earlier tasks only by
 * futures that are held. */
static void drop_unheld(struct sim_job *job, struct work *work)
{
    uint32_t retained = 0;
    for (uint32_t i = 0; i < work->dep_count; i++) {
        const struct work *on = work->deps[i].on;
        bool held = on->job == job ? on->target && on->held : sim_work_usable(on, job);
        if (held || (on->job == job && on->row >= job->sent))
            work->deps[retained++] = work->deps[i];
    }
    work->dep_count = retained;
}

void sim_submission_chunk(struct sim *sim, struct sim_job *job)
{
    struct columns columns = {0};
    uint32_t left = (uint32_t)job->work.count - job->sent;
    uint32_t rows = sim_chance(sim, 60) ? left : 1 + (uint32_t)sim_below(sim, left);
    bool first = job->sent == 0;
    for (uint32_t i = 0; i < rows; i++) {
        if (job->stream)
            drop_unheld(job, job->work.items[job->sent + i]);
        add_row(sim, job, job->sent + i, &columns);
        if (i == 0 && first) /* after the first spec */
            send_after(sim, job);
    }
    if (job->stream && !first) {
        sim_fault(sim, FAULT_STREAM);
        job->bad = job->bad || sim_chance(sim, 20);
    }
    if (job->bad)
        columns.spec.items[0] = 1000; /* there is no such spec */
    job->sent += rows;
    struct gw_message message = {.type = GW_MESSAGE_submit};
#define COLUMN(name) .name = {columns.name.items, (uint32_t)columns.name.count}
    message.submit = (struct gw_msg_submit){
        .request = job->request,
        .flags = (job->sent == job->work.count ? GW_SUBMIT_LAST : 0u) |
                 (job->detached ? GW_SUBMIT_DETACHED : 0u) |
                 (job->stream ? GW_SUBMIT_STREAM | GW_SUBMIT_PART : 0u),
        .name = "sim",
        COLUMN(spec),
        COLUMN(args_size),
        .args = {columns.args.data, (uint32_t)columns.args.size},
        COLUMN(dep_count),
        COLUMN(dep_job),
        COLUMN(dep_index),
        COLUMN(dep_rank),
        COLUMN(targets),
    };
#undef COLUMN
    sim_client_send(sim, job->client, &message);
    gw_array_deinit(&columns.spec);
    gw_array_deinit(&columns.args_size);
    gw_array_deinit(&columns.dep_count);
    gw_array_deinit(&columns.dep_index);
    gw_array_deinit(&columns.dep_rank);
    gw_array_deinit(&columns.targets);
    gw_array_deinit(&columns.dep_job);
    gw_buffer_deinit(&columns.args);
}

void sim_submission_range(struct sim *sim, struct sim_job *job)
{
    const struct work *first = job->work.items[0];
    uint8_t args[10] = {0x91, 0xd3};
    uint64_t dep_job[DEPS_MAX];
    uint32_t dep_index[DEPS_MAX], dep_rank[DEPS_MAX];
    for (uint32_t i = 0; i < first->dep_count; i++) {
        dep_job[i] = first->deps[i].on->job->id;
        dep_index[i] = first->deps[i].on->row;
        dep_rank[i] = first->deps[i].rank;
    }
    sim_fault(sim, FAULT_RANGE);
    send_spec(sim, job, first, 0);
    send_after(sim, job);
    struct gw_message message = {.type = GW_MESSAGE_range};
    message.range = (struct gw_msg_range){
        .request = job->request,
        .flags = (job->detached ? GW_SUBMIT_DETACHED : 0u) |
                 (first->target ? GW_RANGE_RESULTS : 0u) | (job->stop ? GW_RANGE_STOP : 0u),
        .name = "range",
        .begin = (int64_t)first->id,
        .step = 1,
        .count = (uint32_t)job->work.count,
        .limit = job->limit,
        .ahead = job->ahead,
        .args = {args, sizeof args},
        .index_at = 1,
        .dep_job = {dep_job, first->dep_count},
        .dep_index = {dep_index, first->dep_count},
        .dep_rank = {dep_rank, first->dep_count},
    };
    job->sent = job->made = (uint32_t)job->work.count;
    sim_client_send(sim, job->client, &message);
}
