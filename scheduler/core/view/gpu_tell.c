/* Describes GPUs for people: what is missing, what a task waits for, the use of each GPU, and which
 * tasks own it. */
#include "graph/base/text.h"
#include "graph/value/value.h"
#include "scheduler/core/model/model.h"

#include <stdio.h>

void gw_sched_gpu_tell_why(const struct gw_sched *sched, const struct gw_resource_class *shape,
                           char *to, size_t bytes)
{
    struct gw_text text = {to, bytes, 0};
    uint32_t instances = sched->instances_free;
    *to = '\0';
    if (gw_sched_queue_class_gpus(shape) == 0)
        return;
    uint32_t drained = gw_sched_gpu_text_drained(sched);
    gw_text_say(&text, ", %u of %u GPUs", sched->gpus_free, sched->gpus - drained);
    if (drained)
        gw_text_say(&text, " (%u more %s drained)", drained, drained == 1 ? "is" : "are");
    if (shape->on_instances)
        gw_text_say(
            &text,
            " (%u of them MIG instances, which its ranks get because there are too few whole GPUs)",
            instances);
    else if (instances && (gw_sched_gpu_has_kind(shape) || gw_sched_queue_class_gpus(shape) > 1))
        gw_text_say(&text, " (%u of them %s, but it needs whole GPUs)", instances,
                    instances == 1 ? "is a MIG instance" : "are MIG instances");
}

/* Returns the first GPU of an attempt that its worker still clears and does not give to the attempt
 * yet, or NULL. */
static const struct gw_gpu *clearing(const struct gw_sched *sched, uint32_t slot)
{
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX; i++)
        if (sched->attempts.items[slot].worker->gpus[i].clearing)
            return &sched->attempts.items[slot].worker->gpus[i];
    return NULL;
}

void gw_sched_gpu_tell_clearing(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, struct gw_text *text)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
    const struct gw_gpu *gpu = NULL;
    uint32_t slot = gang ? GW_NO_INDEX : gw_sched_attempt_find(sched, job->tasks.attempt[row]);
    if (slot != GW_NO_INDEX)
        gpu = clearing(sched, slot);
    for (uint32_t i = 0; gang && gang->state != GW_GANG_RUNNING && i < gang->count && !gpu; i++)
        if (gang->ranks[i].slot != GW_NO_INDEX)
            gpu = clearing(sched, gang->ranks[i].slot);
    if (gpu)
        gw_text_say(text,
                    "; it starts when the memory that the last task used on GPU %s is free (%.1f "
                    "GiB are in use; after 10 s the GPU is drained)",
                    gpu->uuid, (double)gpu->used_bytes / (1 << 30));
}

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

/* Sets the users whose tasks have a GPU, as in "alice, bob", and for how long the GPU has been idle
 * while they had it. An idle time of 0 is left out. */
static void tell_users(const struct gw_sched *sched, const struct gw_worker *worker,
                       uint32_t number, struct gw_value *dict)
{
    const struct gw_gpu *gpu = &worker->gpus[number];
    char users[256] = "", name[GW_USER_NAME_MAX];
    struct gw_text text = {users, sizeof users, 0};
    uint64_t held_ns = 0;
    uint32_t last = UINT32_MAX;
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->gpus || gw_sched_gpu_next(sched, slot, number) != number)
            continue;
        if (sched->now_ns - attempt->placed_ns > held_ns)
            held_ns = sched->now_ns - attempt->placed_ns;
        if (attempt->job->uid != last || !*users)
            gw_text_say(&text, "%s%s", *users ? ", " : "",
                        gw_user_name(sched, attempt->job->uid, name));
        last = attempt->job->uid;
    }
    set(dict, "users", gw_str(users));
    if (!*users || !gpu->idle_since_ns)
        return;
    const uint64_t idle_ns = sched->now_ns - gpu->idle_since_ns;
    set(dict, "idle_ns", gw_i64((int64_t)(idle_ns < held_ns ? idle_ns : held_ns)));
}

