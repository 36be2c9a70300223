/* Checkpoints on the hosts' disks, which the hosts do not share: saved there, transferred there, or
 * stored there as copies. The next incarnation of a host does not have them.
 *
 * Check: a gang continues only from a checkpoint that is at its rank 0. */
#include "tests/sim/faults/leave.h"

#include <stdio.h>
#include <string.h>

enum { EMPTIED_PERCENT = 12 };

static struct sim_saved *find_any(struct host *host, const struct gw_msg_checkpoint_transfer *what,
                                  bool copy, bool gone)
{
    for (size_t i = 0; i < host->saved.count; i++) {
        struct sim_saved *saved = &host->saved.items[i];
        if (saved->copy != copy || saved->gone != gone ||
            (!copy && saved->attempt != what->attempt) ||
            (copy && (saved->job != what->job || saved->index != what->index)))
            continue;
        return saved;
    }
    return NULL;
}

/* Finds a file of an attempt, or (attempt 0) the folder of commands. copy: among the copies stored
 * for other workers. */
static struct sim_saved *find(struct host *host, const struct gw_msg_checkpoint_transfer *what,
                              bool copy)
{
    return find_any(host, what, copy, false);
}

static void put(struct host *host, const struct gw_msg_checkpoint_transfer *what, bool copy)
{
    struct sim_saved *saved = find(host, what, copy);
    if (saved)
        saved->attempt = what->attempt;
    else
        GW_MUST(gw_array_push(
            &host->saved,
            ((struct sim_saved){
                .job = what->job, .index = what->index, .attempt = what->attempt, .copy = copy})));
}

void sim_transfer_saved(struct process *process, uint64_t attempt)
{
    put(process->host, &(struct gw_msg_checkpoint_transfer){.attempt = attempt}, false);
}

struct trip {
    struct host *host;
    uint64_t incarnation, number;
    struct gw_msg_checkpoint_transfer what;
    char address[16]; /* address of the host that has the checkpoint; empty: this host itself */
    bool copy, into_copy;
    uint32_t tries; /* to reach that host */
};

/* The folder of a host is removed, and the host notices this only when it is asked. A rank that was
 * told that a checkpoint exists may find that it is gone. */
static void lose_folder(struct sim *sim, struct host *host)
{
    if (sim->healed || !host->saved.count || !sim_chance(sim, EMPTIED_PERCENT))
        return;
    size_t retained = 0;
    for (size_t i = 0; i < host->saved.count; i++) {
        struct sim_saved saved = host->saved.items[i];
        saved.gone = true;
        if (saved.looked)
            host->saved.items[retained++] = saved;
    }
    host->saved.count = retained;
    host->emptied = true;
    sim_fault(sim, FAULT_EMPTIED);
}

enum {
    TRIES = 40
}; /* one in 500 ms, for as long as the scheduler may need to notice a lost worker */

/* The next incarnation of a worker is another worker with other keys. */
static struct host *source_of(struct sim *sim, const struct trip *trip)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        if (sim->hosts[i].core && sim->hosts[i].worker == trip->what.worker &&
            strcmp(sim->hosts[i].address, trip->address) == 0)
            return &sim->hosts[i];
    return trip->address[0] ? NULL : trip->host;
}

