#include "graph/model/options.h"

#include "graph/base/arena.h"
#include "graph/base/text.h"
#include "graph/model/places.h"
#include "graph/model/resources.h"
#include "graph/wire/enums.h"

#include <limits.h>
#include <string.h>

/* Checks the options that are lists in a text: resources, workers, annotations. */
static int check_texts(const struct gw_task_options *options, const char *what,
                       struct gw_error *error)
{
    if (!options->resources && !options->workers && !options->annotations)
        return 0;
    struct gw_arena arena = {0};
    struct gw_resources resources;
    struct gw_places places;
    struct gw_pairs pairs;
    struct gw_error why;
    const char *option = "resources";
    int rc = gw_resources_parse(options->resources, &arena, &resources, &why);
    if (rc == 0) {
        option = "workers";
        rc = gw_places_parse(options->workers, &arena, &places, &pairs, &why);
    }
    if (rc == 0)
        rc = gw_places_check(&places,
                             &(struct gw_places_of){options->ranks, options->gang.ranks_per_node,
                                                    options->gang.min_ranks, options->gang.spread,
                                                    options->workers_prefer},
                             &why);
    if (rc == 0) {
        option = "annotations";
        rc = gw_pairs_parse(options->annotations, &arena, &pairs, &why);
    }
    gw_arena_deinit(&arena);
    return rc < 0 ? gw_error_set(error, rc, "%s: %s: %s", what, option, why.text) : 0;
}

/* Checks a list like "loss,accuracy". */
static int check_metrics(const char *metrics, const char *what, struct gw_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-|";
    uint32_t count = 0;
    for (const char *at = metrics; at; count++) {
        const size_t bytes = strspn(at, letters);
        if (bytes == 0 || bytes >= GW_METRIC_NAME_BYTES || (at[bytes] && at[bytes] != ','))
            return gw_error_set(error, GW_EINVAL,
                                "%s: metrics: \"%.200s\": the name of a metric in the output has 1 "
                                "to %d letters, digits or characters of _-|",
                                what, at, GW_METRIC_NAME_BYTES - 1);
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    if (count > GW_METRICS_READ_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: %u metrics: at most %d are read from the output",
                            what, count, GW_METRICS_READ_MAX);
    return 0;
}

int gw_options_check_name(const char *name, const char *of, struct gw_error *error)
{
    size_t bytes = name ? strlen(name) : 0;
    if (bytes > GW_NAME_BYTES_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "the name of a %s has %zu bytes, and may have %d: give it a shorter "
                            "one (annotations may be longer)",
                            of, bytes, GW_NAME_BYTES_MAX);
    if (name && !gw_text_is_line(name, bytes))
        return gw_error_set(error, GW_EINVAL,
                            "the name of a %s is one line of text, in UTF-8, without control "
                            "characters: give it another one",
                            of);
    return 0;
}

int gw_options_check(const struct gw_task_options *options, const char *what,
                     struct gw_error *error)
{
    if (options->gpu.count < GW_GPU_IF_ANY)
        return gw_error_set(error, GW_EINVAL,
                            "%s: gpu.count is %d, but must be 0 or more, or GW_GPU_IF_ANY", what,
                            options->gpu.count);
    if (options->slots == GW_NONE &&
        (options->gpu.count || options->gpu.fraction != 0 || options->ranks))
        return gw_error_set(error, GW_EINVAL,
                            "%s: a task without a slot can have no GPUs and cannot be a gang: give "
                            "it a slot",
                            what);
    if (options->ranks > INT32_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: %u ranks", what, options->ranks);
    if (options->name && !*options->name)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the name of the task is empty: give a name, or NULL", what);
    if (gw_options_check_name(options->name, "task", error) < 0)
        return GW_EINVAL;
    if (options->retries > GW_RETRIES_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: retries is %u, and %d is the most", what,
                            options->retries, GW_RETRIES_MAX);
    if (options->gpu.fraction != 0 &&
        !(options->gpu.fraction >= 0.001 && options->gpu.fraction <= 0.999))
        return gw_error_set(error, GW_EINVAL,
                            "%s: gpu.fraction is %g: 0.001 to 0.999 of a GPU (gpu.count = 1 is all "
                            "of one)",
                            what, options->gpu.fraction);
    if (options->gpu.fraction != 0 && options->gpu.count != 0)
        return gw_error_set(error, GW_EINVAL, "%s: set gpu.fraction or gpu.count, not both", what);
    if (options->gpu.memory_bytes && options->gpu.count == 0 && options->gpu.fraction == 0)
        return gw_error_set(error, GW_EINVAL,
                            "%s: gpu.memory_bytes needs gpu.count or gpu.fraction: set one of them",
                            what);
    if (options->ranks == 0 && (options->gang.ranks_per_node || options->gang.spread))
        return gw_error_set(error, GW_EINVAL,
                            "%s: gang.ranks_per_node and gang.spread are only for gangs: set ranks",
                            what);
    if (options->gang.ranks_per_node && options->gang.spread)
        return gw_error_set(error, GW_EINVAL,
                            "%s: set gang.ranks_per_node or gang.spread, not both", what);
    if (options->gang.ranks_per_node && options->ranks % options->gang.ranks_per_node)
        return gw_error_set(error, GW_EINVAL,
                            "%s: %u ranks are not a multiple of gang.ranks_per_node, which is %u",
                            what, options->ranks, options->gang.ranks_per_node);
    if (options->gang.min_ranks > options->ranks)
        return gw_error_set(error, GW_EINVAL, "%s: gang.min_ranks is %u, but the gang has %u ranks",
                            what, options->gang.min_ranks, options->ranks);
    if (options->gang.ranks_per_node && options->gang.ranks_per_node != options->ranks &&
        options->gang.min_ranks % options->gang.ranks_per_node)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: gang.min_ranks %u is not a multiple of gang.ranks_per_node, which is %u", what,
            options->gang.min_ranks, options->gang.ranks_per_node);
    if (options->gang.full_size_timeout_ns && options->gang.min_ranks == 0)
        return gw_error_set(error, GW_EINVAL, "%s: gang.full_size_timeout_ns needs gang.min_ranks",
                            what);
    if (options->gpu.isolate && options->ranks == 0)
        return gw_error_set(error, GW_EINVAL, "%s: gpu.isolate is only for gangs", what);
    if (options->signal > GW_SIGNAL_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: there is no signal %u", what, options->signal);
    const int rc = check_metrics(options->metrics, what, error);
    return rc < 0 ? rc : check_texts(options, what, error);
}
