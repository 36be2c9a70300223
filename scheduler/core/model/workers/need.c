/* Constraints on workers, and named resources.
 *
 * Invariant: the free amount of a named resource is what the worker offers less what the debits of
 * all its worker queues use. For a resource class with a constraint, placement checks only its
 * candidates, which are searched again after a worker has joined or left. A class without a
 * constraint never uses this file. */
#include "scheduler/core/model/workers/need.h"

#include "scheduler/core/model/user.h"
#include "scheduler/core/model/worker_name.h"
#include "scheduler/core/model/workers/gpu.h"
#include "scheduler/core/model/workers/lost_worker.h"
#include "scheduler/core/model/workers/queue.h"

#include "graph/base/text.h"
#include "scheduler/core/model/needed.h"

#include <gangway/options.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* -- Reading ---------------------------------------------------------------------------------- */

/* Adds the need of a task without a slot. */
static void add_slotless(struct gw_need *need)
{
    const uint32_t count = need->resources.count;
    struct gw_resource *items = gw_arena_alloc(&need->arena, (count + 1) * sizeof *items);
    GW_MUST_PTR(items);
    if (count)
        memcpy(items, need->resources.items, count * sizeof *items);
    items[count] = (struct gw_resource){GW_SLOTLESS, 1};
    need->resources = (struct gw_resources){items, count + 1};
}

int gw_sched_need_new(const struct gw_msg_spec *spec, struct gw_need **out, struct gw_error *error)
{
    struct gw_need read = {.refs = 1, .gpu_memory_bytes = spec->gpu_memory_bytes};
    struct gw_error why;
    const char *what = "resources";
    int rc = gw_resources_parse(spec->resources, &read.arena, &read.resources, &why);
    if (rc == 0) {
        what = "workers";
        rc = gw_places_parse(spec->workers, &read.arena, &read.places, &read.workers, &why);
    }
    if (rc == 0)
        rc = gw_places_check(&read.places,
                             &(struct gw_places_of){spec->ranks, spec->ranks_per_node,
                                                    spec->min_ranks, spec->spread,
                                                    spec->workers_prefer},
                             &why);
    if (rc == 0 && spec->slots == GW_NONE)
        add_slotless(&read);
    read.prefer = read.workers.count && spec->workers_prefer;
    if (rc < 0 || (!read.gpu_memory_bytes && !read.resources.count && !read.workers.count)) {
        gw_arena_deinit(&read.arena);
        *out = NULL;
        return rc < 0 ? gw_error_set(error, rc, "%s: %s", what, why.text) : 0;
    }
    struct gw_need *need = malloc(sizeof *need);
    GW_MUST_PTR(need);
    *need = read;
    *out = need;
    return 0;
}

struct gw_need *gw_sched_need_ref(struct gw_need *need)
{
    if (need)
        need->refs++;
    return need;
}

void gw_sched_need_unref(struct gw_need *need)
{
    if (!need || --need->refs > 0)
        return;
    gw_arena_deinit(&need->arena);
    free(need);
}

bool gw_sched_need_equal(const struct gw_need *a, const struct gw_need *b)
{
    if (!a || !b)
        return a == b;
    return a->gpu_memory_bytes == b->gpu_memory_bytes && a->prefer == b->prefer &&
           gw_resources_equal(&a->resources, &b->resources) &&
           gw_pairs_equal(&a->workers, &b->workers) && gw_places_equal(&a->places, &b->places);
}

/* -- Named resources -------------------------------------------------------------------------- */

int gw_sched_need_stock_check(const char *text)
{
    struct gw_arena arena = {0};
    struct gw_resources resources;
    int rc = gw_resources_parse(text, &arena, &resources, NULL);
    gw_arena_deinit(&arena);
    return rc < 0 ? GW_EPROTO : 0;
}