static void on_trip(struct sim *sim, void *arg)
{
    struct trip *under_way = arg;
    struct host *source = source_of(sim, under_way);
    if (!source && under_way->tries++ < TRIES) {
        sim_plan_own(sim, 500 * MS, on_trip, under_way, sim_drop);
        return;
    }
    struct trip trip = *under_way;
    free(under_way);
    if (!trip.host->core || trip.host->incarnation != trip.incarnation)
        return;
    if (source)
        lose_folder(sim, source);
    struct gw_event event = {
        .type = GW_EVENT_CHECKPOINT_TRANSFERRED, .number = trip.number, .text = ""};
    struct sim_saved *saved = source ? find(source, &trip.what, trip.copy) : NULL;
    struct sim_saved *gone = source ? find_any(source, &trip.what, trip.copy, true) : NULL;
    bool there = saved && saved->attempt == trip.what.attempt;
    const bool looks = !trip.address[0] && !trip.copy;
    if (gone)
        gone->looked = false; /* the next request finds that it is gone */
    if (there && looks)
        saved->looked = true;
    if (!source) {
        event.code = GW_ELOST;
        event.text = "it does not answer";
    } else if (!there && (!trip.what.commands || trip.copy)) {
        event.code = GW_ENOENT;
        event.text = "it is not there";
        sim_fault(sim, FAULT_ABSENT);
    } else if (looks) {
        event.code = GW_EEXIST;
        event.text = "it is where it is to be";
    } else if (!sim->healed && sim_chance(sim, 12)) {
        event.code = GW_EIO;
        event.text = "no space left";
        sim->some_did_not_start = true;
    } else {
        put(trip.host, &trip.what, trip.into_copy);
        if (!trip.into_copy) /* the checkpoint is for a rank 0, which is told that it is here */
            find(trip.host, &trip.what, false)->looked = true;
        sim_fault(sim, trip.into_copy ? FAULT_COPIED : FAULT_TRANSFERRED);
        if (trip.copy)
            sim_fault(sim, FAULT_FROM_COPY);
    }
    if (!looks)
        sim_leave_transferred(sim, source, trip.what.attempt, event.code);
    if (event.code < 0 && event.code != GW_EEXIST)
        sim_fault(sim, FAULT_TRANSFER_FAILED);
    int rc = sim_host_step(sim, trip.host, &event);
    SIM_CHECK(sim, rc == 0, "a worker refuses the checkpoint that it had transferred");
    if (trip.into_copy && event.code == 0 && !sim->healed && sim_chance(sim, 12))
        sim_host_kill(sim, source); /* kill its source at times, so that the copy is needed */
}

/* A command's folder changes a few times, then no more. */
static void on_save(struct sim *sim, void *arg)
{
    struct trip *trip = arg;
    struct host *host = trip->host;
    if (!host->core || host->incarnation != trip->incarnation || trip->number > 3) {
        free(trip);
        return;
    }
    const struct gw_event event = {
        .type = GW_EVENT_SAVED, .number = trip->what.attempt, .bytes = ++trip->number};
    struct gw_event told = event;
    sim_fault(sim, FAULT_FOLDER_CHANGED);
    int rc = sim_host_step(sim, host, &told);
    SIM_CHECK(sim, rc == 0, "a worker refuses what it watched");
    sim_plan_own(sim, 10 * MS + sim_below(sim, SECOND), on_save, trip, sim_drop);
}

void sim_transfer_execute(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_UNWATCH)
        return;
    struct trip *trip = calloc(1, sizeof *trip);
    GW_MUST_PTR(trip);
    *trip = (struct trip){.host = host,
                          .incarnation = host->incarnation,
                          .what = effect->message.checkpoint_transfer,
                          .copy = effect->size != 0,
                          .into_copy = effect->count != 0};
    if (effect->type == GW_EFFECT_WATCH) {
        trip->what.attempt = effect->number;
        sim_plan_own(sim, 10 * MS + sim_below(sim, SECOND), on_save, trip, sim_drop);
        return;
    }
    trip->number = effect->number;
    (void)snprintf(trip->address, sizeof trip->address, "%s", (const char *)effect->bytes.data);
    sim_plan_own(sim, MS + sim_below(sim, 20 * MS), on_trip, trip, sim_drop);
}

void sim_transfer_check(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    const struct gang *from = NULL;
    for (size_t i = 0; i < sim->gangs.count; i++)
        if (sim->gangs.items[i]->attempt == process->checkpoint)
            from = sim->gangs.items[i];
    if (row->rank != 0 || !from || process->checkpoint_lost)
        return;
    if (from->life != sim->life)
        sim_fault(sim, FAULT_REMEMBERED);
    const struct gw_msg_checkpoint_transfer what = {.attempt = process->checkpoint};
    const struct sim_saved *gone = find_any(process->host, &what, false, true);
    SIM_CHECK(sim, find(process->host, &what, false) || (gone && gone->looked),
              "attempt %llx goes on from a checkpoint that is not on its host",
              (unsigned long long)row->attempt);
}
