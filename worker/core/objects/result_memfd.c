/* Memory files: memfds that hold large results and are used again for later results. Neither the
 * runner that writes a result nor the runner that reads it then needs new pages to be allocated and
 * mapped. A runner writes to the file that it is given, and keeps files mapped that it reads.
 *
 * Invariants: a reader never sees a file change. One runner writes to a file, from when its attempt
 * is sent until the attempt has ended. A file is given to an attempt only if it is idle. It is idle
 * if its object is freed, each runner has returned it as often as it was lent to that runner (or
 * the runner is reaped with all descendants), and its descriptor was sent to no other receiver.
 * Such receivers (`left`) are other workers, clients, and the thread that writes the object to
 * disk. Nobody knows when they stop reading. The worker then closes its descriptor, and the kernel
 * frees the memory when the last receiver has closed the file.
 *
 * A user never sees the data of another user: a file is given only to attempts of the user whose
 * results it held before. The file is truncated to the size of each result, so it holds no older
 * data behind the result.
 *
 * Idle files count as used memory. They are freed before anything else if memory is short. Emptying
 * a file frees its memory even if processes have it mapped. */
#include "worker/core/objects/result_memfd.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_NS UINT64_C(10000000000) /* an idle file is freed after this time */

enum {
    IDLE_MAX = 64,              /* maximum number of idle files, so that searching them is fast */
    IDLE_PART = 8,              /* idle files use at most 1/8 of the worker's memory limit */
    IDLE_BYTES_MAX = 256 << 20, /* or this much if the worker has no memory limit */
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

/* Adds or subtracts a file in the totals. The totals do not include files that belong to an object.
 */
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

/* Tells all runners that may have the file mapped that they can unmap it. */
static void tell_gone(struct gw_node_core *core, const struct gw_result_memfd *memfile)
{
    struct gw_memfd_reader *reader;
    GW_ARRAY_EACH (&memfile->readers, reader) {
        const struct gw_process *process = gw_process_find(core, reader->process);
        if (process && process->link && !process->reaping)
            gw_core_send(core, process->link, GW_MESSAGE_memfile_gone)->message.memfile_gone =
                (struct gw_msg_memfile_gone){memfile->number};
    }
}

/* Ends a file that belongs to no object. If at_once is true, nobody may read it, so its memory is
 * freed at once. Otherwise the memory is freed with the last descriptor and mapping. */
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

/* -- Giving files to attempts --------------------------------------------------------------------
 */

static bool fits(const struct gw_result_memfd *memfile, uint32_t uid, uint64_t bytes)
{
    return memfile->uid == uid && memfile->bytes / 2 <= bytes && bytes / 2 <= memfile->bytes;
}

/* Returns the idle file of the nearest size. If several are equally near, it is the one that was
 * used last. */
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

/* The runner may still be writing to the file, so it is closed and not used again. Nobody will read
 * what it writes. */
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
    if (memfile->token) /* the object has a descriptor of its own, which came with the result */
        gw_core_drop_token(core, memfile->token);
    memfile->token = 0;
    memfile->bytes = bytes;
    gw_sm_move(&gw_result_memfd_sm, &memfile->state, GW_RESULT_MEMFD_FILLED);
    return memfile;
}

/* -- Lending files to readers --------------------------------------------------------------------
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
    if (filled->cached)
        add_lease(run->memfile, process->id);
    return 0;
}

/* Makes a file idle if its object is freed and no runner may read it. */
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

/* Handles the return of files by a runner. A file that is no longer known was closed, and needs no
 * return. */
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

/* -- Freeing of the object -----------------------------------------------------------------------
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

/* -- Freeing idle files --------------------------------------------------------------------------
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

/* -- Invariants ----------------------------------------------------------------------------------
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
