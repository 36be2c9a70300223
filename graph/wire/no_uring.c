/* What a build without liburing has for a ring: none. */
#include "graph/wire/uring.h"

int gw_uring_open(uv_loop_t *loop, struct gw_error *error)
{
    (void)loop;
    return gw_error_set(error, GW_ENOTSUP, "built without liburing");
}

int gw_uring_run(uv_loop_t *loop, uv_run_mode mode)
{
    return uv_run(loop, mode);
}

void gw_uring_close(uv_loop_t *loop)
{
    (void)loop;
}
