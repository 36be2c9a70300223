/* Memory files: several results are written to each, one after another. Checks: no reader sees a
 * file change, and no user sees data of another user. Randomness comes from a separate stream, so
 * that the rest of the world does not change. */
#include "tests/sim/world/memfile.h"
#include "tests/sim/checks/ledger.h"

#define EMPTY UINT64_C(0xe3e3e3e3)    /* content of an emptied file */
#define UNKNOWN UINT64_MAX            /* an unknown user */
#define PARTLY UINT64_C(0x7a7a7a7a7a) /* content of a file that is being written */

/* The memory files of all hosts. Each has its own number. */
struct memfiles {
    struct gw_map of;       /* token -> file */
    struct gw_map contents; /* file -> content */
    struct gw_map users;    /* file -> user of its results */
    uint64_t last, draws;
};

struct given {
    uint64_t attempt, number, token; /* token 0: it does not exist yet */
};

struct held {
    uint64_t attempt, number, token, content; /* attempt 0: kept longer */
    uint64_t until_ns;                        /* time until which it is kept */
};

/* The memory files of a process. */
struct process_memfiles {
    GW_ARRAY(struct given) given;
    GW_ARRAY(uint64_t) lent; /* memory files of the descriptors of the next assign */
    uint32_t lent_at;        /* number of these descriptors that were processed */
    bool fresh;              /* the assign has not arrived yet */
    GW_ARRAY(struct held) held;
};

static struct memfiles *all(struct sim *sim)
{
    if (!sim->memfiles)
        GW_MUST_PTR(sim->memfiles = calloc(1, sizeof *sim->memfiles));
    return sim->memfiles;
}

static struct process_memfiles *of(struct process *process)
{
    if (!process->memfiles)
        GW_MUST_PTR(process->memfiles = calloc(1, sizeof *process->memfiles));
    return process->memfiles;
}

static bool chance(struct sim *sim, uint64_t percent)
{
    return sim_hash(sim->seed, ++all(sim)->draws) % 100 < percent;
}

/* -- Files ---------------------------------------------------------------------------------------
 */

void sim_memfile_dup(struct sim *sim, uint64_t token, uint64_t of_token)
{
    uint64_t file;
    if (gw_map_get(&all(sim)->of, of_token, &file))
        GW_MUST(gw_map_put(&sim->memfiles->of, token, file));
}

void sim_memfile_drop(struct sim *sim, uint64_t token)
{
    (void)gw_map_remove(&all(sim)->of, token);
}

bool sim_memfile_content(const struct sim *sim, uint64_t token, uint64_t *content)
{
    uint64_t file;
    return sim->memfiles && gw_map_get(&sim->memfiles->of, token, &file) &&
           gw_map_get(&sim->memfiles->contents, file, content);
}

bool sim_memfile_is(const struct sim *sim, uint64_t token)
{
    return sim->memfiles && gw_map_get(&sim->memfiles->of, token, NULL);
}

/* Returns the user of a task. For pure tasks it is unknown, because another user may have a task
 * with the same arguments. */
static uint64_t user_of(const struct work *work)
{
    return work->job->pure ? UNKNOWN : sim_sync_user(work->job->client);
}

static void write_content(struct sim *sim, uint64_t token, uint64_t content)
{
    uint64_t file;
    bool known = gw_map_get(&all(sim)->of, token, &file);
    SIM_CHECK(sim, known, "what is written to is no memory file");
    GW_MUST(gw_map_put(&sim->memfiles->contents, file, content));
}

void sim_memfile_empty(struct sim *sim, uint64_t token)
{
    sim_fault(sim, FAULT_MEMFILE_EMPTY);
    write_content(sim, token, EMPTY);
}

static uint64_t new_file(struct sim *sim, uint64_t value, uint64_t bytes)
{
    uint64_t token = sim_token(sim, value, bytes);
    GW_MUST(gw_map_put(&all(sim)->of, token, ++sim->memfiles->last));
    return token;
}

/* -- Told ----------------------------------------------------------------------------------------
 */

