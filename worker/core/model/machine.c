/* State machines of the worker's core: which state may follow which. gw_object_sm is in spill.c. */
#include "worker/core/model/state.h"

static const struct gw_sm_state run_states[] = {
    [GW_ATTEMPT_WAITING] = {"waiting", GW_SM_NEXT(GW_ATTEMPT_READY) | GW_SM_NEXT(GW_ATTEMPT_SENT) |
                                           GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_READY] = {"ready", GW_SM_NEXT(GW_ATTEMPT_STARTING) | GW_SM_NEXT(GW_ATTEMPT_SENT) |
                                       GW_SM_NEXT(GW_ATTEMPT_RUNNING) |
                                       GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_STARTING] = {"starting",
                             GW_SM_NEXT(GW_ATTEMPT_RANK_READY) | GW_SM_NEXT(GW_ATTEMPT_SENT) |
                                 GW_SM_NEXT(GW_ATTEMPT_ENDING) | GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_RANK_READY] = {"standing", GW_SM_NEXT(GW_ATTEMPT_RUNNING) |
                                               GW_SM_NEXT(GW_ATTEMPT_ENDING) |
                                               GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_SENT] = {"sent", GW_SM_NEXT(GW_ATTEMPT_WAITING) | GW_SM_NEXT(GW_ATTEMPT_READY) |
                                     GW_SM_NEXT(GW_ATTEMPT_RANK_READY) |
                                     GW_SM_NEXT(GW_ATTEMPT_ENDING) | GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    /* From running back to ready: a command waited in the reaper of another command and was not
     * started. */
    [GW_ATTEMPT_RUNNING] = {"running", GW_SM_NEXT(GW_ATTEMPT_READY) |
                                           GW_SM_NEXT(GW_ATTEMPT_ENDING) |
                                           GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_ENDING] = {"ending", GW_SM_NEXT(GW_ATTEMPT_ENDED)},
    [GW_ATTEMPT_ENDED] = {"ended", 0},
};
static const struct gw_sm_state process_states[] = {
    [GW_PROCESS_STARTING] = {"starting", GW_SM_NEXT(GW_PROCESS_IDLE) | GW_SM_NEXT(GW_PROCESS_BUSY) |
                                             GW_SM_NEXT(GW_PROCESS_ENDING) |
                                             GW_SM_NEXT(GW_PROCESS_EXITED) |
                                             GW_SM_NEXT(GW_PROCESS_REAPED)},
    [GW_PROCESS_IDLE] = {"idle", GW_SM_NEXT(GW_PROCESS_BUSY) | GW_SM_NEXT(GW_PROCESS_ENDING) |
                                     GW_SM_NEXT(GW_PROCESS_EXITED)},
    [GW_PROCESS_BUSY] = {"busy", GW_SM_NEXT(GW_PROCESS_IDLE) | GW_SM_NEXT(GW_PROCESS_ENDING) |
                                     GW_SM_NEXT(GW_PROCESS_EXITED)},
    [GW_PROCESS_ENDING] = {"ending", GW_SM_NEXT(GW_PROCESS_EXITED) | GW_SM_NEXT(GW_PROCESS_REAPED)},
    [GW_PROCESS_EXITED] = {"exited", GW_SM_NEXT(GW_PROCESS_REAPED)},
    [GW_PROCESS_REAPED] = {"reaped", GW_SM_NEXT(GW_PROCESS_GONE)},
    [GW_PROCESS_GONE] = {"gone", 0},
};
static const struct gw_sm_state gang_states[] = {
    [GW_GANG_FORMING] = {"forming", GW_SM_NEXT(GW_GANG_RUNNING) | GW_SM_NEXT(GW_GANG_ABORTED) |
                                        GW_SM_NEXT(GW_GANG_GONE)},
    [GW_GANG_RUNNING] = {"running", GW_SM_NEXT(GW_GANG_ABORTED) | GW_SM_NEXT(GW_GANG_GONE)},
    [GW_GANG_ABORTED] = {"aborted", GW_SM_NEXT(GW_GANG_GONE)},
    [GW_GANG_GONE] = {"gone", 0},
};
static const struct gw_sm_state fetch_states[] = {
    [GW_FETCH_CONNECTING] = {"connecting", GW_SM_NEXT(GW_FETCH_ASKED) | GW_SM_NEXT(GW_FETCH_GONE)},
    [GW_FETCH_ASKED] = {"asked", GW_SM_NEXT(GW_FETCH_GONE)},
    [GW_FETCH_GONE] = {"gone", 0},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
struct gw_sm gw_attempt_sm = {"worker run", run_states, COUNT(run_states), NULL};
struct gw_sm gw_process_sm = {"worker process", process_states, COUNT(process_states), NULL};
struct gw_sm gw_gang_sm = {"worker gang", gang_states, COUNT(gang_states), NULL};
struct gw_sm gw_fetch_sm = {"worker fetch", fetch_states, COUNT(fetch_states), NULL};
