/* A sweep of the cluster as a study, for files of other tools and for pictures. */
#ifndef GW_SWEEP_SWEEP_STUDY_H
#define GW_SWEEP_SWEEP_STUDY_H

#include "client/sweep/export/study.h"
#include "graph/base/array.h"

#include <gangway/sweep.h>

struct gw_sweep_study {
    struct gw_study study; /* what it points to is owned by the fields below, or by the sweep */
    struct gw_study_param *params;
    struct gw_study_trial *trials;
    double *points;                           /* a row for each trial */
    GW_ARRAY(struct gw_study_report) reports; /* by trial */
    GW_ARRAY(struct gw_study_run) runs;       /* by trial */
    GW_ARRAY(char *) names;                   /* of metrics */
};

/* gw_sweep_study_init makes a study of a sweep that was loaded or has run, and asks the cluster for
 * the reports of its trials: those of all jobs of a trial, and of a gang those of rank 0. A trial
 * begins when its first job starts. The sweep is borrowed until gw_sweep_study_deinit, which the
 * caller calls also if this fails. GW_ENOENT: the sweep has neither been loaded nor run. */
int gw_sweep_study_init(struct gw_sweep_study *made, const struct gw_sweep *sweep,
                        struct gw_client *client, struct gw_error *error);
void gw_sweep_study_deinit(struct gw_sweep_study *made);

#endif
