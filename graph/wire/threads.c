/* The threads of libuv's pool. */
#include "graph/wire/threads.h"

#include "graph/base/must.h"

#include <stdlib.h>

enum { THREADS = 4 }; /* libuv's default */

static void try_on_thread(void *arg)
{
    uv_sem_wait(arg);
}

int gw_threads_try(struct gw_error *error)
{
    uv_thread_t threads[THREADS];
    uv_sem_t go; /* posted when all of them exist at the same time */
    int made = 0;
    int rc = uv_sem_init(&go, 0);
    GW_MUST(rc);
    while (rc == 0 && made < THREADS) {
        rc = uv_thread_create(&threads[made], try_on_thread, &go);
        made += rc == 0;
    }
    for (int i = 0; i < made; i++)
        uv_sem_post(&go);
    for (int i = 0; i < made; i++)
        GW_MUST(uv_thread_join(&threads[i]));
    uv_sem_destroy(&go);
    if (rc == 0)
        return 0;
    return gw_error_set(error, GW_ELIMIT,
                        "cannot start %d threads: %s: this user, or this container, has as many "
                        "processes and threads as it may (`ulimit -u`)",
                        THREADS, uv_strerror(rc));
}

static void work_on_thread(uv_work_t *work)
{
    (void)work; /* it is enough that the work was queued */
}

static void work_on_done(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

void gw_threads_start(uv_loop_t *loop)
{
    uv_work_t *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    GW_MUST(uv_queue_work(loop, work, work_on_thread, work_on_done));
}
