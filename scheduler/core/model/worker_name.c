/* Names of workers by their ids. Each is stored as "NAME\\0HOST" in one allocation. */
#include "scheduler/core/model/worker_name.h"

#include "graph/model/hostname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HOST_BYTES = 256 };

static char *find(const struct gw_sched *sched, uint32_t id)
{
    uint64_t found;
    return gw_map_get(&sched->worker_names, id, &found) ? (char *)(uintptr_t)found : NULL;
}

static void drop(struct gw_sched *sched, uint32_t id)
{
    free(find(sched, id));
    (void)gw_map_remove(&sched->worker_names, id);
}

static void fold(char *text)
{
    for (; *text; text++)
        *text = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;
}

/* How a name was used: as the name of a worker, or as the name of a host in lower case (WHOLE: the
 * full name, SHORT: the name without its domain, BARE: a name that has no domain). */
enum { NAME = 1, WHOLE = 2, SHORT = 4, BARE = 8 };

static void add(struct gw_sched *sched, const char *name, uint64_t how)
{
    uint64_t before = 0;
    (void)gw_strmap_get(&sched->names, name, &before);
    GW_MUST(gw_strmap_put(&sched->names, name, before | how));
}

static void add_host(struct gw_sched *sched, const char *host)
{
    char text[HOST_BYTES];
    (void)snprintf(text, sizeof text, "%s", host);
    fold(text);
    size_t bare = (size_t)gw_hostname_bare(text);
    add(sched, text, text[bare] ? WHOLE : WHOLE | BARE);
    text[bare] = '\0';
    add(sched, text, SHORT);
}

bool gw_sched_worker_name_was(const struct gw_sched *sched, const char *name)
{
    char text[HOST_BYTES];
    uint64_t how;
    if (gw_strmap_get(&sched->names, name, NULL))
        return true;
    (void)snprintf(text, sizeof text, "%s", name);
    fold(text);
    if (gw_strmap_get(&sched->names, text, &how) && how != NAME)
        return true;
    text[gw_hostname_bare(text)] = '\0';
    return gw_strmap_get(&sched->names, text, &how) && (how & BARE);
}

bool gw_sched_worker_name_is(const struct gw_worker *worker, const char *name)
{
    return strcmp(worker->remote->name, name) == 0 || gw_hostname_is(worker->host, name) ||
           (*worker->remote->address && strcasecmp(worker->remote->address, name) == 0);
}

void gw_sched_worker_name_add(struct gw_sched *sched, const struct gw_worker *worker)
{
    add(sched, worker->remote->name, NAME);
    add_host(sched, worker->host);
    if (*worker->remote->address)
        add_host(sched, worker->remote->address);
    size_t name_bytes = strlen(worker->remote->name) + 1, host_bytes = strlen(worker->host) + 1;
    char *both = malloc(name_bytes + host_bytes);
    GW_MUST_PTR(both);
    memcpy(both, worker->remote->name, name_bytes);
    memcpy(both + name_bytes, worker->host, host_bytes);
    drop(sched, worker->id);
    if (worker->id > GW_WORKER_NAMES_MAX)
        drop(sched, worker->id - GW_WORKER_NAMES_MAX);
    GW_MUST(gw_map_put(&sched->worker_names, worker->id, (uintptr_t)both));
}

void gw_sched_worker_names_deinit(struct gw_sched *sched)
{
    size_t at = 0;
    uint64_t id, name;
    while (gw_map_next(&sched->worker_names, &at, &id, &name))
        free((char *)(uintptr_t)name);
    gw_map_deinit(&sched->worker_names);
}

/* Returns true if another connected worker has the same name. */
static bool repeats(const struct gw_sched *sched, uint32_t id, const char *name)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->id != id && strcmp(worker->remote->name, name) == 0)
            return true;
    }
    return false;
}

const char *gw_sched_worker_name(const struct gw_sched *sched, uint32_t id,
                                 char text[static GW_WORKER_NAME_MAX])
{
    const char *name = find(sched, id);
    if (!name)
        (void)snprintf(text, GW_WORKER_NAME_MAX, "worker %u", id);
    else if (repeats(sched, id, name))
        (void)snprintf(text, GW_WORKER_NAME_MAX, "%.100s (worker %u)", name, id);
    else
        (void)snprintf(text, GW_WORKER_NAME_MAX, "%.100s", name);
    return text;
}

const char *gw_sched_worker_where(const struct gw_sched *sched, uint32_t id,
                                  char text[static GW_WORKER_NAME_MAX])
{
    const char *name = find(sched, id), *host = name ? name + strlen(name) + 1 : "";
    (void)gw_sched_worker_name(sched, id, text);
    size_t used = strlen(text);
    if (name && strcmp(name, host) != 0)
        (void)snprintf(text + used, GW_WORKER_NAME_MAX - used, " on %.100s", host);
    return text;
}
