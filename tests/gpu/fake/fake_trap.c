#include "tests/gpu/fake/fake.h"
#include "tests/gpu/trap.h"

#include <stdlib.h>

static void trap_run(void *arg)
{
    (void)arg;
    fake_trap();
}

void test_trap(void *stream)
{
    fake_enqueue(stream, trap_run, NULL);
}
