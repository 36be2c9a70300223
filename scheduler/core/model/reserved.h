/* Reservations: room that is kept free for work that waits. placement/reservation.h has the rules.
 */
#ifndef GW_SCHEDULER_CORE_MODEL_RESERVED_H
#define GW_SCHEDULER_CORE_MODEL_RESERVED_H

#include "graph/base/array.h"
#include "scheduler/core/model/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_queue;
struct gw_resource_class;
struct gw_worker;

/* Ranks of one reservation at a worker. */
struct gw_reserved_rank {
    struct gw_worker *worker;
    uint32_t ranks;
    bool let; /* its memory allowed a placement when it was chosen */
};

struct gw_reservation {
    uint64_t job; /* job of the gang or task; 0: no reservation */
    uint32_t index;
    uint32_t slots;         /* of one rank */
    struct gw_queue *queue; /* of the gang; valid from the review in a step until its end */
    struct gw_resource_class *shape; /* likewise */
    GW_ARRAY(struct gw_reserved_rank) reserved_ranks;
    uint64_t workers_epoch, made_ns;
    uint64_t start_ns;  /* latest start according to time limits; UINT64_MAX: unknown */
    bool seen;          /* start_ns was computed in this step */
    uint64_t overtaken; /* size of the gangs that overtook since a gang with a reservation began */
};

/* Reservations have numbers below GW_RESERVATIONS: GW_RESERVATION_OF_GANG is the one of the first
 * waiting gang. The others are held for preemptions, which have the same numbers. A set of
 * reservations has the bit 1 << number for each. */
enum { GW_RESERVATION_OF_GANG = 0, GW_RESERVATIONS = 1 + GW_PREEMPTIONS_MAX };
#define GW_RESERVATIONS_HELD ((1U << GW_RESERVATIONS) - 2)

/* GW_EACH_RESERVATION loops over the numbers of a set. */
#define GW_EACH_RESERVATION(number, set)                                                           \
    for (uint32_t number##_left = (set), number = 0;                                               \
         number##_left && (number = (uint32_t)__builtin_ctz(number##_left), true);                 \
         number##_left &= number##_left - 1)

#endif
