/* The messages that a runner receives from its worker. Every message is encoded and decoded. */
#include "tests/sim/checks/cancelled.h"
#include "tests/sim/world/folder.h"
#include "tests/sim/world/memfile.h"
#include "tests/sim/world/nested.h"
#include "tests/sim/world/turn.h"

static uint64_t input_hash(struct sim *sim, const struct gw_msg_assign *assign, uint32_t *dep,
                           const uint8_t **values, const uint64_t *tokens, uint32_t *token)
{
    uint64_t value = 0;
    uint32_t size = gw_col32_at(assign->dep_value_size, *dep);
    if (size >= sizeof value)
        memcpy(&value, *values, sizeof value);
    else if (size == 0)
        value = sim_token_content(sim, tokens[(*token)++]);
    *values += size;
    ++*dep;
    return value;
}

/* Uses the result that row `at` of the same process makes. */
static void take_of_batch(struct sim *sim, const struct process *process, size_t at,
                          struct row *row)
{
    SIM_CHECK(sim, at < process->rows.count, "task %llu takes what comes behind it",
              (unsigned long long)row->work->id);
    const struct row *from = &process->rows.items[at];
    row->inputs = sim_hash(row->inputs, sim_work_value(from->work, 0));
    row->takes[row->take_count++] = from->attempt;
}

static void take_assign(struct sim *sim, struct process *process,
                        const struct gw_msg_assign *assign, const struct gw_effect *effect)
{
    const uint8_t *args = assign->args.data, *values = assign->dep_values.data;
    uint32_t dep = 0, token = 0;
    size_t base = process->rows.count;
    sim_cancelled_given(sim, process->host, assign);
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint64_t id = sim_turn_work(args, gw_col32_at(assign->args_size, i));
        args += gw_col32_at(assign->args_size, i);
        struct row row = {.attempt = gw_col64_at(assign->attempt, i),
                          .rank = gw_col32_at(assign->rank, i),
                          .work = sim_work_find(sim, id)};
        row.folder = sim_folder_take(process, row.attempt);
        if (row.rank != GW_RANK_NONE && process->gang == row.attempt)
            sim_gang_resume(sim, &row, process);
        uint32_t end = dep + gw_col32_at(assign->dep_count, i);
        while (dep < end) {
            uint32_t rank = gw_col32_at(assign->dep_rank, dep);
            if (rank == GW_DEP_ALL || rank == GW_DEP_AFTER)
                dep++; /* the ranks follow as separate rows; GW_DEP_AFTER has no value */
            else if (gw_col32_at(assign->dep_worker, dep) == GW_DEP_HERE)
                take_of_batch(sim, process, base + gw_col64_at(assign->dep_bytes, dep++), &row);
            else
                row.inputs = sim_hash(
                    row.inputs, input_hash(sim, assign, &dep, &values, effect->tokens, &token));
            sim_memfile_lent(sim, process, row.attempt, effect->tokens, token);
        }
        row.work->given++;
        GW_MUST(gw_array_push(&process->rows, row));
    }
    SIM_CHECK(sim, token == effect->token_count, "descriptors that belong to no input");
    sim_process_execute(sim, process);
}

static void take_go(struct sim *sim, struct process *process, const struct gw_msg_gang_start *go)
{
    if (!process->rows.count || process->rows.items[0].attempt != go->attempt ||
        process->rank_state != RANK_REPORTED)
        return;
    sim_gang_went(sim, &process->rows.items[0]);
    sim_transfer_check(sim, process);
    sim_trust_go(sim, process, go);
    gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_JOINED);
    sim_process_went(sim, process);
}

/* Local sockets are fast: a message arrives immediately. It is still encoded and decoded. */
void sim_process_take(struct sim *sim, struct process *process, const struct gw_effect *effect)
{
    if (!process->alive || !process->link_open)
        return;
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    struct gw_message message;
    struct gw_error error;
    GW_MUST(gw_message_encode(&effect->message, (uint8_t)effect->token_count, &buffer));
    int rc = gw_message_decode(buffer.data + 8, buffer.size - 8, &arena, &message, &error);
    SIM_CHECK(sim, rc == 0, "a message does not decode: %s", error.text);
    sim_memfile_take(sim, process, &message, effect->tokens);
    if (message.type == GW_MESSAGE_assign)
        take_assign(sim, process, &message.assign, effect);
    else if (message.type == GW_MESSAGE_gang)
        sim_gang_told(process, &message.gang);
    else if (message.type == GW_MESSAGE_task_folder)
        sim_folder_told(process, &message.task_folder);
    else if (message.type == GW_MESSAGE_gang_start)
        take_go(sim, process, &message.gang_start);
    else if (message.type == GW_MESSAGE_control)
        sim_gang_asked(sim, process, &message.control);
    else if (message.type == GW_MESSAGE_task_taken)
        sim_nested_taken(sim, process, message.task_taken.attempt);
    else if (message.type == GW_MESSAGE_actor_end)
        sim_actor_let_go(sim, process);
    gw_buffer_deinit(&buffer);
    gw_arena_deinit(&arena);
}
