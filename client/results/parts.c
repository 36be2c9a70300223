/* The parts of a stream: finds the group of futures that belongs to a task. */
#include "client/results/parts.h"

#include <stdlib.h>
#include <string.h>

struct gw_parts *gw_parts_new(struct gw_client *client)
{
    struct gw_parts *parts = calloc(1, sizeof *parts);
    if (!parts)
        return NULL;
    parts->client = client;
    parts->refs = 1;
    pthread_mutex_lock(&client->lock);
    client->refs++;
    pthread_mutex_unlock(&client->lock);
    return parts;
}

void gw_parts_unref(struct gw_parts *parts)
{
    struct gw_client *client = parts->client;
    pthread_mutex_lock(&client->lock);
    bool last = --parts->refs == 0;
    if (last && parts->request)
        (void)gw_map_remove(&client->streams, parts->request);
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    gw_array_deinit(&parts->items);
    free(parts);
    gw_client_unref(client);
}

int gw_parts_register(struct gw_parts *parts, uint64_t request)
{
    struct gw_client *client = parts->client;
    pthread_mutex_lock(&client->lock);
    int rc = gw_map_put(&client->streams, request, (uintptr_t)parts);
    if (rc == 0)
        parts->request = request;
    pthread_mutex_unlock(&client->lock);
    return rc;
}

int gw_parts_add(struct gw_parts *parts, uint32_t row, struct gw_future_group *group)
{
    const struct gw_part part = {row, group};
    int rc = gw_array_push(&parts->items, part);
    if (rc == 0)
        parts->refs++;
    return rc;
}

/* Returns the index of the last part whose first row is at most `row`, or SIZE_MAX if there is
 * none. */
static size_t part_before(const struct gw_parts *parts, uint32_t row)
{
    size_t low = 0, high = parts->items.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts->items.items[middle].row <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

void gw_parts_remove(struct gw_parts *parts, uint32_t row)
{
    size_t at = part_before(parts, row);
    memmove(parts->items.items + at, parts->items.items + at + 1,
            (parts->items.count - at - 1) * sizeof *parts->items.items);
    parts->items.count--;
}

void gw_parts_opened(struct gw_client *client, const struct gw_msg_opened *opened)
{
    uint64_t found;
    if (!gw_map_get(&client->streams, opened->request, &found))
        return;
    ((struct gw_parts *)(uintptr_t)found)->job = opened->job;
    pthread_cond_broadcast(&client->answered);
}

struct gw_future_group *gw_parts_find(struct gw_client *client, uint64_t request, uint32_t row)
{
    uint64_t found;
    if (!gw_map_get(&client->streams, request, &found))
        return NULL;
    const struct gw_parts *parts = (const struct gw_parts *)(uintptr_t)found;
    size_t at = part_before(parts, row);
    return at == SIZE_MAX ? NULL : parts->items.items[at].group;
}