void gw_sched_need_stock_set(struct gw_worker *worker, const char *text)
{
    struct gw_resources resources;
    GW_MUST(gw_resources_parse(text, &worker->arena, &resources, NULL));
    worker->stock_count = resources.count + 1;
    worker->stock = gw_arena_alloc(&worker->arena, worker->stock_count * sizeof *worker->stock);
    GW_MUST_PTR(worker->stock);
    for (uint32_t i = 0; i < resources.count; i++)
        worker->stock[i] = (struct gw_stock){.name = resources.items[i].name,
                                             .amount = resources.items[i].amount,
                                             .free = resources.items[i].amount};
    worker->stock[resources.count] =
        (struct gw_stock){.name = GW_SLOTLESS, .amount = GW_SLOTLESS_MAX, .free = GW_SLOTLESS_MAX};
}

static struct gw_stock *stock_of(const struct gw_worker *worker, const char *name)
{
    for (uint32_t i = 0; i < worker->stock_count; i++)
        if (strcmp(worker->stock[i].name, name) == 0)
            return &worker->stock[i];
    return NULL;
}

uint32_t gw_sched_need_amount(const struct gw_need *need, const char *name)
{
    for (uint32_t i = 0; need && i < need->resources.count; i++)
        if (strcmp(need->resources.items[i].name, name) == 0)
            return need->resources.items[i].amount;
    return 0;
}

int64_t gw_sched_need_stock_left(const struct gw_worker *worker, const char *name)
{
    const struct gw_stock *stock = stock_of(worker, name);
    return stock ? (int64_t)stock->free - stock->over : 0;
}

void gw_sched_need_take(struct gw_worker *worker, const struct gw_need *need)
{
    for (uint32_t i = 0; i < need->resources.count; i++) {
        struct gw_stock *stock = stock_of(worker, need->resources.items[i].name);
        uint32_t amount = need->resources.items[i].amount;
        assert(stock);
        uint32_t taken = amount < stock->free ? amount : stock->free;
        stock->free -= taken;
        stock->over += amount - taken;
    }
}

void gw_sched_need_give(struct gw_worker *worker, const struct gw_need *need)
{
    for (uint32_t i = 0; i < need->resources.count; i++) {
        struct gw_stock *stock = stock_of(worker, need->resources.items[i].name);
        uint32_t amount = need->resources.items[i].amount;
        uint32_t owed = amount < stock->over ? amount : stock->over;
        stock->over -= owed;
        stock->free += amount - owed;
        assert(stock->free <= stock->amount);
    }
}

/* -- Suitable workers ------------------------------------------------------------------------- */

bool gw_sched_need_names(const struct gw_need *need, const struct gw_worker *worker)
{
    for (uint32_t i = 0; i < need->workers.count; i++)
        if (gw_sched_worker_name_is(worker, need->workers.items[i].name))
            return true;
    return false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool gw_sched_need_serves(const struct gw_worker *worker, const struct gw_resource_class *shape)
{
    return !shape->of_user || worker->all_users || worker->remote->owner == shape->uid;
}

int gw_sched_need_unserved(const struct gw_sched *sched, const struct gw_resource_class *shape,
                           struct gw_error *error)
{
    char user[GW_USER_NAME_MAX];
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY && gw_sched_need_serves(worker, shape))
            return 0;
    }
    if (sched->disconnected && sched->disconnected->count)
        return 0; /* a worker that may reconnect may serve the user */
    const char *name = gw_user_name(sched, shape->uid, user);
    return gw_error_set(error, GW_EINFEASIBLE,
                        "no worker runs tasks of user %s: start one with a token of this user "
                        "(`gangway token create --role worker --user %s`), or start workers with "
                        "--trust-users",
                        name, name);
}

uint64_t gw_sched_need_ranks(const struct gw_worker *worker, const struct gw_resource_class *shape,
                             bool ever)
{
    const struct gw_need *need = shape->need;
    uint64_t ranks = UINT64_MAX;
    if (!gw_sched_need_serves(worker, shape))
        return 0;
    if (need && need->workers.count && !need->prefer && !gw_sched_need_names(need, worker))
        return 0;
    if (gw_sched_queue_class_gpus(shape))
        ranks = gw_sched_gpu_ranks(worker, shape, ever);
    if (!need)
        return ranks;
    for (uint32_t i = 0; i < need->resources.count; i++) {
        const struct gw_stock *stock = stock_of(worker, need->resources.items[i].name);
        if (!stock)
            return 0;
        ranks =
            least(ranks, (ever ? stock->amount : stock->free) / need->resources.items[i].amount);
    }
    return ranks;
}

