/* The rules of the fakes: what the real CUDA and NCCL refuse is refused, and what nobody can
 * foresee there stops the process. Each rule has a process of its own, because a forked child of a
 * process that used CUDA cannot use CUDA. */
#include "tests/gpu/fake/fake.h"

#include <nccl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 4096 };

/* In a rule: returns the line if the condition is false. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

typedef int rule_function(void);

/* Returns the status with which the rule's process ended. */
static int run(rule_function *rule)
{
    int status;
    (void)fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
        (void)setenv("FAKE_CUDA_DEVICES", "2", 1);
        _exit(rule() == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void holds(rule_function *rule)
{
    assert_int_equal(run(rule), 0);
}

static void stops(rule_function *rule, int signum)
{
    const int status = run(rule);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), signum);
}

static void *memory_new(void)
{
    void *memory;
    if (cudaMalloc(&memory, BYTES) != cudaSuccess)
        abort();
    return memory;
}

static cudaStream_t stream_new(void)
{
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        abort();
    return stream;
}

static cudaEvent_t event_new(unsigned flags)
{
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, flags) != cudaSuccess)
        abort();
    return event;
}

/* -- Memory --------------------------------------------------------------------------------------
 */

static int host_reads_device_memory(void)
{
    const volatile char *memory = memory_new();
    return memory[0];
}

static int memory_has_limits(void)
{
    char host[BYTES + 1] = "";
    void *memory, *other;
    (void)setenv("FAKE_CUDA_MEMORY", "8192", 1);
    CHECK(cudaMalloc(&memory, BYTES) == cudaSuccess);
    CHECK(cudaMalloc(&other, BYTES + 1) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&other, BYTES) == cudaSuccess);
    CHECK(cudaMemcpy(host, memory, BYTES, cudaMemcpyDefault) == cudaSuccess);
    CHECK(host[0] != 0); /* nobody zeroed it */
    CHECK(cudaMemcpy(host, memory, BYTES + 1, cudaMemcpyDefault) == cudaErrorInvalidValue);
    CHECK(cudaFree(memory) == cudaSuccess);
    CHECK(cudaFree(memory) == cudaErrorInvalidValue);
    CHECK(ncclMemFree(other) == ncclUnhandledCudaError); /* it is not NCCL's */
    return 0;
}

static void device_memory_has_limits_and_no_host_address(void **state)
{
    holds(memory_has_limits);
    stops(host_reads_device_memory, SIGSEGV);
}

/* -- Processes, streams and events ---------------------------------------------------------------
 */

static int child_uses_cuda(void)
{
    void *memory;
    return cudaMalloc(&memory, BYTES) == cudaErrorInitializationError ? 0 : 1;
}

static int parent_used_cuda(void)
{
    (void)memory_new();
    CHECK(run(child_uses_cuda) == 0);
    return 0;
}

static void forked_child_of_a_user_cannot_use_cuda(void **state)
{
    holds(parent_used_cuda);
}

