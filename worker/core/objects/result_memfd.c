/* Memory files: memfds in which large results lie, one after another, so that neither who makes one
 * nor who reads it has to have fresh pages made and mapped. A runner writes into one that it is
 * given, and keeps mapped what it reads.
 *
 * Always: nobody who may read one sees it change. It is written by one runner, from when its run is
 * sent until that has ended; it is given to a run only when it is idle: its object is gone, each
 * runner that was lent it has returned it as often as it was lent, or is buried with all its
 * descendants, and its descriptor never went anywhere else (`left`: to another worker, a client, a
 * thread that writes it to disk). What cannot be known to be over is taken for not over: then it is
 * closed, and its memory goes with the last who has it, as that of any memfd.
 *
 * One user never sees another's bytes: it is given to runs of the one user only whose results lay
 * in it before. Behind a shorter result nothing is left: it is made exactly as long as that.
 *
 * What lies idle is memory that is used: it counts, goes before anything else does, and is given
 * back by making it empty, which needs nobody who has it mapped. */
#include "worker/core/objects/result_memfd.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_NS UINT64_C(10000000000) /* after that its memory is given back */

enum {
    IDLE_MAX = 64,              /* files, so that finding one takes no time */
    IDLE_PART = 8,              /* of the worker's memory, */
    IDLE_BYTES_MAX = 256 << 20, /* or so much, where that has no limit */
};

static const struct gw_sm_state memfile_states[] = {
    [GW_RESULT_MEMFD_GIVEN] = {"given", GW_SM_NEXT(GW_RESULT_MEMFD_FILLED) |
                                            GW_SM_NEXT(GW_RESULT_MEMFD_GONE)},
    [GW_RESULT_MEMFD_FILLED] = {"filled", GW_SM_NEXT(GW_RESULT_MEMFD_READ) |
                                              GW_SM_NEXT(GW_RESULT_MEMFD_GONE)},
    [GW_RESULT_MEMFD_READ] = {"read", GW_SM_NEXT(GW_RESULT_MEMFD_IDLE)},
    [GW_RESULT_MEMFD_IDLE] = {"idle",
                              GW_SM_NEXT(GW_RESULT_MEMFD_GIVEN) | GW_SM_NEXT(GW_RESULT_MEMFD_GONE)},
    [GW_RESULT_MEMFD_GONE] = {"gone", 0},
};
struct gw_sm gw_result_memfd_sm = {"worker memfile", memfile_states,
                                   sizeof memfile_states / sizeof *memfile_states, NULL};

static struct gw_result_memfd *find(const struct gw_node_core *core, uint64_t number)
{
    uint64_t value;
    return gw_map_get(&core->memfiles.by_number, number, &value)
               ? (struct gw_result_memfd *)(uintptr_t)value
               : NULL;
}

/* -- Counts and lists ----------------------------------------------------------------------------
 */

/* Those of objects are counted with these. */
static void count(struct gw_node_core *core, const struct gw_result_memfd *memfile, bool more)
{
    struct gw_result_memfds *all = &core->memfiles;
    all->bytes += more ? memfile->bytes : -memfile->bytes;
    all->descriptors += more ? memfile->token != 0 : -(uint32_t)(memfile->token != 0);
}

static void list_idle(struct gw_node_core *core, struct gw_result_memfd *memfile)
{
    struct gw_result_memfds *all = &core->memfiles;
    gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_IDLE);
    memfile->idle_ns = core->now_ns;
    memfile->older = all->newest;
    memfile->newer = NULL;
    *(all->newest ? &all->newest->newer : &all->oldest) = memfile;
    all->newest = memfile;
    all->idle++;
}

static void unlist_idle(struct gw_node_core *core, struct gw_result_memfd *memfile)
{
    struct gw_result_memfds *all = &core->memfiles;
    *(memfile->older ? &memfile->older->newer : &all->oldest) = memfile->newer;
    *(memfile->newer ? &memfile->newer->older : &all->newest) = memfile->older;
    memfile->older = memfile->newer = NULL;
    all->idle--;
}