/* Returns the owners of a GPU as a list of {"job", "task", "rank"}. Also writes them into `text`,
 * as in "7/0 rank 1, 8/2". */
static struct gw_value *owners(const struct gw_sched *sched, const struct gw_worker *worker,
                               uint32_t number, char *text, size_t bytes)
{
    struct gw_value *list = gw_list();
    size_t used = 0;
    *text = '\0';
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->gpus || gw_sched_gpu_next(sched, slot, number) != number)
            continue;
        struct gw_value *owner = gw_dict();
        set(owner, "job", gw_i64((int64_t)attempt->job->id));
        set(owner, "task", gw_i64(attempt->index));
        if (used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%llu/%u", used ? ", " : "",
                                     (unsigned long long)attempt->job->id, attempt->index);
        if (attempt->gang)
            set(owner, "rank", gw_i64(attempt->rank));
        if (attempt->gang && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, " rank %u", attempt->rank);
        GW_MUST(gw_list_push(list, owner));
    }
    return list;
}

static const char *state_of(const struct gw_gpu *gpu)
{
    if (gpu->twin != GW_NO_INDEX)
        return "elsewhere";
    if (gw_sched_gpu_why_drained(gpu))
        return "drained";
    if (gpu->clearing)
        return "clearing";
    if (gw_sched_gpu_free(gpu))
        return "free";
    return gpu->slot == GW_NO_INDEX ? "shared" : "used";
}

void gw_sched_gpu_tell_push(const struct gw_sched *sched, const struct gw_worker *worker,
                            struct gw_value *list)
{
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        struct gw_value *dict = gw_dict();
        char who[256], power[24], name[GW_WORKER_NAME_MAX];
        const char *why = gw_sched_gpu_why_drained(gpu);
        (void)snprintf(power, sizeof power, "%u W", (gpu->power_mw + 500) / 1000);
        set(dict, "worker", gw_i64(worker->id));
        set(dict, "worker_name", gw_str(worker->remote->name));
        set(dict, "host", gw_str(worker->host));
        set(dict, "number", gw_i64(i));
        set(dict, "name", gw_str(gpu->name));
        set(dict, "uuid", gw_str(gpu->uuid));
        set(dict, "physical_gpu", gw_str(gpu->physical_gpu));
        set(dict, "cpus", gw_str(gpu->cpus));
        set(dict, "memory_bytes", gw_i64((int64_t)gpu->memory_bytes));
        set(dict, "used_bytes", gw_i64((int64_t)gpu->used_bytes));
        set(dict, "processes", gw_i64(gpu->processes));
        set(dict, "power", gw_str(gpu->power_mw ? power : "-"));
        set(dict, "power_w", gw_f64(gpu->power_mw / 1000.0));
        set(dict, "busy_percent", gw_i64(gpu->busy_percent));
        set(dict, "nvlink_domain", gw_i64(gpu->nvlink_domain));
        set(dict, "bridge", gw_i64(gpu->bridge));
        set(dict, "numa_node", gw_i64(gpu->numa_node));
        set(dict, "free", gw_bool(gw_sched_gpu_free(gpu)));
        set(dict, "shared", gw_f64(gpu->shared / (double)GW_GPU_WHOLE));
        tell_users(sched, worker, i, dict);
        set(dict, "state", gw_str(state_of(gpu)));
        set(dict, "drained", gw_str(why ? why : ""));
        set(dict, "given_back", gw_str(gpu->back ? gpu->back : ""));
        set(dict, "used_by", owners(sched, worker, i, who, sizeof who));
        uint64_t left_ns = gw_sched_gpu_twin_left_ns(sched, worker, gpu);
        char left[GW_TEXT_DURATION_ROOM];
        if (left_ns)
            (void)snprintf(
                who, sizeof who, "%s was lost, and its processes may use the GPU for up to %s more",
                gw_sched_worker_where(sched, gpu->twin, name), gw_text_duration(left_ns, left));
        else if (gpu->twin != GW_NO_INDEX)
            (void)snprintf(who, sizeof who, "%s offered the GPU first and gives it to its tasks",
                           gw_sched_worker_where(sched, gpu->twin, name));
        else if (!*who && gpu->back)
            (void)snprintf(who, sizeof who, "%s", gpu->back);
        set(dict, "by", gw_str(why && gpu->twin == GW_NO_INDEX ? why : who));
        GW_MUST(gw_list_push(list, dict));
    }
}

