/* The messages that were sent and not acknowledged.
 *
 * The items from `start` on are in the backlog. Their number is `kept`. The oldest of them is
 * message `sent - kept + 1`. Items before `start` were removed; when they are half of the array,
 * the array is moved up. */
#include "graph/wire/backlog.h"

#include "graph/base/array.h"
#include "graph/wire/frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_MAX = 64 << 20, FDS_MAX = 512 };

struct gw_backlog {
    GW_ARRAY(struct gw_backlog_item) items;
    size_t start;
    uint64_t sent;
    size_t bytes, fds; /* total size and descriptors of the items in the backlog */
};

struct gw_backlog *gw_backlog_new(void)
{
    return calloc(1, sizeof(struct gw_backlog));
}

static void item_deinit(struct gw_backlog_item *item)
{
    for (uint8_t i = 0; i < item->fd_count; i++)
        (void)close(item->fds[i]);
    free(item->fds);
    free(item->frame);
}

void gw_backlog_free(struct gw_backlog *backlog)
{
    if (!backlog)
        return;
    for (size_t i = backlog->start; i < backlog->items.count; i++)
        item_deinit(&backlog->items.items[i]);
    gw_array_deinit(&backlog->items);
    free(backlog);
}

bool gw_backlog_counts(const struct gw_message *message)
{
    return message->type != GW_MESSAGE_heartbeat;
}

static uint64_t retained(const struct gw_backlog *backlog)
{
    return backlog->items.count - backlog->start;
}

static void forget_oldest(struct gw_backlog *backlog)
{
    struct gw_backlog_item *item = &backlog->items.items[backlog->start++];
    backlog->bytes -= item->bytes;
    backlog->fds -= item->fd_count;
    item_deinit(item);
    if (backlog->start * 2 < backlog->items.count)
        return;
    backlog->items.count -= backlog->start;
    memmove(backlog->items.items, backlog->items.items + backlog->start,
            backlog->items.count * sizeof *item);
    backlog->start = 0;
}

static int copy_fds(struct gw_backlog_item *item, const int *fds, uint8_t count)
{
    if (!count)
        return 0;
    item->fds = malloc(count * sizeof *item->fds);
    if (!item->fds)
        return GW_ENOMEM;
    for (; item->fd_count < count; item->fd_count++) {
        int fd = fcntl(fds[item->fd_count], F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return GW_ELIMIT;
        item->fds[item->fd_count] = fd;
    }
    return 0;
}

int gw_backlog_add(struct gw_backlog *backlog, const struct gw_message *message, const int *fds,
                   uint8_t fd_count, const struct gw_backlog_item **item)
{
    struct gw_backlog_item made = {0};
    struct gw_buffer buffer = {0};
    int rc = gw_message_encode(message, fd_count, &buffer);
    if (rc == 0)
        rc = copy_fds(&made, fds, fd_count);
    made.frame = buffer.data;
    made.bytes = buffer.size;
    if (rc == 0)
        rc = gw_array_push(&backlog->items, made);
    if (rc < 0) {
        item_deinit(&made);
        return rc;
    }
    backlog->sent++;
    backlog->bytes += made.bytes;
    backlog->fds += made.fd_count;
    while (retained(backlog) > 1 && (backlog->bytes > BYTES_MAX || backlog->fds > FDS_MAX))
        forget_oldest(backlog);
    *item = &backlog->items.items[backlog->items.count - 1];
    return 0;
}

int gw_backlog_took(struct gw_backlog *backlog, uint64_t taken)
{
    if (taken > backlog->sent)
        return GW_EPROTO;
    while (retained(backlog) > backlog->sent - taken)
        forget_oldest(backlog);
    return 0;
}

bool gw_backlog_can_reconnect(const struct gw_backlog *backlog, uint64_t taken)
{
    return taken <= backlog->sent && backlog->sent - taken <= retained(backlog);
}

const struct gw_backlog_item *gw_backlog_item(const struct gw_backlog *backlog, uint64_t number)
{
    if (number == 0 || number > backlog->sent || backlog->sent - number >= retained(backlog))
        return NULL;
    return &backlog->items.items[backlog->items.count - 1 - (backlog->sent - number)];
}
