/* Going ahead: where a few short tasks depend on each other across runners, as in a stencil, runs
 * go to runners before what they take is there, and take it from the board (graph/wire/board.h),
 * without a word of this worker between.
 *
 * What a runner took from the board is not known to have been made before its maker's runner says
 * so, and that may come later, or never: it may die with it unsaid. Always: a run is told to have
 * ended only when all that it took was told to have been made. One that its runner has done with
 * before that is DONE. Where a maker is to run again, what took from it, and all behind that, is
 * stale: it runs again, too, when its runner has spoken of it. A runner speaks once of each run
 * that it was sent: it finished, it ended, it was skipped.
 *
 * No runner waits for ever: a run is sent behind all that it takes in the order of sending, which
 * each runner keeps, and what does not come by the board within a moment makes it skip. */
#include "worker/core/ahead.h"

#include "graph/base/planted.h"
#include "graph/wire/board.h"
#include "worker/core/adrift.h"
#include "worker/core/core.h"
#include "worker/core/heir.h"
#include "worker/core/process.h"
#include "worker/core/result.h"
#include "worker/core/run.h"
#include "worker/core/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What takes longer is not worth a runner's wait; and it could not wait so long. */
#define COST_MAX_NS UINT64_C(200000)
enum {
    INPUTS_MAX = 32, /* of a run: with more, one of them is late, and looking for them is long */
    LISTED_MAX = 1024,
    TOLD_MAX = 64,
};

/* -- Who goes ------------------------------------------------------------------------------------
 */

bool gw_ahead_suits(const struct gw_run *run)
{
    const struct gw_node_spec *spec = run->spec;
    return spec->cost_ns <= COST_MAX_NS && spec->message.kind == GW_SPEC_FUNCTION && !run->gang &&
           !spec->message.actor && !spec->message.wall_ns && !spec->message.progress_ns &&
           !spec->message.files.size && !run->killing;
}

bool gw_ahead_join(struct gw_node_core *core, struct gw_process *process)
{
    uint64_t used = 0;
    if (process->board)
        return true;
    if (process->protocol < GW_PROTOCOL_AHEAD || !process->link)
        return false;
    for (size_t i = 0; i < core->processes.count; i++)
        if (core->processes.items[i]->board)
            used |= UINT64_C(1) << (core->processes.items[i]->board - 1);
    if (used == UINT64_MAX)
        return false;
    process->board = (uint32_t)__builtin_ctzll(~used) + 1;
    gw_core_send(core, process->link, GW_MESSAGE_board)->message.board.slots = GW_BOARD_SLOTS;
    return true;
}

void gw_ahead_consider(struct gw_node_core *core, struct gw_run *run)
{
    if (run->missing == 0 || run->offered != run->missing || run->state != GW_RUN_WAITING ||
        run->dep_count > INPUTS_MAX || core->ahead.count >= LISTED_MAX)
        return; /* it goes when it is ready */
    GW_MUST(gw_array_push(&core->ahead, ((struct gw_orphan){run, run->serial})));
}

bool gw_ahead_may(const struct gw_orphan *listed)
{
    const struct gw_run *run = listed->run;
    return run->serial == listed->serial && run->state == GW_RUN_WAITING && run->missing > 0 &&
           run->offered == run->missing;
}

void gw_ahead_offer(struct gw_node_core *core, struct gw_run *run)
{
    if (!run->first_heir || run->spec->large || !gw_ahead_suits(run) ||
        !gw_ahead_join(core, run->process))
        return;
    run->offers = true;
    for (struct gw_run_dep *dep = run->first_heir; dep; dep = dep->next) {
        dep->offered = true;
        dep->heir->offered++;
        gw_ahead_consider(core, dep->heir);
    }
}

static bool taken_elsewhere(const struct gw_run *run)
{
    const struct gw_run_dep *dep = run->first_heir;
    while (dep && dep->heir->state == GW_RUN_SENT && dep->heir->batch == run->batch)
        dep = dep->next;
    return dep;
}

void gw_ahead_publish(struct gw_node_core *core, struct gw_process *process,
                      struct gw_run *const *runs, uint32_t count)
{
    uint64_t *attempts = NULL, *places = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct gw_run *run = runs[i];
        if (!run->offers || !taken_elsewhere(run))
            continue;
        if (!attempts) {
            attempts = gw_core_scratch(core, count * sizeof *attempts);
            places = gw_core_scratch(core, count * sizeof *places);
        }
        run->place = gw_board_place(++core->places, process->board - 1, process->board_turn++);
        attempts[n] = run->attempt;
        places[n++] = run->place;
    }
    if (n)
        gw_core_send(core, process->link, GW_MESSAGE_board_put)->message.board_put =
            (struct gw_msg_board_put){.attempt = {attempts, n}, .place = {places, n}};
}

/* -- Done, but not told --------------------------------------------------------------------------
 */

/* Its runner has done with it. */
static void leave_queue(struct gw_node_core *core, struct gw_run *run)
{
    gw_run_pull(run);
    gw_object_unpin(core, run);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    run->process = NULL;
}

void gw_ahead_hold(struct gw_node_core *core, struct gw_run *run, struct gw_run_done *done)
{
    leave_queue(core, run);
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_DONE);
    gw_run_push(&core->done, run);
    run->done = done;
}

void gw_ahead_drop(struct gw_node_core *core, struct gw_run *run)
{
    if (!run->done)
        return;
    if (run->done->token)
        gw_core_drop_token(core, run->done->token);
    free(run->done);
    run->done = NULL;
}

