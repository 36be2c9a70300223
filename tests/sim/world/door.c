/* What the ranks of a command need on their hosts before any of them starts: their folder, their
 * program, and one port each, which all ranks know. Also strangers: other processes that take the
 * port of rank 0. */
#include "tests/sim/world/door.h"
#include "tests/sim/world/folder.h"

#include "tests/sim/planted.h"

#include <msgpack.h>
#include <stdio.h>

enum { PORTS_OF_HOST = 100, DOOR_FIRST = 3000 };

/* -- Looks ---------------------------------------------------------------------------------------
 */

struct look {
    struct host *host;
    uint64_t incarnation;
    struct row row;
};

static void on_look(struct sim *sim, void *arg)
{
    struct look look = *(struct look *)arg;
    free(arg);
    if (!look.host->core || look.host->incarnation != look.incarnation)
        return;
    struct gw_event event = {
        .type = GW_EVENT_LOOKED, .number = look.row.attempt, .rank = look.row.rank};
    if (!sim->healed && sim_chance(sim, 4)) {
        sim_fault(sim, FAULT_NO_PROGRAM);
        sim->some_did_not_start = true;
        sim_gang_of(sim, &look.row)->missing = true;
        event.code = sim_chance(sim, 50) ? GW_ENOENT : GW_ESTART;
        event.text = "it is not there";
    }
    int rc = sim_host_step(sim, look.host, &event);
    SIM_CHECK(sim, rc == 0, "a worker refuses what it asked for");
}

void sim_door_look(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    struct look *look = calloc(1, sizeof *look);
    GW_MUST_PTR(look);
    look->host = host;
    look->incarnation = host->incarnation;
    look->row = (struct row){
        .attempt = effect->number,
        .rank = effect->count,
        .work = sim_work_find(sim, strtoull(effect->message.spawn.path + 1, NULL, 10))};
    sim_plan_own(sim, 50000 + sim_below(sim, 3 * MS), on_look, look, sim_drop);
}

/* -- Doors ---------------------------------------------------------------------------------------
 */

uint32_t sim_door_port(const struct host *host, uint32_t place)
{
    return DOOR_FIRST + host->number * PORTS_OF_HOST + place;
}

/* The first argument of a command identifies its task: "w" and the number of the task. */
struct row sim_door_row(struct sim *sim, struct host *host, const struct gw_msg_spawn *spawn)
{
    struct gw_node_place place = {0};
    bool known = gw_node_core_executing(host->core, spawn->process, &place);
    SIM_CHECK(sim, known, "a command that runs nothing is started");
    return (struct row){.attempt = place.attempt,
                        .rank = place.rank,
                        .folder = sim_folder_number(spawn->cwd),
                        .work = sim_work_find(sim, strtoull(spawn->path + 1, NULL, 10))};
}

/* Returns the text of a rank's TF_CONFIG, which the caller frees, or NULL. */
static char *config_of(const struct gw_msg_spawn *spawn)
{
    static const char name[] = "TF_CONFIG=";
    char *found = NULL;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    if (msgpack_unpack_next(&unpacked, spawn->env.data, spawn->env.size, NULL) ==
        MSGPACK_UNPACK_SUCCESS)
        for (uint32_t i = 0; i < unpacked.data.via.array.size; i++) {
            const msgpack_object_str *line = &unpacked.data.via.array.ptr[i].via.str;
            if (line->size > sizeof name && memcmp(line->ptr, name, sizeof name - 1) == 0)
                found = strndup(line->ptr, line->size);
        }
    msgpack_unpacked_destroy(&unpacked);
    return found;
}

void sim_door_started(struct sim *sim, const struct process *process,
                      const struct gw_msg_spawn *spawn)
{
    const struct row *row = &process->rows.items[0];
    struct gang *gang = sim_gang_of(sim, row);
    SIM_CHECK(sim, !gang->missing, "rank %u starts, and another one's program is not on its host",
              row->rank);
    char *config = config_of(spawn);
    SIM_CHECK(sim, config != NULL, "rank %u does not know where the others are", row->rank);
    uint32_t count = 0;
    for (const char *at = config; (at = strstr(at, "127.0.0.1:")); count++) {
        uint32_t port = (uint32_t)strtoul(at + strlen("127.0.0.1:"), NULL, 10);
        SIM_CHECK(sim, count >= gang->world || !gang->doors[count] || gang->doors[count] == port,
                  "ranks of attempt %llx are told different doors",
                  (unsigned long long)gang->attempt);
        if (count < gang->world)
            gang->doors[count] = port;
        at++;
    }
    SIM_CHECK(sim, count == gang->world, "rank %u is told of %u doors", row->rank, count);
    SIM_CHECK(sim, (gang->doors[row->rank] - DOOR_FIRST) / PORTS_OF_HOST == process->host->number,
              "the door of rank %u is on another host", row->rank);
    char index[32];
    (void)snprintf(index, sizeof index, "\"index\": %u}", row->rank);
    SIM_CHECK(sim, strstr(config, index) != NULL, "rank %u is told that it is another", row->rank);
    free(config);
}

/* -- Strangers -----------------------------------------------------------------------------------
 */

bool sim_door_taken(struct sim *sim, const struct process *process)
{
    const struct row *row = &process->rows.items[0];
    if (row->rank != 0 || process->runner)
        return false;
    struct gang *gang = sim_gang_of(sim, row);
    if (!gang->asked_for_port && !sim->healed && sim_chance(sim, GW_PLANTED(281) ? 50 : 8)) {
        gang->stranger = true;
        row->work->strangers++;
        sim_fault(sim, FAULT_STRANGER);
    }
    gang->asked_for_port = true;
    return gang->stranger;
}

void sim_door_ended(struct sim *sim, struct gw_message *message)
{
    for (size_t i = 0; i < sim->gangs.count && message->ended.rank == 0; i++)
        if (sim->gangs.items[i]->attempt == message->ended.attempt)
            message->ended.port_taken = sim->gangs.items[i]->stranger;
}
