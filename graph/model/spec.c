/* Compares and copies specs. */
#include "graph/model/spec.h"

#include "graph/base/options_read.h"

#include <string.h>

int gw_spec_set_options(struct gw_graph_spec *spec, const struct gw_task_options *options,
                        struct gw_error *error)
{
    int rc = GW_OPTIONS_READ(&spec->options, options, gw_task_options, error);
    if (rc == 0)
        rc = GW_OPTIONS_READ_RESERVED(&spec->options.gang, gw_gang_options, error);
    if (rc == 0)
        rc = GW_OPTIONS_READ_RESERVED(&spec->options.gpu, gw_gpu_options, error);
    if (spec->options.inactivity_timeout_ns == GW_FOREVER)
        spec->options.inactivity_timeout_ns = 0;
    spec->options.struct_size = 0; /* specs of options that are all defaults are equal */
    return rc;
}

static uint64_t hash_number(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash_number(hash, text != NULL);
}

static uint64_t hash_texts(uint64_t hash, const char *const *texts)
{
    for (; texts && *texts; texts++)
        hash = hash_text(hash, *texts);
    return hash_number(hash, texts != NULL);
}

uint64_t gw_spec_hash(const struct gw_graph_spec *spec)
{
    const struct gw_task_options *o = &spec->options;
    uint64_t numbers[] = {spec->kind,
                          o->ranks,
                          (uint32_t)o->gpu.count,
                          o->slots,
                          o->retries,
                          (uint32_t)o->priority,
                          o->memory_bytes,
                          o->time_limit_ns,
                          o->grace_ns,
                          o->gang.fail_grace_ns,
                          o->output_bytes_max,
                          o->gpu.memory_bytes,
                          (uint64_t)(o->gpu.fraction * 1000),
                          o->gpu.isolate,
                          o->inactivity_timeout_ns,
                          o->backoff_ns,
                          o->workers_prefer,
                          o->pure,
                          o->worker_losses_max,
                          o->preemptions_max,
                          o->gang.hang_timeout_ns,
                          spec->env_templates,
                          spec->held_output,
                          spec->input,
                          o->gang.ranks_per_node,
                          o->gang.spread,
                          o->gang.min_ranks,
                          o->gang.full_size_timeout_ns,
                          o->gpu.unbound,
                          o->signal,
                          o->until_step};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = hash_number(hash, numbers[i]);
    hash = hash_text(hash, spec->function ? spec->function->name : NULL);
    hash = hash_texts(hash, spec->argv);
    hash = hash_texts(hash, spec->env);
    hash = hash_texts(hash, spec->epilog);
    hash = hash_texts(hash, o->files);
    hash = hash_text(hash, o->resources);
    hash = hash_text(hash, o->workers);
    hash = hash_text(hash, o->annotations);
    hash = hash_text(hash, o->metrics);
    return hash_text(hash, spec->cwd);
}

static bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool texts_equal(const char *const *a, const char *const *b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b; /* equal if both are NULL */
}

bool gw_spec_equal(const struct gw_graph_spec *a, const struct gw_graph_spec *b)
{
    const struct gw_task_options *x = &a->options, *y = &b->options;
    return a->kind == b->kind && a->function == b->function && x->ranks == y->ranks &&
           x->gpu.count == y->gpu.count && x->slots == y->slots &&
           x->memory_bytes == y->memory_bytes && x->priority == y->priority &&
           x->retries == y->retries && x->time_limit_ns == y->time_limit_ns &&
           x->grace_ns == y->grace_ns && x->gang.fail_grace_ns == y->gang.fail_grace_ns &&
           x->output_bytes_max == y->output_bytes_max &&
           x->gpu.memory_bytes == y->gpu.memory_bytes && x->gpu.fraction == y->gpu.fraction &&
           x->gpu.isolate == y->gpu.isolate &&
           x->inactivity_timeout_ns == y->inactivity_timeout_ns && x->backoff_ns == y->backoff_ns &&
           x->workers_prefer == y->workers_prefer && x->pure == y->pure &&
           x->worker_losses_max == y->worker_losses_max &&
           x->preemptions_max == y->preemptions_max &&
           x->gang.hang_timeout_ns == y->gang.hang_timeout_ns &&
           x->gang.ranks_per_node == y->gang.ranks_per_node && x->gang.spread == y->gang.spread &&
           x->gang.min_ranks == y->gang.min_ranks &&
           x->gang.full_size_timeout_ns == y->gang.full_size_timeout_ns && x->signal == y->signal &&
           x->gpu.unbound == y->gpu.unbound && a->env_templates == b->env_templates &&
           a->held_output == b->held_output && a->input == b->input &&
           text_equal(x->resources, y->resources) && text_equal(x->workers, y->workers) &&
           x->until_step == y->until_step && text_equal(x->metrics, y->metrics) &&
           text_equal(x->annotations, y->annotations) && texts_equal(x->files, y->files) &&
           texts_equal(a->argv, b->argv) && texts_equal(a->env, b->env) &&
           text_equal(a->cwd, b->cwd);
}

static int copy_texts(struct gw_arena *arena, const char *const *texts, const char *const **copy)
{
    if (!texts)
        return 0;
    size_t count = 0;
    while (texts[count])
        count++;
    char **made = gw_arena_alloc(arena, (count + 1) * sizeof *made);
    if (!made)
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        made[i] = gw_arena_strdup(arena, texts[i]);
        if (!made[i])
            return GW_ENOMEM;
    }
    *copy = (const char *const *)made;
    return 0;
}

static int copy_text(struct gw_arena *arena, const char *text, const char **copy)
{
    if (!text)
        return 0;
    *copy = gw_arena_strdup(arena, text);
    return *copy ? 0 : GW_ENOMEM;
}

int gw_spec_copy(struct gw_arena *arena, const struct gw_graph_spec *spec,
                 struct gw_graph_spec *copy)
{
    struct gw_graph_spec made = *spec;
    made.options.name = NULL;
    const struct gw_task_options *options = &spec->options;
    if (copy_texts(arena, spec->argv, &made.argv) < 0 ||
        copy_texts(arena, spec->env, &made.env) < 0 ||
        copy_texts(arena, spec->epilog, &made.epilog) < 0 ||
        copy_texts(arena, options->files, &made.options.files) < 0 ||
        copy_text(arena, spec->cwd, &made.cwd) < 0 ||
        copy_text(arena, options->resources, &made.options.resources) < 0 ||
        copy_text(arena, options->workers, &made.options.workers) < 0 ||
        copy_text(arena, options->annotations, &made.options.annotations) < 0 ||
        copy_text(arena, options->metrics, &made.options.metrics) < 0)
        return GW_ENOMEM;
    *copy = made;
    return 0;
}
