/* Records how far the readers of held processes have read. A reader requests at most 256 KiB at a
 * time. The supervisor is told after each quarter of the amount that a process may be ahead, which
 * is about every sixteenth request. */
#include "worker/net/tasks/held.h"

#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/tasks/users.h"

enum { STEP_BYTES = GW_HELD_BYTES / 4 };

static uint64_t key_of(uint64_t process, uint32_t stream)
{
    return process << 1 | (stream == 2);
}

void gw_held_begin(struct gw_host *host, uint64_t process)
{
    for (uint32_t stream = 1; stream <= 2; stream++)
        GW_MUST(gw_map_put(&host->held, key_of(process, stream), 0));
}

void gw_held_end(struct gw_host *host, uint64_t process)
{
    for (uint32_t stream = 1; stream <= 2; stream++)
        (void)gw_map_remove(&host->held, key_of(process, stream));
}

void gw_held_on_read(uint64_t process, uint32_t stream, uint64_t offset, void *arg)
{
    struct gw_host *host = arg;
    uint64_t told;
    if (!gw_map_get(&host->held, key_of(process, stream), &told) ||
        !gw_users_supervisor(host, process) || offset < told || offset - told < STEP_BYTES)
        return;
    GW_MUST(gw_map_put(&host->held, key_of(process, stream), offset));
    struct gw_message message = {.type = GW_MESSAGE_output_read};
    message.output_read = (struct gw_msg_output_read){process, stream, offset};
    gw_host_send(gw_users_supervisor(host, process), &message, NULL, 0);
}

bool gw_held_waits(const struct gw_host *host, uint64_t process, uint32_t stream, uint64_t bytes)
{
    uint64_t told;
    return gw_map_get(&host->held, key_of(process, stream), &told) && bytes >= told &&
           bytes - told >= GW_HELD_BYTES;
}
