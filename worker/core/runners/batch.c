/* Sends batches of tasks to runners, as assign messages.
 *
 * Invariants: a runner gets the spec of a task before the task. Inputs that are not inline are sent
 * as descriptors, in order. If one frame cannot hold all descriptors, the others are sent in frames
 * before it. A batch fits into one frame. */
#include "worker/core/runners/batch.h"

#include "graph/wire/frame.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/result_memfd.h"

#include <string.h>

/* The columns of an assign message while they are filled. */
struct columns {
    uint64_t *job, *attempt, *dep_job, *dep_bytes, *tokens, *memfiles;
    uint32_t *index, *spec, *try_number, *rank, *gpu_count, *gpus, *args_size, *dep_count;
    uint32_t *dep_index, *dep_rank, *dep_worker, *dep_value_size;
    uint8_t *args, *values;
    uint32_t gpu, dep, token;
    uint32_t args_bytes, values_bytes;
};

struct sizes {
    uint32_t rows, gpus, deps, tokens;
    size_t args, values;
};

static uint32_t dep_inline_bytes(const struct gw_attempt_input *dep)
{
    if (dep->object)
        return dep->object->token ? 0 : (uint32_t)dep->object->bytes;
    return dep->value_size;
}

static struct sizes measure(struct gw_attempt *const *runs, uint32_t count)
{
    struct sizes sizes = {.rows = count};
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_attempt *run = runs[i];
        sizes.gpus += run->gpu_count;
        sizes.deps += run->dep_count;
        sizes.args += run->args_size;
        for (uint32_t d = 0; d < run->dep_count; d++) {
            sizes.values += dep_inline_bytes(&run->deps[d]);
            sizes.tokens += run->deps[d].object && run->deps[d].object->token;
        }
    }
    return sizes;
}

static void *carve(uint8_t **at, size_t bytes)
{
    void *start = *at;
    *at += bytes;
    return start;
}

static struct columns make_columns(struct gw_node_core *core, const struct sizes *n)
{
    struct columns c = {0};
    uint8_t *at =
        gw_core_scratch(core, n->rows * (2 * 8 + 7 * 4) + n->gpus * 4 + n->deps * (2 * 8 + 4 * 4) +
                                  n->tokens * 16 + n->args + n->values);
    uint64_t **wide[] = {&c.job, &c.attempt};
    uint32_t **narrow[] = {&c.index,     &c.spec,      &c.try_number, &c.rank,
                           &c.gpu_count, &c.args_size, &c.dep_count};
    uint32_t **of_deps[] = {&c.dep_index, &c.dep_rank, &c.dep_worker, &c.dep_value_size};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = carve(&at, n->rows * (size_t)8);
    c.dep_job = carve(&at, n->deps * (size_t)8);
    c.dep_bytes = carve(&at, n->deps * (size_t)8);
    c.tokens = carve(&at, n->tokens * (size_t)8);
    c.memfiles = carve(&at, n->tokens * (size_t)8);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        *narrow[i] = carve(&at, n->rows * (size_t)4);
    for (size_t i = 0; i < sizeof of_deps / sizeof *of_deps; i++)
        *of_deps[i] = carve(&at, n->deps * (size_t)4);
    c.gpus = carve(&at, n->gpus * (size_t)4);
    c.args = carve(&at, n->args);
    c.values = carve(&at, n->values);
    return c;
}

static void add_dep(struct columns *c, const struct gw_attempt_input *dep)
{
    uint32_t bytes = dep_inline_bytes(dep), at = c->dep++;
    c->dep_job[at] = dep->job;
    c->dep_index[at] = dep->index;
    c->dep_rank[at] = dep->rank;
    c->dep_bytes[at] = dep->maker    ? dep->maker->batch_row
                       : dep->object ? dep->object->bytes
                                     : dep->bytes;
    c->dep_worker[at] = dep->worker;
    c->dep_value_size[at] = bytes;
    if (bytes)
        memcpy(c->values + c->values_bytes, dep->object ? dep->object->value : dep->value, bytes);
    c->values_bytes += bytes;
    if (dep->object && dep->object->token)
        c->tokens[c->token++] = dep->object->token;
}

static void add_row(struct columns *c, uint32_t i, const struct gw_attempt *run)
{
    c->job[i] = run->job;
    c->attempt[i] = run->attempt;
    c->index[i] = run->index;
    c->spec[i] = run->spec->message.number;
    c->try_number[i] = run->try_number;
    c->rank[i] = run->rank;
    c->gpu_count[i] = run->gpu_count;
    c->args_size[i] = run->args_size;
    c->dep_count[i] = run->dep_count;
    for (uint32_t g = 0; g < run->gpu_count; g++)
        c->gpus[c->gpu++] = run->gpus[g];
    if (run->args_size)
        memcpy(c->args + c->args_bytes, run->args, run->args_size);
    c->args_bytes += run->args_size;
    for (uint32_t d = 0; d < run->dep_count; d++)
        add_dep(c, &run->deps[d]);
}