/* Work of the default stream is done when a call waits for it. */
static int default_stream_is_lazy(void)
{
    char host[BYTES];
    void *memory = memory_new();
    const cudaStream_t stream = stream_new();
    CHECK(cudaMemsetAsync(memory, 1, BYTES, NULL) == cudaSuccess);
    CHECK(cudaMemcpyAsync(host, memory, BYTES, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(host[0] != 1);
    CHECK(cudaMemcpy(host, memory, BYTES, cudaMemcpyDefault) == cudaSuccess);
    CHECK(host[0] == 1);
    return 0;
}

static void default_stream_runs_when_a_call_waits_for_it(void **state)
{
    holds(default_stream_is_lazy);
}

static int event_of_another_device(void)
{
    const cudaEvent_t event = event_new(cudaEventDisableTiming);
    CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(cudaEventRecord(event, stream_new()) == cudaErrorInvalidResourceHandle);
    return 0;
}

static void event_belongs_to_a_device(void **state)
{
    holds(event_of_another_device);
}

static void write_run(void *arg)
{
    *(char *)fake_reach_own(*(void **)arg) = 1;
}

/* A kernel that writes to the memory. */
static cudaError_t write_to(void *memory, cudaStream_t stream)
{
    void **arg = malloc(sizeof *arg);
    if (!arg)
        abort();
    *arg = memory;
    return fake_launch(stream, write_run, arg);
}

static int kernels_of_two_devices(void)
{
    const cudaStream_t stream = stream_new();
    void *memory = memory_new();
    char host[BYTES];
    CHECK(cudaMemsetAsync(memory, 2, BYTES, NULL) == cudaSuccess);
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(write_to(memory, stream) == cudaErrorInvalidResourceHandle);
    CHECK(cudaMemsetAsync(memory, 1, BYTES, stream) == cudaErrorInvalidResourceHandle);
    CHECK(cudaMemcpyAsync(memory_new(), memory, BYTES, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(cudaMemcpy(host, memory, BYTES, cudaMemcpyDefault) == cudaSuccess);
    CHECK(host[0] != 2); /* device 0's default stream was not waited for */
    CHECK(cudaSetDevice(0) == cudaSuccess);
    CHECK(write_to(memory, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaMemcpy(host, memory, BYTES, cudaMemcpyDefault) == cudaSuccess);
    CHECK(host[0] == 2);
    return 0;
}

static int memory_of_another_device(void)
{
    void *memory = memory_new();
    (void)cudaSetDevice(1);
    (void)write_to(memory, NULL);
    return (int)cudaStreamSynchronize(NULL);
}

static void kernel_belongs_to_the_current_device(void **state)
{
    holds(kernels_of_two_devices);
    stops(memory_of_another_device, SIGABRT);
}

static void hold_run(void *arg)
{
    const _Atomic int gone = 0;
    (void)fake_pass(&gone);
}

static int events_have_times(void)
{
    const cudaStream_t one = stream_new(), other = stream_new();
    const cudaEvent_t untimed = event_new(cudaEventDisableTiming), start = event_new(0),
                      end = event_new(0);
    void *memory = memory_new();
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, end) == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(untimed, one) == cudaSuccess);
    CHECK(cudaEventRecord(start, other) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, start, untimed) == cudaErrorInvalidResourceHandle);
    fake_hold(1);
    fake_enqueue(one, hold_run, NULL);
    CHECK(cudaMemsetAsync(memory, 1, BYTES, one) == cudaSuccess);
    CHECK(cudaEventRecord(untimed, one) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(other, untimed, 0) == cudaSuccess);
    CHECK(cudaEventRecord(end, other) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, start, end) == cudaErrorNotReady);
    fake_hold(0);
    CHECK(cudaStreamSynchronize(other) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&ms, start, end) == cudaSuccess);
    CHECK(ms == (float)BYTES * 1e-6F); /* it was not earlier than the event */
    return 0;
}

static void event_times_follow_the_work_and_the_waits(void **state)
{
    holds(events_have_times);
}

static void trap_run(void *arg)
{
    fake_trap();
}

static int trap_fails_all(void)
{
    const cudaStream_t stream = stream_new();
    void *memory = memory_new();
    fake_enqueue(stream, trap_run, NULL);
    CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
    CHECK(cudaFree(memory) == cudaErrorIllegalAddress);
    CHECK(cudaSetDevice(1) == cudaErrorIllegalAddress);
    return 0;
}

static int copy_counts(void)
{
    static char pageable[BYTES];
    void *memory = memory_new(), *pinned;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaHostAlloc(&pinned, BYTES, cudaHostAllocDefault) == cudaSuccess);
    const unsigned waits = fake_count(FAKE_SYNC);
    CHECK(cudaMemcpyAsync(pinned, memory, BYTES, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(fake_count(FAKE_SYNC) == waits);
    CHECK(cudaMemcpyAsync(pageable, memory, BYTES, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(fake_count(FAKE_SYNC) == waits + 1);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaFreeHost(pinned) == cudaSuccess && cudaFreeHost(NULL) == cudaSuccess);
    CHECK(cudaFreeHost(pageable) == cudaErrorInvalidValue);
    return 0;
}

static void copy_to_memory_that_is_not_pinned_counts_as_a_wait(void **state)
{
    holds(copy_counts);
}

static void trapped_kernel_fails_every_later_call(void **state)
{
    holds(trap_fails_all);
}

/* -- Captures ------------------------------------------------------------------------------------
 */

static int capture_forbids(void)
{
    const cudaStream_t stream = stream_new(), other = stream_new();
    const cudaEvent_t before = event_new(cudaEventDisableTiming),
                      event = event_new(cudaEventDisableTiming);
    cudaGraph_t graph;
    void *memory = memory_new(), *more;
    CHECK(cudaEventRecord(before, other) == cudaSuccess);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaMalloc(&more, BYTES) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(stream, before, 0) == cudaErrorStreamCaptureIsolation);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaEventRecord(event, stream) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(other, event, 0) == cudaSuccess);
    CHECK(cudaMemsetAsync(memory, 1, BYTES, other) == cudaSuccess);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined);
    CHECK(cudaEventQuery(event) == cudaErrorCapturedEvent);
    return 0;
}

static void capture_refuses_waits_and_work_that_does_not_come_back(void **state)
{
    holds(capture_forbids);
}

/* -- NCCL ----------------------------------------------------------------------------------------
 */

/* A communicator of one rank, which blocks or not. */
static ncclComm_t comm_new(int blocking)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm;
    config.blocking = blocking;
    if (ncclGetUniqueId(&id) != ncclSuccess ||
        ncclCommInitRankConfig(&comm, 1, id, 0, &config) > ncclInProgress)
        abort();
    return comm;
}

