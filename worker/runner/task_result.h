/* The encoded result of a task: in memory if it is small, in a memfd if it is large. */
#ifndef GW_RUNNER_RESULT_H
#define GW_RUNNER_RESULT_H

#include "graph/wire/message.h"

#include <gangway/value.h>

/* A memory file that the result may be written to (message memfile_given). */
struct gw_task_result_given {
    uint64_t memfile; /* 0: none */
    uint64_t bytes;   /* present size of the file */
    int fd;           /* owned; -1: the file must still be created */
};

struct gw_task_result {
    uint64_t bytes;   /* 0: nothing was returned */
    uint64_t memfile; /* the memory file of fd; 0: none */
    int fd;           /* -1: inline, in buffer */
    struct gw_task_result_given given;
    struct gw_buffer buffer; /* reused from task to task */
};

/* gw_task_result_init initialises a result. gw_task_result_deinit frees it and closes the
 * descriptors that were not taken. */
void gw_task_result_init(struct gw_task_result *result);
void gw_task_result_deinit(struct gw_task_result *result);

/* gw_task_result_clear empties the result, as before a task returned. */
void gw_task_result_clear(struct gw_task_result *result);

/* gw_task_result_give allows a large result to be written to a memory file, whose descriptor it
 * takes over, until gw_task_result_end_given. It replaces the data in the file if that has about
 * the same size. */
void gw_task_result_give(struct gw_task_result *result, struct gw_task_result_given given);
void gw_task_result_end_given(struct gw_task_result *result);

/* gw_task_result_set encodes a value (borrowed) and replaces an earlier one. More than
 * GW_INLINE_BYTES_MAX bytes are written to a memfd. If the value itself is of type bytes, it is
 * written without a copy. Returns GW_ENOMEM, GW_EINVAL (a reference) or GW_ELIMIT (4 GiB) and sets
 * the error if it fails. */
int gw_task_result_set(struct gw_task_result *result, const struct gw_value *value,
                       struct gw_error *error);

/* gw_task_result_decode decodes the result to a value. It is nil if nothing was returned. */
int gw_task_result_decode(const struct gw_task_result *result, struct gw_value **value,
                          struct gw_error *error);

#endif