void sim_memfile_take(struct sim *sim, struct process *process, const struct gw_message *message,
                      const uint64_t *tokens)
{
    struct process_memfiles *memfiles = of(process);
    if (message->type == GW_MESSAGE_memfile_given) {
        const struct gw_msg_memfile_given *given = &message->memfile_given;
        uint64_t token = given->bytes ? sim_token_dup(sim, tokens[0]) : 0;
        GW_MUST(gw_array_push(&memfiles->given,
                              ((struct given){given->attempt, given->memfile, token})));
    }
    if (message->type == GW_MESSAGE_assign || message->type == GW_MESSAGE_memfile_lent) {
        if (!memfiles->fresh)
            gw_array_clear(&memfiles->lent);
        memfiles->fresh = message->type == GW_MESSAGE_memfile_lent;
        memfiles->lent_at = 0;
    }
    if (message->type != GW_MESSAGE_memfile_lent)
        return;
    for (uint32_t i = 0; i < message->memfile_lent.memfile.count; i++)
        GW_MUST(gw_array_push(&memfiles->lent, gw_col64_at(message->memfile_lent.memfile, i)));
}

static void hold(struct sim *sim, struct process *process, struct held held)
{
    held.token = sim_token_dup(sim, held.token);
    held.content = sim_token_content(sim, held.token);
    GW_MUST(gw_array_push(&of(process)->held, held));
}

void sim_memfile_lent(struct sim *sim, struct process *process, uint64_t attempt,
                      const uint64_t *tokens, uint32_t end)
{
    struct process_memfiles *memfiles = of(process);
    for (; memfiles->lent_at < end; memfiles->lent_at++) {
        uint32_t at = memfiles->lent_at;
        if (at < memfiles->lent.count && memfiles->lent.items[at])
            hold(sim, process,
                 (struct held){
                     .attempt = attempt, .number = memfiles->lent.items[at], .token = tokens[at]});
    }
}

/* -- Writing -------------------------------------------------------------------------------------
 */

/* Returns the memory file that was given last for an attempt. Earlier ones were taken back. */
static struct given *given_to(struct process *process, uint64_t attempt)
{
    struct process_memfiles *memfiles = of(process);
    for (size_t i = memfiles->given.count; i-- > 0;)
        if (memfiles->given.items[i].attempt == attempt)
            return &memfiles->given.items[i];
    return NULL;
}

void sim_memfile_begin(struct sim *sim, struct process *process)
{
    const struct row *row = &process->rows.items[0];
    const struct given *given = given_to(process, row->attempt);
    uint64_t file, user;
    if (!given || !given->token)
        return;
    bool known = gw_map_get(&all(sim)->of, given->token, &file) &&
                 gw_map_get(&sim->memfiles->users, file, &user);
    SIM_CHECK(sim,
              known &&
                  (user == UNKNOWN || user_of(row->work) == UNKNOWN || user == user_of(row->work)),
              "task %llu is given memory that another user's results lay in",
              (unsigned long long)row->work->id);
    sim_fault(sim, FAULT_MEMFILE);
    write_content(sim, given->token, PARTLY);
}

/* Returns the last row that uses the result of an attempt; 0: none. */
static uint64_t taker_of(const struct process *process, uint64_t attempt)
{
    uint64_t taker = 0;
    for (size_t i = 1; i < process->rows.count; i++)
        for (uint32_t k = 0; k < process->rows.items[i].take_count; k++)
            if (process->rows.items[i].takes[k] == attempt)
                taker = process->rows.items[i].attempt;
    return taker;
}

uint64_t sim_memfile_result(struct sim *sim, struct process *process, uint64_t value)
{
    const struct row row = process->rows.items[0];
    const struct given *given = given_to(process, row.attempt);
    uint64_t token, file = 0, taker = taker_of(process, row.attempt);
    if (!given || row.work->bytes < GW_MEMFILE_BYTES_MIN || sim->crowd || !chance(sim, 90))
        return sim_token(sim, value, row.work->bytes);
    if (given->token) {
        write_content(sim, given->token, value);
        token = sim_token_dup(sim, given->token);
    } else {
        token = new_file(sim, value, row.work->bytes);
        (void)gw_map_get(&sim->memfiles->of, token, &file);
        GW_MUST(gw_map_put(&sim->memfiles->contents, file, value));
        GW_MUST(gw_map_put(&sim->memfiles->users, file, user_of(row.work)));
    }
    struct gw_message message = {.type = GW_MESSAGE_memfile_filled};
    message.memfile_filled = (struct gw_msg_memfile_filled){row.attempt, given->number, taker != 0};
    if (taker)
        hold(sim, process,
             (struct held){.attempt = taker, .number = given->number, .token = token});
    if (sim_process_say(sim, process, &message))
        return token;
    sim_token_drop(sim, token);
    return 0;
}

