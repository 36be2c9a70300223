/* The connection to the scheduler for a task's own client. */
#include "worker/runner/task_link.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *copy_of(struct gw_bin bin)
{
    uint8_t *copy = malloc(bin.size + 1);
    if (copy && bin.size)
        memcpy(copy, bin.data, bin.size);
    return copy;
}

int gw_task_link_take(struct gw_task_link *link, const struct gw_msg_task_linked *linked, int fd,
                      struct gw_error *error)
{
    if (linked->code < 0 || fd < 0)
        return gw_error_set(error, linked->code < 0 ? linked->code : GW_EPROTO, "%s", linked->text);
    uint8_t *program = copy_of(linked->program), *env = copy_of(linked->env);
    if (!program || !env) {
        free(program);
        free(env);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *link = (struct gw_task_link){.fd = fd,
                                  .program = program,
                                  .program_bytes = linked->program.size,
                                  .env = env,
                                  .env_bytes = linked->env.size};
    return 0;
}