static ncclResult_t reduce(ncclComm_t comm, void *memory, size_t count, cudaStream_t stream)
{
    return ncclAllReduce(memory, memory, count, ncclFloat32, ncclSum, comm, stream);
}

static int nccl_refuses(void)
{
    const ncclComm_t comm = comm_new(0);
    ncclConfig_t config = {0};
    ncclResult_t state = ncclInProgress;
    ncclUniqueId id;
    ncclComm_t other;
    void *memory = memory_new(), *handle;
    char host[64];
    CHECK(ncclGetUniqueId(&id) == ncclSuccess);
    CHECK(ncclCommInitRankConfig(&other, 1, id, 0, &config) == ncclInvalidArgument);
    CHECK(reduce(comm, memory, 1, stream_new()) == ncclInvalidArgument); /* it is not open yet */
    while (state == ncclInProgress)
        CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
    CHECK(ncclCommRegister(comm, host, sizeof host, &handle) == ncclInvalidArgument);
    CHECK(ncclCommRegister(comm, memory, BYTES, &handle) == ncclSuccess);
    CHECK(ncclCommDeregister(comm, handle) == ncclSuccess);
    CHECK(ncclCommDeregister(comm, handle) == ncclInvalidUsage);
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(reduce(comm, memory, 1, stream_new()) == ncclInProgress);
    CHECK(reduce(comm, memory, 1, stream_new()) == ncclInvalidArgument); /* that is not seen yet */
    while (ncclCommGetAsyncError(comm, &state) == ncclSuccess && state == ncclInProgress)
        continue;
    CHECK(cudaSetDevice(1) == cudaSuccess);
    CHECK(reduce(comm, memory, 1, stream_new()) == ncclUnhandledCudaError);
    return 0;
}

static void nccl_refuses_what_the_real_one_refuses(void **state)
{
    holds(nccl_refuses);
}

static int buffer_of_the_host(void)
{
    float host[4];
    return (int)reduce(comm_new(1), host, 4, stream_new());
}

static int buffer_ends_too_early(void)
{
    return (int)reduce(comm_new(1), memory_new(), BYTES / sizeof(float) + 1, stream_new());
}

static int buffer_that_fits(void)
{
    const cudaStream_t stream = stream_new();
    CHECK(reduce(comm_new(1), memory_new(), BYTES / sizeof(float), stream) == ncclSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    return 0;
}

static int stream_of_another_device(void)
{
    void *memory = memory_new();
    const ncclComm_t comm = comm_new(1);
    (void)cudaSetDevice(1);
    const cudaStream_t stream = stream_new();
    (void)cudaSetDevice(0);
    return (int)reduce(comm, memory, 1, stream);
}

static int freed_while_registered(void)
{
    void *memory, *handle;
    const ncclComm_t comm = comm_new(1);
    if (ncclMemAlloc(&memory, BYTES) == ncclSuccess &&
        ncclCommRegister(comm, memory, BYTES, &handle) == ncclSuccess)
        (void)ncclMemFree(memory);
    return 0;
}

static int destroyed_while_busy(void)
{
    return (int)ncclCommDestroy(comm_new(0));
}

static int two_communicators_in_a_group(void)
{
    void *memory = memory_new();
    const cudaStream_t stream = stream_new();
    const ncclComm_t comms[] = {comm_new(1), comm_new(1)};
    (void)ncclGroupStart();
    for (int i = 0; i < 2; i++)
        (void)reduce(comms[i], memory, 1, stream);
    return 0;
}

static void nccl_stops_where_the_real_one_cannot_be_foreseen(void **state)
{
    holds(buffer_that_fits);
    stops(buffer_ends_too_early, SIGABRT);
    stops(buffer_of_the_host, SIGABRT);
    stops(stream_of_another_device, SIGABRT);
    stops(freed_while_registered, SIGABRT);
    stops(destroyed_while_busy, SIGABRT);
    stops(two_communicators_in_a_group, SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_memory_has_limits_and_no_host_address),
        cmocka_unit_test(forked_child_of_a_user_cannot_use_cuda),
        cmocka_unit_test(default_stream_runs_when_a_call_waits_for_it),
        cmocka_unit_test(event_belongs_to_a_device),
        cmocka_unit_test(kernel_belongs_to_the_current_device),
        cmocka_unit_test(event_times_follow_the_work_and_the_waits),
        cmocka_unit_test(copy_to_memory_that_is_not_pinned_counts_as_a_wait),
        cmocka_unit_test(trapped_kernel_fails_every_later_call),
        cmocka_unit_test(capture_refuses_waits_and_work_that_does_not_come_back),
        cmocka_unit_test(nccl_refuses_what_the_real_one_refuses),
        cmocka_unit_test(nccl_stops_where_the_real_one_cannot_be_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