/* -- Use of GPUs --------------------------------------------------------------------------------
 */

struct use {
    uint64_t used_bytes, memory_bytes, power_mw, busy_percent;
    uint32_t count;
};

static void use_add(struct use *use, const struct gw_gpu *gpu)
{
    use->used_bytes += gpu->used_bytes;
    use->memory_bytes += gpu->memory_bytes;
    use->power_mw += gpu->power_mw;
    use->busy_percent += gpu->busy_percent;
    use->count++;
}

static void use_write(const struct use *use, struct gw_value *dict, const char *prefix)
{
    char key[32], text[24];
    (void)snprintf(key, sizeof key, "%smemory_bytes", prefix);
    set(dict, key, gw_i64((int64_t)use->memory_bytes));
    (void)snprintf(key, sizeof key, "%sused_bytes", prefix);
    set(dict, key, gw_i64((int64_t)use->used_bytes));
    (void)snprintf(key, sizeof key, "%sbusy_percent", prefix);
    set(dict, key, gw_i64((int64_t)(use->busy_percent / use->count)));
    (void)snprintf(key, sizeof key, "%spower_w", prefix);
    set(dict, key, gw_f64((double)use->power_mw / 1000));
    (void)snprintf(key, sizeof key, "%spower", prefix);
    (void)snprintf(text, sizeof text, "%llu W", (unsigned long long)(use->power_mw + 500) / 1000);
    set(dict, key, gw_str(use->power_mw ? text : "-"));
}

/* Returns the use of all GPUs of a task or rank. A shared GPU counts with its total use, because
 * the use of each sharing task is not known. */
static struct gw_value *use_of(const struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    struct gw_value *dict = gw_dict();
    char numbers[128] = "", name[GW_WORKER_NAME_MAX];
    struct gw_text text = {numbers, sizeof numbers, 0};
    struct use use = {0};
    for (uint32_t i = 0; (i = gw_sched_gpu_next(sched, slot, i)) != GW_NO_INDEX; i++) {
        gw_text_say(&text, "%s%u", use.count ? "," : "", i);
        use_add(&use, &attempt->worker->gpus[i]);
    }
    if (attempt->gpu_fraction)
        gw_text_say(&text, " (%g of it)", attempt->gpu_fraction / (double)GW_GPU_WHOLE);
    set(dict, "job", gw_i64((int64_t)attempt->job->id));
    set(dict, "task", gw_i64(attempt->index));
    if (attempt->gang)
        set(dict, "rank", gw_i64(attempt->rank));
    set(dict, "worker", gw_str(gw_sched_worker_name(sched, attempt->worker->id, name)));
    set(dict, "gpus", gw_str(numbers));
    use_write(&use, dict, "");
    return dict;
}

void gw_sched_gpu_tell_use(const struct gw_sched *sched, struct gw_value *dict)
{
    struct use all = {0};
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY || !worker->gpu_count)
            continue;
        for (uint32_t k = 0; k < worker->gpu_count; k++)
            if (worker->gpus[k].twin == GW_NO_INDEX)
                use_add(&all, &worker->gpus[k]);
        for (uint32_t slot = worker->first;
             slot != GW_NO_INDEX && gw_value_count(list) < GW_GPU_USE_MAX;
             slot = sched->attempts.items[slot].next)
            if (sched->attempts.items[slot].gpus)
                GW_MUST(gw_list_push(list, use_of(sched, slot)));
    }
    if (all.count)
        use_write(&all, dict, "gpus_");
    set(dict, "gpu_use", list);
}
