/* Bodies of requests to MLflow, within its limits. Pure. */
#ifndef GW_MLFLOW_JSON_H
#define GW_MLFLOW_JSON_H

#include "client/sweep/mlflow/mlflow_functions.h"

#include <jansson.h>

/* Limits of MLflow: of a request, and of texts. */
enum {
    GW_MLFLOW_ITEMS_MAX = 1000, /* metrics, params and tags together */
    GW_MLFLOW_PARAMS_MAX = 100,
    GW_MLFLOW_BYTES_MAX = 900000,
    GW_MLFLOW_NAME_BYTES_MAX = 250,
    GW_MLFLOW_VALUE_BYTES_MAX = 6000,
    GW_MLFLOW_NOTE_BYTES_MAX = 5000,
};

struct gw_mlflow_report {
    uint64_t seq, wall_ns;
    int64_t step;
    double value;
    char *name; /* as gw_mlflow_json_name makes it; owned by someone else */
};

/* A request log-batch that is being filled. */
struct gw_mlflow_batch {
    json_t *metrics, *params, *tags;
    size_t bytes;
};

/* gw_mlflow_json_name returns a name that MLflow takes, which the caller frees: characters other
 * than letters, digits and _-./: and spaces become _XX, their bytes in hexadecimal digits. NULL: no
 * memory. */
char *gw_mlflow_json_name(const char *name);

/* gw_mlflow_json_cut returns the length of a UTF-8 text that is cut off at a number of bytes. */
size_t gw_mlflow_json_cut(const char *text, size_t bytes_max);

/* The functions that add something return false if the batch is full, and add nothing then. The
 * rest leaves room for two tags. */
void gw_mlflow_json_batch_init(struct gw_mlflow_batch *batch);
bool gw_mlflow_json_batch_add_param(struct gw_mlflow_batch *batch, const char *name,
                                    const char *value);
bool gw_mlflow_json_batch_add_metric(struct gw_mlflow_batch *batch,
                                     const struct gw_mlflow_report *report);
void gw_mlflow_json_batch_add_tag(struct gw_mlflow_batch *batch, const char *name,
                                  const char *value);

/* gw_mlflow_json_batch_take returns the body and ends the batch. */
json_t *gw_mlflow_json_batch_take(struct gw_mlflow_batch *batch, const char *run);

/* gw_mlflow_json_tag returns a tag of a run as MLflow describes it; borrowed; NULL: it has none. */
const char *gw_mlflow_json_tag(const json_t *run, const char *name);

/* gw_mlflow_json_add_tag appends a tag to a list of tags. */
void gw_mlflow_json_add_tag(json_t *tags, const char *name, const char *value);

/* gw_mlflow_json_status is MLflow's word for a state. */
const char *gw_mlflow_json_status(enum gw_study_state state);

#endif
