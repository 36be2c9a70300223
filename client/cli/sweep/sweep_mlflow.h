/* Sends a sweep to an MLflow server, with the checkpoint of its best trial. */
#ifndef GW_CLI_SWEEP_MLFLOW_H
#define GW_CLI_SWEEP_MLFLOW_H

#include "client/cli/sweep/sweep_definition.h"

/* gw_sweep_mlflow_send sends what the server does not have, and the checkpoint of the best trial if
 * it has one. It blocks. Errors: those of gw_sweep_export. If the checkpoint cannot be fetched, or
 * the server takes none, it only says so.
 *
 * gw_sweep_mlflow_finish sends the checkpoint to the server of --mlflow, if there is one, after the
 * sweep has sent the rest. It only says errors. */
int gw_sweep_mlflow_send(const struct gw_sweep_definition *definition, struct gw_sweep *sweep,
                         struct gw_client *client, const char *url, struct gw_error *error);
void gw_sweep_mlflow_finish(const struct gw_sweep_definition *definition, struct gw_sweep *sweep,
                            struct gw_client *client);

#endif