/* -- Texts ------------------------------------------------------------------------------------ */

void gw_sched_need_describe(const struct gw_need *need, char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, strlen(to)};
    if (!need)
        return;
    for (uint32_t i = 0; i < need->resources.count; i++)
        if (strcmp(need->resources.items[i].name, GW_SLOTLESS) != 0)
            gw_text_say(&text, ", %u of %s", need->resources.items[i].amount,
                        need->resources.items[i].name);
    for (uint32_t i = 0; i < need->places.count; i++)
        gw_text_say(&text, "%s %u on %s", i ? " and" : ",", need->places.items[i].ranks,
                    need->places.items[i].name);
    for (uint32_t i = 0; i < need->workers.count && !need->places.count; i++)
        gw_text_say(&text, "%s %s",
                    i              ? " or"
                    : need->prefer ? ", preferably on"
                                   : ", on",
                    need->workers.items[i].name);
}

static bool is_ready(const struct gw_sched *sched, const char *name)
{
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY && gw_sched_worker_name_is(worker, name))
            return true;
    }
    return false;
}

bool gw_sched_need_gone(const struct gw_sched *sched, const struct gw_need *need, char *to,
                        size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    if (bytes)
        *to = '\0';
    for (uint32_t i = 0; i < need->workers.count; i++)
        if (!is_ready(sched, need->workers.items[i].name))
            gw_text_say(&text, "%s%s", text.used ? " and " : "", need->workers.items[i].name);
    return text.used > 0;
}

static int unknown_name(const struct gw_sched *sched, const char *name, struct gw_error *error)
{
    char known[512];
    struct gw_text text = {known, sizeof known, 0};
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY)
            gw_text_say(&text, "%s%s on %s", text.used ? ", " : "", worker->remote->name,
                        worker->host);
    }
    return gw_error_set(error, GW_ENOENT,
                        "no worker or host is called %s: give another name (connected: %s)", name,
                        known);
}

int gw_sched_need_here(const struct gw_sched *sched, const struct gw_need *need,
                       struct gw_error *error)
{
    for (uint32_t i = 0; i < need->workers.count; i++)
        if (!is_ready(sched, need->workers.items[i].name))
            return unknown_name(sched, need->workers.items[i].name, error);
    return 0;
}

bool gw_sched_need_allows(const struct gw_need *need, const struct gw_worker *worker)
{
    return !need->workers.count || need->prefer || gw_sched_need_names(need, worker);
}

static int resource_missing(const struct gw_sched *sched, const struct gw_need *need,
                            const struct gw_resource *resource, struct gw_error *error)
{
    uint32_t most = 0;
    const char *who = need->workers.count && !need->prefer ? "none of its workers" : "no worker";
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        const struct gw_stock *stock =
            worker && worker->state == GW_WORKER_READY && gw_sched_need_allows(need, worker)
                ? stock_of(worker, resource->name)
                : NULL;
        if (stock && stock->amount > most)
            most = stock->amount;
    }
    if (most >= resource->amount)
        return 0;
    if (most == 0)
        return gw_error_set(error, GW_EINFEASIBLE,
                            "%s offers any of `%s` (`gangway up --resources` says what is offered)",
                            who, resource->name);
    return gw_error_set(error, GW_EINFEASIBLE, "%s offers %u of `%s`: the most is %u", who,
                        resource->amount, resource->name, most);
}

int gw_sched_need_missing(const struct gw_sched *sched, const struct gw_resource_class *shape,
                          struct gw_error *error)
{
    const struct gw_need *need = shape->need;
    char gone[64];
    for (uint32_t i = 0; i < need->workers.count && !need->prefer; i++) {
        const char *name = need->workers.items[i].name;
        if (!gw_sched_worker_name_was(sched, name))
            return unknown_name(sched, name, error);
    }
    if (!need->prefer && gw_sched_need_gone(sched, need, gone, sizeof gone))
        return 0;
    for (uint32_t i = 0; i < need->resources.count; i++) {
        int rc = resource_missing(sched, need, &need->resources.items[i], error);
        if (rc < 0)
            return rc;
    }
    return 0;
}
