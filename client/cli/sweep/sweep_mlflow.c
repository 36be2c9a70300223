/* Fetches the checkpoint of the best trial into a folder for the time of the upload. */
#include "client/cli/sweep/sweep_mlflow.h"

#include "client/cli/launch/fetch.h"
#include "client/cli/lib/cli.h"
#include "client/cli/sweep/trial_folder.h"
#include "graph/base/dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_files(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count > 2;
}

/* Finds the checkpoint of a trial: in the folder that --trial-dirs gave it, or at its worker.
 * GW_ENOENT: it has none. *fetched is true if the folder is to be removed. */
static int find_checkpoint(const struct gw_sweep_definition *definition, struct gw_client *client,
                           const struct gw_sweep_trial *trial, char folder[PATH_MAX], bool *fetched,
                           struct gw_error *error)
{
    const char *temporary = getenv("TMPDIR");
    const struct gw_selected_task task = {.job = trial->job};
    *fetched = false;
    if (definition->trial_dirs) {
        const int rc = gw_trial_folder_path(definition->cwd, definition->trial_dirs,
                                            trial->trial->number, folder, error);
        return rc < 0 || has_files(folder) ? rc : GW_ENOENT;
    }
    int rc = gw_fetch_find_checkpoint(client, &task, error);
    if (rc < 0)
        return rc;
    (void)snprintf(folder, PATH_MAX, "%.3000s/gangway-mlflow-XXXXXX",
                   temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder))
        return gw_error_set(error, GW_EIO, "cannot make the folder %s: %s", folder,
                            strerror(errno));
    *fetched = true;
    rc = gw_fetch_checkpoint(client, &task, UINT32_MAX, folder, error);
    return rc < 0 || has_files(folder) ? rc : GW_ENOENT;
}

/* Sends all with the checkpoint. GW_ENOENT: there is none, and nothing was sent. */
static int send_checkpoint(const struct gw_sweep_definition *definition, struct gw_sweep *sweep,
                           struct gw_client *client, const char *url, struct gw_error *error)
{
    const struct gw_sweep_trial *best = NULL;
    char folder[PATH_MAX];
    bool fetched = false;
    int rc = gw_sweep_best(sweep, &best, error);
    if (rc == 0 && (rc = find_checkpoint(definition, client, best, folder, &fetched, error)) < 0 &&
        rc != GW_ENOENT) {
        gw_cli_message("gangway sweep: the checkpoint of trial %u cannot be sent to MLflow: %s",
                       (unsigned)best->trial->number, error->text);
        rc = GW_ENOENT;
    }
    if (rc == 0)
        rc = gw_sweep_upload(sweep, client, url, folder, error);
    if (rc == GW_ENOTSUP) {
        gw_cli_message("gangway sweep: %s", error->text);
        rc = GW_ENOENT;
    }
    if (fetched)
        (void)gw_dir_remove(folder, NULL);
    return rc;
}

int gw_sweep_mlflow_send(const struct gw_sweep_definition *definition, struct gw_sweep *sweep,
                         struct gw_client *client, const char *url, struct gw_error *error)
{
    const int rc = send_checkpoint(definition, sweep, client, url, error);
    return rc == GW_ENOENT ? gw_sweep_export(sweep, client, GW_SWEEP_MLFLOW, url, error) : rc;
}

void gw_sweep_mlflow_finish(const struct gw_sweep_definition *definition, struct gw_sweep *sweep,
                            struct gw_client *client)
{
    struct gw_error error;
    const int rc = send_checkpoint(definition, sweep, client, definition->mlflow, &error);
    if (rc < 0 && rc != GW_ENOENT)
        gw_cli_message("gangway sweep: %s", error.text);
}
