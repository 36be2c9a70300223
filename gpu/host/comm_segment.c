/* Functions for the worker that starts a gang: it creates the segment before the ranks start,
 * aborts it if a rank ends early, and reads the ranks' progress. */
#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"

#include <gangway/comm.h>

int gw_comm_segment_create(int ranks, int *fd, struct gw_error *error)
{
    return gw_segment_create(ranks, fd, error);
}

int gw_comm_segment_abort(int fd, int cause, int rank, struct gw_error *error)
{
    struct gw_segment *segment;
    int rc = gw_segment_ref(fd, &segment, error);
    if (rc < 0)
        return rc;
    gw_segment_abort(segment, cause, rank);
    gw_segment_unref(segment);
    return 0;
}

int gw_comm_segment_aborted(int fd, int *cause, int *rank, struct gw_error *error)
{
    struct gw_segment *segment;
    int rc = gw_segment_ref(fd, &segment, error);
    if (rc < 0)
        return rc;
    const struct gw_segment_header *header = gw_segment_header(segment);
    int broken = gw_segment_broken(segment, NULL) < 0;
    if (broken) {
        bool written = atomic_load(&header->broken) == 2;
        *cause = written ? header->cause : GW_EABORTED;
        *rank = written ? header->rank : -1;
    }
    gw_segment_unref(segment);
    return broken;
}

int gw_comm_segment_progress(int fd, int rank, struct gw_comm_progress *progress,
                             struct gw_error *error)
{
    struct gw_segment *segment;
    int rc = gw_segment_ref(fd, &segment, error);
    if (rc < 0)
        return rc;
    const int ranks = (int)gw_segment_header(segment)->ranks;
    if (rank < 0 || rank >= ranks) {
        gw_segment_unref(segment);
        return gw_error_set(error, GW_EINVAL, "there is no rank %d: the segment has %d ranks", rank,
                            ranks);
    }
    const struct gw_segment_rank *at = gw_segment_rank(segment, rank);
    uint32_t verb = atomic_load(&at->pulse.verb);
    *progress = (struct gw_comm_progress){
        .presence = (enum gw_comm_presence)atomic_load(&at->presence),
        .begun = atomic_load(&at->pulse.begun),
        .operation = verb ? gw_comm_backend_verb_name((enum gw_comm_verb)verb) : NULL,
    };
    gw_segment_unref(segment);
    return 0;
}
