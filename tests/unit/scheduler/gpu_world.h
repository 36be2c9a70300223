/* Workers with GPUs around a scheduler's core, for tests. */
#ifndef GW_TESTS_SCHEDULER_GPU_WORLD_H
#define GW_TESTS_SCHEDULER_GPU_WORLD_H

#include "tests/unit/scheduler/sched_world.h"

#define GIB (UINT64_C(1) << 30)

enum { LOST_S = GW_LOST_NS / GW_NS_PER_S };

/* add_gpus_at connects a worker with a GPU of 16 GiB per letter; GPUs of the same letter are one
 * NVLink domain. Capital letters are MIG instances of 5 GiB on the physical GPU of that letter; 'X'
 * has one of 20 GiB. bridges, nodes: the same for switches (NULL: each GPU has its own) and for
 * NUMA nodes (NULL: all GPUs are on one). add_gpus omits these. */
void add_gpus_at(struct world *w, int number, const char *name, const char *domains,
                 const char *bridges, const char *nodes);

void add_gpus(struct world *w, int number, const char *name, const char *domains);

/* add_machine connects a worker of a machine with other workers; each GPU is named by its number.
 * held: the GPU of an attempt that the worker claims; NULL: none. */
void add_machine(struct world *w, int number, const char *name, uint32_t gpus,
                 const uint32_t *held);

/* leaves closes the connection of a worker. */
void leaves(struct world *w, int number);

/* pass_seconds lets seconds pass while worker b is connected. */
void pass_seconds(struct world *w, int seconds);

/* assert_gpus: "0,1 2,3": the GPUs of each row of the assign message to a worker. */
void assert_gpus(struct world *w, int worker, const char *wanted);

/* refused checks that the client received a rejection. */
void refused(struct world *w, int32_t code, const char *text);

/* drain makes a worker report that one of its GPUs is drained. */
void drain(struct world *w, int worker, uint32_t gpu, const char *why);

/* end_badly makes an attempt fail. */
void end_badly(struct world *w, int worker, uint64_t attempt, uint32_t outcome, const char *tail);

#endif