static void memfile_free(struct gw_result_memfd *memfile)
{
    gw_array_deinit(&memfile->readers);
    free(memfile);
}

/* Who may have it mapped need not keep it so. */
static void tell_gone(struct gw_node_core *core, const struct gw_result_memfd *memfile)
{
    struct gw_memfd_reader *reader;
    GW_ARRAY_EACH (&memfile->readers, reader) {
        const struct gw_process *process = gw_process_find(core, reader->process);
        if (process && process->link && !process->burying)
            gw_core_send(core, process->link, GW_MESSAGE_memfile_gone)->message.memfile_gone =
                (struct gw_msg_memfile_gone){memfile->number};
    }
}

/* The end of one that no object has. Its memory goes at once where nobody may read it; else with
 * the last who does. */
static void end(struct gw_node_core *core, struct gw_result_memfd *memfile, bool at_once)
{
    if (memfile->state == GW_RESULT_MEMFD_IDLE)
        unlist_idle(core, memfile);
    if (memfile->state != GW_RESULT_MEMFD_FILLED)
        count(core, memfile, false);
    gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_GONE);
    tell_gone(core, memfile);
    if (memfile->token && at_once) {
        struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_EMPTY);
        gw_core_token(core, effect, memfile->token);
    }
    if (memfile->token)
        gw_core_drop_token(core, memfile->token);
    gw_map_remove(&core->memfiles.by_number, memfile->number);
    memfile_free(memfile);
}

/* -- Giving --------------------------------------------------------------------------------------
 */

static bool fits(const struct gw_result_memfd *memfile, uint32_t uid, uint64_t bytes)
{
    return memfile->uid == uid && memfile->bytes / 2 <= bytes && bytes / 2 <= memfile->bytes;
}

/* The one of the nearest size, of those the one that was used last. */
static struct gw_result_memfd *find_idle(const struct gw_node_core *core, uint32_t uid,
                                         uint64_t bytes)
{
    struct gw_result_memfd *best = NULL;
    uint64_t best_off = UINT64_MAX;
    for (struct gw_result_memfd *memfile = core->memfiles.newest; memfile;
         memfile = memfile->older) {
        uint64_t off = memfile->bytes > bytes ? memfile->bytes - bytes : bytes - memfile->bytes;
        if (off < best_off && fits(memfile, uid, bytes)) {
            best = memfile;
            best_off = off;
        }
    }
    return best;
}

static struct gw_result_memfd *make(struct gw_node_core *core, uint32_t uid)
{
    struct gw_result_memfd *memfile = gw_core_alloc(sizeof *memfile);
    memfile->number = ++core->memfiles.last_number;
    memfile->uid = uid;
    memfile->state = GW_RESULT_MEMFD_GIVEN;
    GW_MUST(gw_map_put(&core->memfiles.by_number, memfile->number, (uintptr_t)memfile));
    return memfile;
}

void gw_result_memfd_give(struct gw_node_core *core, struct gw_process *process,
                          struct gw_attempt *run)
{
    const struct gw_node_spec *spec = run->spec;
    if (spec->result_bytes < GW_MEMFILE_BYTES_MIN || run->gang)
        return;
    assert(!run->memfile);
    struct gw_result_memfd *memfile = find_idle(core, spec->message.uid, spec->result_bytes);
    if (memfile) {
        unlist_idle(core, memfile);
        gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_GIVEN);
    } else {
        memfile = make(core, spec->message.uid);
    }
    run->memfile = memfile;
    run->filled = false;
    struct gw_effect *effect = gw_core_send(core, process->link, GW_MESSAGE_memfile_given);
    effect->message.memfile_given =
        (struct gw_msg_memfile_given){run->attempt, memfile->number, memfile->bytes};
    if (!memfile->token)
        return;
    gw_core_token(core, effect, memfile->token);
}

/* The runner may be writing it, and nobody will read that. */
void gw_result_memfd_forsake(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_result_memfd *memfile = run->memfile;
    run->memfile = NULL;
    if (memfile)
        end(core, memfile, false);
}

