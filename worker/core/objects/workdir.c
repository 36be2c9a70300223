/* Working folders: each attempt of a task with files runs in a folder of its own.
 *
 * Invariants: the folder is requested once, when the attempt arrives. The attempt waits for the
 * folder as it waits for its inputs. The folder stays until the attempt is freed. It is then
 * removed or retained (workdir_retention.c). If the attempt is given up while its process still
 * lives, the folder is removed with the process. */
#include "worker/core/objects/workdir.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/workdir_retention.h"

#include <stdlib.h>
#include <string.h>

/* Returns a hash followed by the folder of a separate user. */
static struct gw_bin with_user(struct gw_node_core *core, struct gw_bin hash, const char *user)
{
    const size_t length = strlen(user);
    if (!length)
        return hash;
    uint8_t *key = gw_core_scratch(core, hash.size + length);
    memcpy(key, hash.data, hash.size);
    memcpy(key + hash.size, user, length);
    return (struct gw_bin){key, hash.size + (uint32_t)length};
}

void gw_workdir_want(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_bin files = run->spec->message.files;
    if (!files.size)
        return;
    run->wants_folder = true;
    run->missing++;
    GW_MUST(gw_map_put(&core->folders, run->serial, (uintptr_t)run));
    files = with_user(core, files, run->spec->message.user);
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_FOLDER);
    effect->number = run->serial;
    effect->bytes = files;
}

static void remove_folder(struct gw_node_core *core, uint64_t number)
{
    gw_core_effect(core, GW_EFFECT_UNFOLDER)->number = number;
}

void gw_workdir_on_event(struct gw_node_core *core, const struct gw_event *event)
{
    uint64_t value;
    if (event->type == GW_EVENT_COUNTED) {
        gw_workdir_retention_on_counted(core, event);
        return;
    }
    if (!gw_map_get(&core->folders, event->number,
                    &value)) { /* the attempt has ended since the request */
        if (event->code == 0)
            remove_folder(core, event->number);
        return;
    }
    struct gw_attempt *run = (struct gw_attempt *)(uintptr_t)value;
    run->wants_folder = false;
    if (event->code == 0) {
        run->folder = gw_core_strdup(event->text);
        if (--run->missing == 0)
            gw_attempt_supplied(core, run);
        return;
    }
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    if (event->code == GW_EIO) /* a disk error of this host: the task may succeed on another one */
        end.outcome = GW_OUTCOME_FILES;
    end.text =
        gw_attempt_text("cannot put the task's files into its working folder: %s", event->text);
    gw_map_remove(&core->folders, event->number);
    gw_attempt_fail(core, run, end);
}

void gw_workdir_leave(struct gw_node_core *core, struct gw_attempt *run)
{
    if (run->folder || run->wants_folder)
        gw_map_remove(&core->folders, run->serial);
    if (!run->folder || gw_workdir_retention_take(core, run))
        return;
    remove_folder(core, run->serial);
    free(run->folder);
}

void gw_workdir_outlive(struct gw_node_core *core, struct gw_process *process)
{
    for (struct gw_attempt *run = process->queue.first; run; run = run->next) {
        if (!run->folder)
            continue;
        GW_MUST(gw_array_push(&process->folders, run->serial));
        gw_map_remove(&core->folders, run->serial);
        free(run->folder);
        run->folder = NULL;
    }
}

void gw_workdir_end(struct gw_node_core *core, struct gw_process *process)
{
    for (size_t i = 0; i < process->folders.count; i++)
        remove_folder(core, process->folders.items[i]);
    gw_array_deinit(&process->folders);
}

const char *gw_workdir_of(const struct gw_attempt *run)
{
    return run->folder ? run->folder : run->spec->message.cwd;
}
