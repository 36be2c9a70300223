/* A kernel that traps, for tests: trap.cu on a GPU, fake/fake_kernel.c with the fakes. */
#ifndef GW_TESTS_GPU_TRAP_H
#define GW_TESTS_GPU_TRAP_H

#ifdef __cplusplus
extern "C" {
#endif

/* test_trap enqueues the kernel on a stream of the current device. */
void test_trap(void *stream);

#ifdef __cplusplus
}
#endif

#endif
