/* Annotations of tasks. A job keeps them as the text that the client sent. The text is parsed again
 * for each query. */
#include "scheduler/core/requests/annotation.h"

#include "graph/model/pairs.h"

#include <string.h>

enum { SPECS_READ_MAX = 16 };

int gw_sched_annotation_check(const struct gw_msg_spec *spec, struct gw_error *error)
{
    struct gw_arena arena = {0};
    struct gw_pairs pairs;
    struct gw_error why;
    int rc = gw_pairs_parse(spec->annotations, &arena, &pairs, &why);
    gw_arena_deinit(&arena);
    return rc < 0 ? gw_error_set(error, rc, "annotations: %s", why.text) : 0;
}

struct gw_value *gw_sched_annotations(const struct gw_job *job, uint32_t first, uint32_t count)
{
    struct gw_value *dict = gw_dict();
    GW_MUST_PTR(dict);
    for (uint32_t i = first; i < first + count && i < first + SPECS_READ_MAX; i++) {
        struct gw_arena arena = {0};
        struct gw_pairs pairs;
        const char *text = job->specs.items[i].message.annotations;
        if (!text || !*text)
            continue;
        /* Cannot fail: the text was checked at submission. */
        GW_MUST(gw_pairs_parse(text, &arena, &pairs, NULL));
        for (uint32_t k = 0; k < pairs.count; k++)
            if (!gw_value_find(dict, pairs.items[k].name))
                GW_MUST(gw_dict_set(dict, pairs.items[k].name, gw_str(pairs.items[k].value)));
        gw_arena_deinit(&arena);
    }
    return dict;
}

static bool has_all(const char *text, const struct gw_value *where)
{
    struct gw_arena arena = {0};
    struct gw_pairs pairs;
    bool all = true;
    GW_MUST(gw_pairs_parse(text, &arena, &pairs, NULL));
    for (size_t i = 0; i < gw_value_count(where) && all; i++) {
        const char *wanted = NULL, *value = gw_pairs_find(&pairs, gw_value_key(where, i));
        all = gw_value_get_str(gw_value_at(where, i), &wanted, NULL) == 0 && value &&
              strcmp(value, wanted) == 0;
    }
    gw_arena_deinit(&arena);
    return all;
}

bool gw_sched_annotation_has(const struct gw_job *job, const struct gw_value *where)
{
    for (size_t i = 0; i < job->specs.count; i++)
        if (has_all(job->specs.items[i].message.annotations, where))
            return true;
    return false;
}
