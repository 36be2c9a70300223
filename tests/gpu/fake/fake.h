/* Between the two fakes: work on a stream. */
#ifndef GW_TESTS_FAKE_H
#define GW_TESTS_FAKE_H

#include <cuda_runtime_api.h>

/* fake_enqueue runs the function on the stream's thread, after what was enqueued before; frees
 * arg. */
void fake_enqueue(cudaStream_t stream, void (*run)(void *arg), void *arg);

#endif
