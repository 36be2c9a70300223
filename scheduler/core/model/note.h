/* Notes: possible consequences of changes. The files of model/ write them. The step checks each
 * note and acts on it. */
#ifndef GW_SCHEDULER_CORE_NOTE_H
#define GW_SCHEDULER_CORE_NOTE_H

#include "scheduler/core/model/state.h"

#define GW_NOTES(X)                                                                                \
    X(touched, struct gw_actor *)                                                                  \
    X(callable, struct gw_actor *)                                                                 \
    X(doomed, struct gw_row)                                                                       \
    X(idle, struct gw_row)                                                                         \
    X(lost, struct gw_row)                                                                         \
    X(reopened, struct gw_row)                                                                     \
    X(unwanted, struct gw_row)                                                                     \
    X(retried, struct gw_row)                                                                      \
    X(ending, struct gw_job *)                                                                     \
    X(hungry, uint64_t)                                                                            \
    X(stubs, struct gw_stub)                                                                       \
    X(ungated, uint64_t)                                                                           \
    X(orphaned, gw_peer)                                                                           \
    X(aging, uint64_t)                                                                             \
    X(revisited, uint64_t)                                                                         \
    X(nameless, uint64_t)                                                                          \
    X(followed, uint64_t)                                                                          \
    X(frontiers, struct gw_worker *)

/* gw_sched_note_<list> adds a note to a list. gw_sched_noted_<list> clears the list after all its
 * notes were handled. */
#define NOTE(list, type)                                                                           \
    static inline void gw_sched_note_##list(struct gw_sched *sched, type note)                     \
    {                                                                                              \
        GW_MUST(gw_array_push(&sched->list, note));                                                \
    }                                                                                              \
    static inline void gw_sched_noted_##list(struct gw_sched *sched)                               \
    {                                                                                              \
        gw_array_clear(&sched->list);                                                              \
    }
GW_NOTES(NOTE)
#undef NOTE

#endif
