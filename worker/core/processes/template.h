/* Placeholders in braces in a command's arguments: {index}, {rank} and others. */
#ifndef GW_WORKER_CORE_PROCESSES_TEMPLATE_H
#define GW_WORKER_CORE_PROCESSES_TEMPLATE_H

#include "worker/core/model/state.h"

#include <msgpack.h>

struct gw_template {
    const struct gw_attempt *run;   /* borrowed */
    msgpack_unpacked unpacked;      /* the task's arguments: [], [index] or [index, line] */
    const msgpack_object *index;    /* points into unpacked; NULL: not an element of an array job */
    const msgpack_object_str *line; /* points into unpacked; NULL: none */
};

void gw_template_init(struct gw_template *template, const struct gw_attempt *run);
void gw_template_deinit(struct gw_template *template);

/* gw_template_fills returns true if any placeholder has a value for this attempt. */
bool gw_template_fills(const struct gw_template *template);

/* gw_template_pack fills in the placeholders of a text and packs the result as a string. */
void gw_template_pack(const struct gw_template *template, msgpack_packer *packer, const char *text,
                      size_t bytes);

#endif
