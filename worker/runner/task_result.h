/* What a task returned, encoded: small in memory, large in a memfd. */
#ifndef GW_RUNNER_RESULT_H
#define GW_RUNNER_RESULT_H

#include "graph/wire/message.h"

#include <gangway/value.h>

/* A memory file that the result may be written into (memfile_given). */
struct gw_task_result_given {
    uint64_t memfile; /* 0: there is none */
    uint64_t bytes;   /* that it has */
    int fd;           /* owned; -1: it is still to be made */
};

struct gw_task_result {
    uint64_t bytes;   /* 0: nothing was returned */
    uint64_t memfile; /* the one that fd is of; 0: of none */
    int fd;           /* -1: inline, in buffer */
    struct gw_task_result_given given;
    struct gw_buffer buffer; /* kept from task to task */
};

/* gw_task_result_init and gw_task_result_deinit; deinit closes what was not taken. */
void gw_task_result_init(struct gw_task_result *result);
void gw_task_result_deinit(struct gw_task_result *result);

/* gw_task_result_clear makes it empty, as before a task returned. */
void gw_task_result_clear(struct gw_task_result *result);

/* gw_task_result_give lets a large one be written into a memory file (takes its descriptor), until
 * gw_task_result_end_given: in place of what lies there, where that is about as large. */
void gw_task_result_give(struct gw_task_result *result, struct gw_task_result_given given);
void gw_task_result_end_given(struct gw_task_result *result);

/* gw_task_result_set encodes a value (borrowed), in place of an earlier one. More than
 * GW_INLINE_BYTES_MAX bytes go to a memfd; bytes at the top are written there without a copy
 * between. GW_ENOMEM, GW_EINVAL (a reference), GW_ELIMIT (4 GiB), with a text. */
int gw_task_result_set(struct gw_task_result *result, const struct gw_value *value,
                       struct gw_error *error);

/* gw_task_result_decode makes a value of it again; nil where nothing was returned. */
int gw_task_result_decode(const struct gw_task_result *result, struct gw_value **value,
                          struct gw_error *error);

#endif
