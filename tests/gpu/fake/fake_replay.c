/* Counters of replays on the fake device, later, on the stream's thread. */
#include "gpu/cuda/replay_count.h"

#include "tests/gpu/fake/fake.h"
#include <stdlib.h>

static void count_run(void *arg)
{
    volatile uint32_t *counter = *(volatile uint32_t **)arg;
    __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
}

int gw_replay_count(volatile uint32_t *counter, void *stream)
{
    volatile uint32_t **arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = counter;
    return fake_launch(stream, count_run, arg);
}
