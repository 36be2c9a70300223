/* What stands in braces in a command's words: {index}, {rank} and others. */
#ifndef GW_WORKER_CORE_PROCESSES_TEMPLATE_H
#define GW_WORKER_CORE_PROCESSES_TEMPLATE_H

#include "worker/core/model/state.h"

#include <msgpack.h>

struct gw_template {
    const struct gw_attempt *run;   /* borrowed */
    msgpack_unpacked unpacked;      /* its arguments: [], or [index], or [index, line] */
    const msgpack_object *index;    /* in there; NULL: it is no element of many */
    const msgpack_object_str *line; /* likewise */
};

void gw_template_init(struct gw_template *template, const struct gw_attempt *run);
void gw_template_deinit(struct gw_template *template);

/* gw_template_fills tells whether any word in braces means something for this run. */
bool gw_template_fills(const struct gw_template *template);

/* gw_template_pack packs a text with what it knows filled in, as a string. */
void gw_template_pack(const struct gw_template *template, msgpack_packer *packer, const char *text,
                      size_t bytes);

#endif
