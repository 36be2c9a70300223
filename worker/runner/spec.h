/* What many tasks of a job share, as far as a runner needs it. */
#ifndef GW_RUNNER_SPEC_H
#define GW_RUNNER_SPEC_H

#include "graph/base/array.h"
#include "graph/wire/message.h"

#include <gangway/graph.h>

struct gw_spec {
    uint64_t job;
    uint32_t number;
    uint32_t ranks;
    uint64_t actor; /* as in the message */
    uint64_t output_bytes_max;
    uint64_t inactivity_timeout_ns;     /* the longest silence; 0: any */
    bool shown;                         /* what it prints is told */
    const struct gw_function *function; /* NULL: this program holds none of that name */
    char *name;
};

struct gw_specs {
    GW_ARRAY(struct gw_spec) list;
    size_t last; /* where the last one was found: mostly the next is the same */
};

/* gw_specs_add keeps a spec; one known already is replaced. 0 or GW_ENOMEM. */
int gw_specs_add(struct gw_specs *specs, const struct gw_msg_spec *spec);

/* gw_specs_find gives a spec, borrowed until the next add or forget; NULL: unknown. */
const struct gw_spec *gw_specs_find(struct gw_specs *specs, uint64_t job, uint32_t number);

/* gw_specs_forget drops those of a job. */
void gw_specs_forget(struct gw_specs *specs, uint64_t job);

#endif
