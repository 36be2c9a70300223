/* The state of what is sent to an MLflow server, for the files of this room. */
#ifndef GW_MLFLOW_INTERNAL_H
#define GW_MLFLOW_INTERNAL_H

#include "client/sweep/mlflow/http.h"
#include "client/sweep/mlflow/mlflow_json.h"
#include "graph/base/array.h"

#include <pthread.h>

enum { GW_MLFLOW_ID_BYTES = 264 };

/* A run: the state that it shall have, and the part that the server has. */
struct gw_mlflow_run {
    char id[GW_MLFLOW_ID_BYTES]; /* "": the server has no such run */
    bool known;                  /* `wanted` is filled in */
    bool refused;                /* the server takes nothing for it */
    enum gw_study_state wanted;
    int confirmed; /* its state at the server; -1: unknown */
    uint64_t job, began_ns, ended_ns;
    char *note; /* NULL: none */
    bool note_confirmed, params_confirmed;
    json_t *params; /* name -> value */
    size_t params_sent;
    GW_ARRAY(struct gw_mlflow_report) reports; /* not confirmed yet, by seq */
    uint64_t last, sent; /* seq of the last report, and of the last confirmed */
};

struct gw_mlflow {
    char *experiment, *sweep;
    void (*say)(const char *text);
    atomic_bool closing;

    /* Only the thread uses these while `busy`, and the one that has set `held`. */
    struct gw_http *http;
    char experiment_id[GW_MLFLOW_ID_BYTES]; /* "": not asked for yet */
    bool read; /* the tags of all runs were read since the last answer was lost */
    struct gw_error said;

    pthread_t thread;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t wake, changed;
    char *id;                            /* NULL: not identified yet */
    GW_ARRAY(struct gw_mlflow_run) runs; /* by number of the trial */
    struct gw_mlflow_run parent;         /* of the whole sweep */
    GW_ARRAY(char *) names;              /* of metrics, as they were given and as they are sent */
    bool dirty;                          /* there may be something to send */
    bool hurry;                          /* somebody waits in flush */
    bool busy, held;                     /* the thread sends; it must not, because others do */
    uint64_t confirmations;              /* requests that the server has confirmed */
    struct gw_error problem;             /* why the last request failed; code 0: it did not */
};

/* gw_mlflow_send_request sends a request and returns the JSON of its answer, which the caller frees
 * with json_decref. GW_EINVAL: the server refuses it, and would again. GW_ENOENT: likewise, as
 * there is no such thing. Otherwise it may succeed later; GW_EIO, GW_ETIMEDOUT: or has succeeded.
 */
int gw_mlflow_send_request(struct gw_mlflow *mlflow, const char *method, const char *path,
                           json_t *body, json_t **answer, struct gw_error *error);

/* gw_mlflow_send_pass sends all that there is to send. It stops at the first error. */
int gw_mlflow_send_pass(struct gw_mlflow *mlflow, struct gw_error *error);

int gw_mlflow_upload(struct gw_mlflow *mlflow, uint32_t trial, const char *folder, const char *name,
                     struct gw_error *error);

#endif
