/* TensorBoard's event files. */
#ifndef GW_SWEEP_TENSORBOARD_H
#define GW_SWEEP_TENSORBOARD_H

#include "client/sweep/export/study.h"

#include <stdio.h>

/* gw_tensorboard_write writes the event file of a trial: all its reports. If it has none, its value
 * is one event at its last step. Errors of writing are left to the stream.
 *
 * gw_tensorboard_path writes where TensorBoard finds the file below its --logdir, one folder a
 * trial: "0003-lr=0.01,batch=64/events.out.tfevents.1700000000.gangway". */
enum { GW_TENSORBOARD_PATH_BYTES = 256 };
void gw_tensorboard_write(FILE *out, const struct gw_study *study, size_t trial);
void gw_tensorboard_path(const struct gw_study *study, size_t trial,
                         char path[static GW_TENSORBOARD_PATH_BYTES]);

#endif
