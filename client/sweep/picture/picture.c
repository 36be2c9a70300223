/* The list of pictures. */
#include "client/sweep/picture/picture.h"

const struct gw_picture gw_pictures[] = {
    {"values-by-step.svg", gw_picture_curves_by_step},
    {"values-by-time.svg", gw_picture_curves_by_time},
    {"history.svg", gw_picture_history},
    {"parallel.svg", gw_picture_parallel},
    {"slices.svg", gw_picture_slices},
    {"importance.svg", gw_picture_importance},
    {"timeline.svg", gw_picture_timeline},
    {"time-to-target.svg", gw_picture_scaling},
    {NULL, NULL},
};
