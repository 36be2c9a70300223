/* Specs of the jobs that this runner executes. There are few at a time, so a list is enough. */
#include "worker/runner/spec.h"

#include "graph/wire/enums.h"

#include <gangway/task.h>

#include <stdlib.h>
#include <string.h>

const struct gw_spec *gw_specs_find(struct gw_specs *specs, uint64_t job, uint32_t number)
{
    size_t count = specs->list.count;
    for (size_t i = 0, at = specs->last; i < count; i++, at++) {
        at = at < count ? at : 0;
        const struct gw_spec *spec = &specs->list.items[at];
        if (spec->job == job && spec->number == number) {
            specs->last = at;
            return spec;
        }
    }
    return NULL;
}

static void remove_at(struct gw_specs *specs, size_t i)
{
    free(specs->list.items[i].name);
    gw_array_remove_swap(&specs->list, i);
    specs->last = 0;
}

int gw_specs_add(struct gw_specs *specs, const struct gw_msg_spec *message)
{
    const struct gw_spec *known = gw_specs_find(specs, message->key, message->number);
    if (known)
        remove_at(specs, (size_t)(known - specs->list.items));
    struct gw_spec spec = {
        .job = message->key,
        .number = message->number,
        .ranks = message->ranks,
        .actor = message->actor,
        .output_bytes_max = message->output_bytes_max,
        .inactivity_timeout_ns = message->inactivity_timeout_ns,
        .until_step = message->until_step,
        .shown = (message->streams & GW_STREAM_SHOWN) != 0,
        .function = gw_function_find(message->function),
        .name = strdup(message->function),
    };
    if (!spec.name || gw_array_push(&specs->list, spec) < 0) {
        free(spec.name);
        return GW_ENOMEM;
    }
    return 0;
}

void gw_specs_forget(struct gw_specs *specs, uint64_t job)
{
    for (size_t i = specs->list.count; i-- > 0;)
        if (specs->list.items[i].job == job)
            remove_at(specs, i);
}
