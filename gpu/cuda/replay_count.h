/* Counters by which the host sees how far replays of CUDA graphs are. */
#ifndef GW_GPU_CUDA_REPLAY_COUNT_H
#define GW_GPU_CUDA_REPLAY_COUNT_H

#include <stdint.h>

/* gw_replay_count enqueues a kernel on the stream (a cudaStream_t), which adds one to a counter in
 * page-locked memory of the host. Returns a cudaError_t. It is in replay_count.cu; in the fakes it
 * is in fake_replay.c. */
#ifdef __cplusplus
extern "C"
#endif
    int
    gw_replay_count(volatile uint32_t *counter, void *stream);

#endif