/* -- No more -------------------------------------------------------------------------------------
 */

static bool has_row(const struct process *process, uint64_t attempt)
{
    for (size_t i = 0; i < process->rows.count; i++)
        if (process->rows.items[i].attempt == attempt)
            return true;
    return false;
}

static void check_held(struct sim *sim, const struct held *held)
{
    SIM_CHECK(sim, sim_token_content(sim, held->token) == held->content,
              "memory file %llu changes while it is read", (unsigned long long)held->number);
}

static void on_sweep(struct sim *sim, struct process *process)
{
    (void)sim_memfile_sweep(sim, process);
}

/* A task has ended, and the process may still use its memory files for a while. The worker must be
 * informed when this ends. */
static bool keeps(struct sim *sim, struct process *process, struct held *held)
{
    if (held->attempt == 0 || !chance(sim, 25))
        return held->until_ns > sim->now_ns;
    held->attempt = 0;
    held->until_ns = sim->now_ns + sim_hash(sim->seed, all(sim)->draws) % (20 * MS);
    sim_fault(sim, FAULT_MEMFILE_REFERENCED);
    sim_process_later(sim, process, held->until_ns - sim->now_ns, on_sweep);
    return true;
}

static void drop_given(struct sim *sim, struct process *process)
{
    struct process_memfiles *memfiles = of(process);
    for (size_t i = 0; i < memfiles->given.count;) {
        const struct given *given = &memfiles->given.items[i];
        if (has_row(process, given->attempt)) {
            i++;
            continue;
        }
        if (given->token)
            sim_token_drop(sim, given->token);
        memmove(&memfiles->given.items[i], &memfiles->given.items[i + 1],
                (--memfiles->given.count - i) * sizeof *given);
    }
}

bool sim_memfile_sweep(struct sim *sim, struct process *process)
{
    struct process_memfiles *memfiles = of(process);
    uint64_t numbers[64];
    uint32_t count = 0;
    for (size_t i = 0; i < memfiles->held.count && count < 64;) {
        struct held *held = &memfiles->held.items[i];
        check_held(sim, held);
        if ((held->attempt && has_row(process, held->attempt)) || keeps(sim, process, held)) {
            i++;
            continue;
        }
        numbers[count++] = held->number;
        sim_token_drop(sim, held->token);
        gw_array_remove_swap(&memfiles->held, i);
    }
    drop_given(sim, process);
    if (!count || !process->link_open)
        return true;
    struct gw_message message = {.type = GW_MESSAGE_memfile_returned,
                                 .memfile_returned = {{numbers, count}}};
    return sim_process_say(sim, process, &message);
}

void sim_memfile_end(struct sim *sim, struct process *process)
{
    struct process_memfiles *memfiles = process->memfiles;
    if (!memfiles)
        return;
    for (size_t i = 0; i < memfiles->held.count; i++) {
        check_held(sim, &memfiles->held.items[i]);
        sim_token_drop(sim, memfiles->held.items[i].token);
    }
    for (size_t i = 0; i < memfiles->given.count; i++)
        if (memfiles->given.items[i].token)
            sim_token_drop(sim, memfiles->given.items[i].token);
    gw_array_deinit(&memfiles->given);
    gw_array_deinit(&memfiles->lent);
    gw_array_deinit(&memfiles->held);
    free(memfiles);
    process->memfiles = NULL;
}

void sim_memfile_free(struct sim *sim)
{
    if (!sim->memfiles)
        return;
    gw_map_deinit(&sim->memfiles->of);
    gw_map_deinit(&sim->memfiles->contents);
    gw_map_deinit(&sim->memfiles->users);
    free(sim->memfiles);
}
