/* Specs: what many tasks of a job share, as far as a runner needs it. */
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
    uint64_t until_step;                /* as in the message */
    uint64_t inactivity_timeout_ns;     /* inactivity timeout; 0: none */
    bool shown;                         /* the output of the tasks is sent to the client */
    const struct gw_function *function; /* NULL: this program has no such function */
    char *name;
};

struct gw_specs {
    GW_ARRAY(struct gw_spec) list;
    size_t last; /* index of the last one found, since the next is mostly the same */
};

/* gw_specs_add stores a spec and replaces an older one of the same number. Returns 0 or GW_ENOMEM.
 */
int gw_specs_add(struct gw_specs *specs, const struct gw_msg_spec *spec);

/* gw_specs_find returns a spec, valid until the next add or forget. NULL: unknown. */
const struct gw_spec *gw_specs_find(struct gw_specs *specs, uint64_t job, uint32_t number);

/* gw_specs_forget removes the specs of a job. */
void gw_specs_forget(struct gw_specs *specs, uint64_t job);

#endif
