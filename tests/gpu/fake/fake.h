/* Between the fakes, and for tests: work on a stream, and device memory seen from behind. All of it
 * lies in libfake_cuda.so, one in a process, whoever uses it. */
#ifndef GW_TESTS_FAKE_H
#define GW_TESTS_FAKE_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdint.h>

/* fake_enqueue runs the function on the stream's thread, after what was enqueued before; frees
 * arg. On the default stream (NULL) it runs when somebody waits for that, not before: nobody who
 * forgets to sees its result. */
void fake_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg);

/* fake_launch is fake_enqueue for kernels: if the stream belongs to another device than the current
 * one, it returns cudaErrorInvalidResourceHandle. */
cudaError_t fake_launch(cudaStream_t stream, void (*run)(void *arg), void *arg);

/* fake_reach returns where a pointer into device memory can be read and written, which on the
 * pointer itself crashes; other pointers come back as they are. For work on a stream. For kernels
 * fake_reach_own does the same, but memory of another device ends the program. */
void *fake_reach(const void *memory);
void *fake_reach_own(const void *memory);

/* fake_device returns the calling thread's device, fake_device_of a stream's, and fake_device_with
 * the one in whose memory all these bytes lie, or -1. */
int fake_device(void);
int fake_device_of(cudaStream_t stream);
int fake_device_with(const void *memory, size_t bytes);

/* fake_is_pinned returns 1 if the address is in memory of cudaHostAlloc. */
int fake_is_pinned(const void *memory);

/* fake_alloc is cudaMalloc, or with is_nccl ncclMemAlloc; fake_free frees what the same one made.
 */
cudaError_t fake_alloc(void **memory, size_t bytes, int is_nccl);
cudaError_t fake_free(void *memory, int is_nccl);

/* Calls of this process that are counted, to see what a step of training costs. */
enum fake_call {
    FAKE_SYNC,   /* the host waits for a device: synchronisations, copies that block, also those
                    from a device to memory that is not pinned */
    FAKE_ALLOC,  /* memory allocated or freed, streams and events made */
    FAKE_QUERY,  /* the host asks whether an event is done */
    FAKE_NCCL,   /* collectives and messages of NCCL */
    FAKE_LAUNCH, /* work put on a stream, collectives too */
    FAKE_CALLS
};
void fake_counted(enum fake_call call);
unsigned fake_count(enum fake_call call);

/* fake_cost: the work that runs now takes this time of its stream's clock (1 ns for each byte that
 * a copy or a collective moves). No time passes; events have the times of these clocks, and a
 * stream that waits for an event is not earlier than the event. So what overlaps is the same in
 * each run.
 */
void fake_cost(uint64_t cost_ns);

/* fake_trap is what a kernel that traps does: every later call of this process fails. */
void fake_trap(void);

/* fake_hold lets collectives wait before they begin (1), or go on (0). fake_pass is where they do:
 * it returns 0, or -1 when *gone became true meanwhile (fake_hold_look lets it look). */
void fake_hold(int held);
int fake_pass(const _Atomic int *gone);
void fake_hold_look(void);

#endif
