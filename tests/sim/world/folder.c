/* Folders of tasks with files on a host. A folder is created some time after it was requested, or
 * this fails. It is removed when no task runs in it any more. */
#include "tests/sim/world/folder.h"

#include <inttypes.h>
#include <stdio.h>

/* Returns true if a task runs in the folder. */
static bool is_used(const struct host *host, uint64_t number)
{
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (process->alive && process->executing && process->rows.count &&
            process->rows.items[0].folder == number)
            return true;
    }
    return false;
}

static bool is_there(const struct host *host, uint64_t number)
{
    for (size_t i = 0; i < host->folders.count; i++)
        if (host->folders.items[i] == number)
            return true;
    return false;
}

/* The disk is full at random times, and on some hosts for several seconds. */
static bool is_full(struct sim *sim, const struct host *host)
{
    const uint64_t chance = sim_hash(sim->seed, 755 + host->number);
    return sim_chance(sim, 3) ||
           (host->number && chance % 3 == 0 && (chance + sim->now_ns / (2 * SECOND)) % 2);
}

void sim_folder_answer(struct sim *sim, struct host *host, struct gw_event *event,
                       char text[static FOLDER_TEXT])
{
    event->text = text;
    if (!sim->healed && is_full(sim, host)) {
        sim_fault(sim, FAULT_NO_FOLDER);
        sim->some_did_not_start = true;
        event->code = GW_EIO;
        (void)snprintf(text, FOLDER_TEXT, "no space left");
        return;
    }
    sim_fault(sim, FAULT_FOLDER);
    (void)snprintf(text, FOLDER_TEXT, "/work/%" PRIu64, event->number);
    GW_MUST(gw_array_push(&host->folders, event->number));
}

void sim_folder_remove(struct sim *sim, struct host *host, uint64_t number)
{
    SIM_CHECK(sim, is_there(host, number), "host %u has no folder %" PRIu64 " to remove",
              host->number, number);
    SIM_CHECK(sim, !is_used(host, number), "folder %" PRIu64 " goes while its task runs", number);
    for (size_t i = 0; i < host->folders.count; i++)
        if (host->folders.items[i] == number)
            gw_array_remove_swap(&host->folders, i--);
    if (gw_map_remove(&host->retained_workdirs, number))
        sim_fault(sim, FAULT_WORKDIR_REMOVED);
}

void sim_folder_retain(struct sim *sim, struct host *host, uint64_t number)
{
    SIM_CHECK(sim, is_there(host, number) && !is_used(host, number),
              "host %u keeps folder %" PRIu64 ", which is not there, or in use", host->number,
              number);
    sim_fault(sim, FAULT_WORKDIR_RETAINED);
    GW_MUST(gw_map_put(&host->retained_workdirs, number, 0));
}

void sim_folder_count(struct host *host, struct gw_event *event)
{
    event->bytes =
        SIM_RETAINED_BYTES * 11 / 20 + event->number * 97 % (SIM_RETAINED_BYTES * 9 / 20);
    event->free_bytes = event->number % 5 ? SIM_RETAINED_BYTES : SIM_RETAINED_BYTES / 2;
    uint64_t before;
    if (gw_map_get(&host->retained_workdirs, event->number, &before))
        GW_MUST(gw_map_put(&host->retained_workdirs, event->number, event->bytes));
}

void sim_folder_counted(struct sim *sim, const struct host *host)
{
    uint64_t bytes = 0, number, each;
    for (size_t at = 0; gw_map_next(&host->retained_workdirs, &at, &number, &each);)
        bytes += each;
    SIM_CHECK(sim,
              bytes <= SIM_RETAINED_BYTES &&
                  host->retained_workdirs.count <= GW_RETAINED_WORKDIRS_MAX,
              "host %u keeps %" PRIu64 " bytes in %zu folders", host->number, bytes,
              host->retained_workdirs.count);
}

uint64_t sim_folder_number(const char *path)
{
    return strncmp(path, "/work/", 6) == 0 ? strtoull(path + 6, NULL, 10) : 0;
}

void sim_folder_told(struct process *process, const struct gw_msg_task_folder *message)
{
    struct told_folder told = {message->attempt, sim_folder_number(message->path)};
    GW_MUST(gw_array_push(&process->folders, told));
}

uint64_t sim_folder_take(struct process *process, uint64_t attempt)
{
    for (size_t i = 0; i < process->folders.count; i++) {
        struct told_folder told = process->folders.items[i];
        if (told.attempt != attempt)
            continue;
        gw_array_remove_swap(&process->folders, i);
        return told.folder;
    }
    return 0;
}

void sim_folder_check(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    SIM_CHECK(sim, !row->work->files || is_there(process->host, row->folder),
              "task %" PRIu64 " starts without its files", row->work->id);
    SIM_CHECK(sim, row->work->files || !row->folder, "task %" PRIu64 " has a folder for no files",
              row->work->id);
}