struct gw_result_memfd *gw_result_memfd_take(struct gw_node_core *core, struct gw_attempt *run,
                                             uint64_t bytes)
{
    struct gw_result_memfd *memfile = run->memfile;
    if (!memfile || !run->filled)
        return NULL;
    run->memfile = NULL;
    count(core, memfile, false);
    if (memfile->token) /* the object has the one that came with it */
        gw_core_drop_token(core, memfile->token);
    memfile->token = 0;
    memfile->bytes = bytes;
    gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_FILLED);
    return memfile;
}

/* -- Lending -------------------------------------------------------------------------------------
 */

static void add_lease(struct gw_result_memfd *memfile, uint64_t process)
{
    struct gw_memfd_reader *reader;
    memfile->leases++;
    GW_ARRAY_EACH (&memfile->readers, reader)
        if (reader->process == process) {
            reader->leases++;
            return;
        }
    GW_MUST(gw_array_push(&memfile->readers, ((struct gw_memfd_reader){process, 1})));
}

uint64_t gw_result_memfd_lend(struct gw_node_core *core, const struct gw_object *object,
                              const struct gw_process *process)
{
    struct gw_result_memfd *memfile = object->memfile;
    (void)core;
    if (!memfile)
        return 0;
    add_lease(memfile, process->id);
    return memfile->number;
}

void gw_result_memfd_leave(const struct gw_object *object)
{
    if (object->memfile)
        object->memfile->left = true;
}

int gw_result_memfd_on_filled(struct gw_node_core *core, struct gw_process *process,
                              const struct gw_msg_memfile_filled *filled)
{
    struct gw_attempt *run = gw_attempt_find(core, filled->attempt, GW_RANK_NONE);
    if (!run || run->process != process || !run->memfile || run->filled ||
        run->memfile->number != filled->memfile)
        return GW_EPROTO;
    run->filled = true;
    if (filled->kept)
        add_lease(run->memfile, process->id);
    return 0;
}

/* Its object is gone; and who read it, perhaps. */
static void look(struct gw_node_core *core, struct gw_result_memfd *memfile)
{
    if (memfile->state == GW_RESULT_MEMFD_READ && !memfile->leases)
        list_idle(core, memfile);
}

static bool return_one(struct gw_result_memfd *memfile, uint64_t process)
{
    struct gw_memfd_reader *reader;
    GW_ARRAY_EACH (&memfile->readers, reader)
        if (reader->process == process && reader->leases) {
            reader->leases--;
            memfile->leases--;
            return true;
        }
    return false;
}

/* What is not known any more had no need to be returned. */
int gw_result_memfd_on_returned(struct gw_node_core *core, const struct gw_process *process,
                                const struct gw_msg_memfile_returned *returned)
{
    for (uint32_t i = 0; i < returned->memfile.count; i++) {
        struct gw_result_memfd *memfile = find(core, gw_col64_at(returned->memfile, i));
        if (memfile && !return_one(memfile, process->id))
            return GW_EPROTO;
        if (memfile)
            look(core, memfile);
    }
    return 0;
}

void gw_result_memfd_end(struct gw_node_core *core, const struct gw_process *process)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->memfiles.by_number, &at, &key, &value)) {
        struct gw_result_memfd *memfile = (struct gw_result_memfd *)(uintptr_t)value;
        for (size_t i = 0; i < memfile->readers.count; i++)
            if (memfile->readers.items[i].process == process->id) {
                memfile->leases -= memfile->readers.items[i].leases;
                gw_array_remove_swap(&memfile->readers, i);
                break;
            }
        look(core, memfile);
    }
}

/* -- Its object goes -----------------------------------------------------------------------------
 */

void gw_result_memfd_release(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_result_memfd *memfile = object->memfile;
    memfile->token = object->token;
    object->token = 0;
    object->memfile = NULL;
    if (object->state == GW_OBJECT_SPILLING) /* a thread reads it */
        memfile->left = true;
    if (memfile->left) {
        end(core, memfile, false);
        return;
    }
    gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_READ);
    count(core, memfile, true);
    look(core, memfile);
}