static void send_specs(struct gw_node_core *core, struct gw_process *process,
                       struct gw_attempt *const *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_node_spec *spec = runs[i]->spec;
        if (spec->serial == process->spec_last)
            continue;
        process->spec_last = spec->serial;
        if (gw_map_get(&process->specs, spec->serial, NULL))
            continue;
        GW_MUST(gw_map_put(&process->specs, spec->serial, 1));
        struct gw_message *message = &gw_core_send(core, process->link, GW_MESSAGE_spec)->message;
        message->spec = spec->message;
        message->spec.program = (struct gw_bin){
            0}; /* the runner executes this program and has this environment already */
        message->spec.env = (struct gw_bin){0};
    }
}

/* Tells the runner which of the descriptors belong to memory files. */
static void send_lent(struct gw_node_core *core, struct gw_process *process,
                      struct gw_attempt *const *runs, uint32_t count, struct columns *c)
{
    uint32_t at = 0;
    bool any = false;
    for (uint32_t i = 0; c->token && i < count; i++)
        for (uint32_t d = 0; d < runs[i]->dep_count; d++) {
            const struct gw_object *object = runs[i]->deps[d].object;
            if (!object || !object->token)
                continue;
            c->memfiles[at] = gw_result_memfd_lend(core, object, process);
            any = any || c->memfiles[at];
            at++;
        }
    if (any)
        gw_core_send(core, process->link, GW_MESSAGE_memfile_lent)->message.memfile_lent =
            (struct gw_msg_memfile_lent){{c->memfiles, at}};
}

/* Sends the descriptors that do not fit into the frame of the assign message. Returns their number.
 */
static uint32_t send_inputs(struct gw_node_core *core, struct gw_process *process, uint64_t attempt,
                            const struct columns *c)
{
    uint32_t sent = 0;
    while (c->token - sent > GW_FRAME_FDS_MAX) {
        struct gw_effect *effect = gw_core_send(core, process->link, GW_MESSAGE_inputs);
        effect->tokens = c->tokens + sent;
        effect->token_count = GW_FRAME_FDS_MAX;
        sent += GW_FRAME_FDS_MAX;
        effect->message.inputs =
            (struct gw_msg_inputs){.attempt = attempt, .more = c->token - sent};
    }
    return sent;
}

static void send_folders(struct gw_node_core *core, struct gw_process *process,
                         struct gw_attempt *const *runs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (runs[i]->folder)
            gw_core_send(core, process->link, GW_MESSAGE_task_folder)->message.task_folder =
                (struct gw_msg_task_folder){runs[i]->attempt, gw_core_text(core, runs[i]->folder)};
}

void gw_batch_send(struct gw_node_core *core, struct gw_process *process,
                   struct gw_attempt *const *runs, uint32_t count)
{
    struct sizes sizes = measure(runs, count);
    struct columns c = make_columns(core, &sizes);
    send_specs(core, process, runs, count);
    send_folders(core, process, runs, count);
    for (uint32_t i = 0; i < count; i++) {
        add_row(&c, i, runs[i]);
        gw_object_pin(core, runs[i]);
        gw_result_memfd_give(core, process, runs[i]);
    }
    send_lent(core, process, runs, count, &c);
    uint32_t ahead = send_inputs(core, process, runs[0]->attempt, &c);
    struct gw_effect *effect = gw_core_send(core, process->link, GW_MESSAGE_assign);
    effect->tokens = c.tokens + ahead;
    effect->token_count = c.token - ahead;
    effect->message.assign = (struct gw_msg_assign){
        .job = {c.job, count},
        .index = {c.index, count},
        .spec = {c.spec, count},
        .attempt = {c.attempt, count},
        .try_number = {c.try_number, count},
        .rank = {c.rank, count},
        .gpu_count = {c.gpu_count, count},
        .gpus = {c.gpus, c.gpu},
        .args_size = {c.args_size, count},
        .args = {c.args, c.args_bytes},
        .dep_count = {c.dep_count, count},
        .dep_job = {c.dep_job, c.dep},
        .dep_index = {c.dep_index, c.dep},
        .dep_rank = {c.dep_rank, c.dep},
        .dep_bytes = {c.dep_bytes, c.dep},
        .dep_worker = {c.dep_worker, c.dep},
        .dep_value_size = {c.dep_value_size, c.dep},
        .dep_values = {c.values, c.values_bytes},
    };
}