/* What was sent of it is void. */
static void forget(struct gw_run *run)
{
    for (uint32_t d = 0; d < run->dep_count; d++)
        run->deps[d].offered = false;
    run->offered = 0;
    run->place = 0;
    gw_run_know_tail(run, NULL);
    run->offers = run->stale = false;
}

/* What was taken from a run that is to run again does not count. */
static void make_stale(struct gw_node_core *core, struct gw_run *maker)
{
    for (struct gw_run_dep *dep = maker->first_heir; dep; dep = dep->next) {
        struct gw_run *run = dep->heir;
        run->offered -= dep->offered;
        dep->offered = false;
        if (run->state == GW_RUN_DONE) {
            gw_ahead_drop(core, run);
            free(run->end.text);
            run->end = (struct gw_run_end){0};
            forget(run);
            gw_run_pull(run);
            gw_sm_move(&gw_run_sm, &run->state, GW_RUN_WAITING);
            gw_run_push(&core->waiting, run);
            make_stale(core, run);
        } else if (run->state == GW_RUN_SENT) {
            run->stale = true; /* and what took from it, when its runner has spoken */
        }
    }
}

/* It was cancelled while it waited in its runner's queue. */
static void end_killed(struct gw_node_core *core, struct gw_run *run)
{
    leave_queue(core, run);
    run->end = (struct gw_run_end){.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
    run->end.text = gw_core_strdup("killed");
    gw_run_tell(core, run);
}

void gw_ahead_return(struct gw_node_core *core, struct gw_run *run)
{
    make_stale(core, run);
    if (run->killing && !GW_PLANTED(791)) {
        end_killed(core, run);
        return;
    }
    leave_queue(core, run);
    forget(run);
    if (run->missing == 0 && !run->lost) {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_READY);
        gw_run_push_first(&run->pool->ready, run);
        return;
    }
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_WAITING);
    gw_run_push(&core->waiting, run);
    if (run->lost)
        GW_MUST(gw_array_push(&core->orphans, ((struct gw_orphan){run, run->serial})));
    run->lost = false;
}

void gw_ahead_lose(struct gw_run *run)
{
    run->lost = !GW_PLANTED(621);
}

int gw_ahead_on_skipped(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_msg_skipped *skipped)
{
    struct gw_run *run = process->queue.first;
    if (!run || run->attempt != skipped->attempt || run->state != GW_RUN_SENT)
        return GW_EPROTO;
    gw_ahead_return(core, run);
    gw_process_next(core, process);
    return 0;
}

/* -- Telling -------------------------------------------------------------------------------------
 */

struct told {
    uint64_t attempt[TOLD_MAX], bytes[TOLD_MAX], run_ns[TOLD_MAX];
    uint32_t rank[TOLD_MAX], size[TOLD_MAX];
    struct gw_buffer values;
    uint32_t count;
    bool lazy;
};

static void tell(struct gw_node_core *core, struct told *told)
{
    uint32_t n = told->count;
    if (!n)
        return;
    struct gw_message out = {.type = GW_MESSAGE_finished};
    out.finished = (struct gw_msg_finished){
        .attempt = {gw_core_copy(core, told->attempt, n * sizeof *told->attempt), n},
        .rank = {gw_core_copy(core, told->rank, n * sizeof *told->rank), n},
        .bytes = {gw_core_copy(core, told->bytes, n * sizeof *told->bytes), n},
        .value_size = {gw_core_copy(core, told->size, n * sizeof *told->size), n},
        .values = {gw_core_copy(core, told->values.data, told->values.size),
                   (uint32_t)told->values.size},
        .run_ns = {gw_core_copy(core, told->run_ns, n * sizeof *told->run_ns), n},
    };
    gw_result_tell(core, &out, (struct gw_bin){0});
    if (told->lazy)
        gw_result_wait(core);
    told->count = 0;
    told->values.size = 0;
}

static void finish(struct gw_node_core *core, struct gw_run *run, struct told *told)
{
    struct gw_run_done *done = run->done;
    const struct gw_bin value = {done->value, done->size};
    struct gw_object *object = NULL;
    uint32_t n = told->count++;
    told->lazy = (n == 0 || told->lazy) && run->first_heir && gw_result_may_wait(core, n + 1);
    told->attempt[n] = run->attempt;
    told->rank[n] = run->rank;
    told->bytes[n] = done->bytes;
    told->run_ns[n] = done->run_ns;
    told->size[n] = done->size;
    GW_MUST(gw_buffer_append(&told->values, done->value, done->size));
    if (done->size == 0)
        object = gw_result_keep(core, run, done->token, done->bytes);
    done->token = 0;
    gw_heir_give(core, run, value, object);
    gw_adrift_finished(core, run, value, &(struct gw_adrift_result){done->bytes, done->run_ns});
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_ENDED);
    gw_run_free(core, run);
    if (told->count == TOLD_MAX)
        tell(core, told);
}

void gw_ahead_settle(struct gw_node_core *core)
{
    struct told told;
    if (!core->settled.count)
        return;
    told.count = 0;
    told.values = (struct gw_buffer){0};
    for (size_t i = 0; i < core->settled.count; i++) { /* it grows */
        struct gw_run *run = core->settled.items[i].run;
        if (run->serial != core->settled.items[i].serial || run->state != GW_RUN_DONE)
            continue;
        if (run->done->failed) {
            tell(core, &told);
            gw_run_tell(core, run);
        } else {
            finish(core, run, &told);
        }
    }
    tell(core, &told);
    gw_array_clear(&core->settled);
    gw_buffer_deinit(&told.values);
}