void gw_result_memfd_vacate(struct gw_node_core *core, struct gw_object *object)
{
    struct gw_result_memfd *memfile = object->memfile;
    memfile->token = object->token;
    object->token = 0;
    object->memfile = NULL;
    end(core, memfile, !memfile->left && !memfile->leases);
}

/* -- Giving back ---------------------------------------------------------------------------------
 */

bool gw_result_memfd_spare(struct gw_node_core *core)
{
    struct gw_result_memfd *oldest = core->memfiles.oldest;
    if (oldest)
        end(core, oldest, true);
    return oldest != NULL;
}

static bool too_much(const struct gw_node_core *core)
{
    const struct gw_result_memfds *all = &core->memfiles;
    uint64_t limit = core->options.memory_bytes;
    return all->idle > IDLE_MAX || all->bytes > (limit ? limit / IDLE_PART : IDLE_BYTES_MAX);
}

void gw_result_memfd_settle(struct gw_node_core *core)
{
    const struct gw_result_memfds *all = &core->memfiles;
    while (all->oldest && (too_much(core) || core->now_ns - all->oldest->idle_ns >= IDLE_NS))
        (void)gw_result_memfd_spare(core);
}

uint64_t gw_result_memfd_idle_bytes(const struct gw_node_core *core)
{
    uint64_t bytes = 0;
    for (const struct gw_result_memfd *one = core->memfiles.oldest; one; one = one->newer)
        bytes += one->bytes;
    return bytes;
}

uint64_t gw_result_memfd_deadline_ns(const struct gw_node_core *core)
{
    return core->memfiles.oldest ? core->memfiles.oldest->idle_ns + IDLE_NS : UINT64_MAX;
}

/* -- The whole -----------------------------------------------------------------------------------
 */

static void check_one(const struct gw_node_core *core, const struct gw_result_memfd *memfile)
{
    uint32_t leases = 0;
    for (size_t i = 0; i < memfile->readers.count; i++) {
        assert(gw_process_find(core, memfile->readers.items[i].process));
        leases += memfile->readers.items[i].leases;
    }
    assert(memfile->leases == leases && memfile->state != GW_RESULT_MEMFD_GONE);
    assert(memfile->state != GW_RESULT_MEMFD_FILLED || !memfile->token);
    assert(memfile->state != GW_RESULT_MEMFD_IDLE || (!leases && !memfile->left && memfile->token));
    assert(memfile->state != GW_RESULT_MEMFD_READ || (leases && !memfile->left && memfile->token));
}

void gw_result_memfd_check(const struct gw_node_core *core)
{
    const struct gw_result_memfds *all = &core->memfiles;
    size_t at = 0, idle = 0, listed = 0;
    uint64_t key, value, bytes = 0;
    uint32_t descriptors = 0;
    while (gw_map_next(&all->by_number, &at, &key, &value)) {
        const struct gw_result_memfd *memfile = (struct gw_result_memfd *)(uintptr_t)value;
        assert(memfile->number == key);
        check_one(core, memfile);
        if (memfile->state == GW_RESULT_MEMFD_FILLED)
            continue;
        bytes += memfile->bytes;
        descriptors += memfile->token != 0;
        idle += memfile->state == GW_RESULT_MEMFD_IDLE;
    }
    for (const struct gw_result_memfd *memfile = all->oldest; memfile; memfile = memfile->newer) {
        assert(memfile->newer ? memfile->newer->older == memfile : all->newest == memfile);
        listed++;
    }
    assert(bytes == all->bytes && descriptors == all->descriptors);
    assert(idle == all->idle && listed == idle);
}

void gw_result_memfd_deinit(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->memfiles.by_number, &at, &key, &value))
        memfile_free((struct gw_result_memfd *)(uintptr_t)value);
    gw_map_deinit(&core->memfiles.by_number);
}
