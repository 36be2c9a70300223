/* Uploads files as artifacts of a run, through the server (mlflow-artifacts). */
#include "client/sweep/mlflow/mlflow_internal.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ARTIFACTS "/api/2.0/mlflow-artifacts/artifacts"

enum { DEPTH_MAX = 32 };

/* Finds where the artifacts of a run belong, below ARTIFACTS; the caller frees *root. */
static int find_root(struct gw_mlflow *mlflow, const char *run, char **root, struct gw_error *error)
{
    static const char scheme[] = "mlflow-artifacts:";
    json_t *answer;
    char *path = NULL;
    if (asprintf(&path, "/api/2.0/mlflow/runs/get?run_id=%s", run) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_mlflow_send_request(mlflow, "GET", path, NULL, &answer, error);
    free(path);
    if (rc < 0)
        return rc;
    const json_t *info = json_object_get(json_object_get(answer, "run"), "info");
    const char *uri = json_string_value(json_object_get(info, "artifact_uri"));
    if (!uri || strncmp(uri, scheme, sizeof scheme - 1) != 0)
        rc = gw_error_set(error, GW_ENOTSUP,
                          "the MLflow server takes no artifacts from clients: it keeps them at "
                          "%.200s; start it with --serve-artifacts",
                          uri ? uri : "an unknown place");
    else {
        uri += sizeof scheme - 1;
        if (strncmp(uri, "//", 2) == 0) /* mlflow-artifacts://host:port/path */
            uri = strchr(uri + 2, '/') ? strchr(uri + 2, '/') : "";
        *root = strdup(uri + strspn(uri, "/"));
        rc = *root ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    json_decref(answer);
    return rc;
}

static int put_file(struct gw_mlflow *mlflow, const char *file, const char *to,
                    struct gw_error *error)
{
    struct gw_http_answer answer = {0};
    struct stat stat;
    char *path = NULL;
    FILE *in = fopen(file, "re");
    if (!in || fstat(fileno(in), &stat) < 0) {
        if (in)
            (void)fclose(in);
        return gw_error_set(error, GW_EIO, "cannot read %.500s: %s", file, strerror(errno));
    }
    int rc = asprintf(&path, ARTIFACTS "/%s", to) < 0
                 ? gw_error_set(error, GW_ENOMEM, "out of memory")
                 : gw_http_send(mlflow->http,
                                &(struct gw_http_request){.method = "PUT",
                                                          .path = path,
                                                          .file = in,
                                                          .file_bytes = (size_t)stat.st_size},
                                &answer, error);
    free(path);
    free(answer.body);
    (void)fclose(in);
    if (rc == 0 && (answer.status < 200 || answer.status > 299))
        rc = gw_error_set(error, answer.status == 404 || answer.status == 501 ? GW_ENOTSUP : GW_EIO,
                          "the MLflow server does not take the artifact %.300s (HTTP status %ld)",
                          to, answer.status);
    return rc;
}

/* Sends the files of a folder and of those in it. `to` is escaped. */
static int put_folder(struct gw_mlflow *mlflow, const char *folder, const char *to, int depth,
                      struct gw_error *error)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return gw_error_set(error, GW_EIO, "cannot read %.500s: %s", folder, strerror(errno));
    int rc = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
        struct stat stat;
        char *path = NULL, *into = NULL, *name = gw_http_escape(entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            free(name);
            continue;
        }
        if (!name || asprintf(&path, "%s/%s", folder, entry->d_name) < 0 ||
            asprintf(&into, "%s/%s", to, name) < 0)
            rc = gw_error_set(error, GW_ENOMEM, "out of memory");
        else if (lstat(path, &stat) < 0)
            rc = gw_error_set(error, GW_EIO, "cannot read %.500s: %s", path, strerror(errno));
        else if (S_ISREG(stat.st_mode))
            rc = put_file(mlflow, path, into, error);
        else if (S_ISDIR(stat.st_mode) && depth < DEPTH_MAX)
            rc = put_folder(mlflow, path, into, depth + 1, error);
        free(path);
        free(into);
        free(name);
    }
    (void)closedir(dir);
    return rc;
}

int gw_mlflow_upload(struct gw_mlflow *mlflow, uint32_t trial, const char *folder, const char *name,
                     struct gw_error *error)
{
    char run[GW_MLFLOW_ID_BYTES] = "", *root = NULL, *to = NULL;
    pthread_mutex_lock(&mlflow->lock);
    if (trial < mlflow->runs.count)
        memcpy(run, mlflow->runs.items[trial].id, sizeof run);
    while (mlflow->busy) /* the thread uses the connection */
        pthread_cond_wait(&mlflow->changed, &mlflow->lock);
    mlflow->held = true;
    pthread_mutex_unlock(&mlflow->lock);
    int rc = *run ? find_root(mlflow, run, &root, error)
                  : gw_error_set(error, GW_ENOENT, "the MLflow server has no run of trial %u",
                                 (unsigned)trial);
    if (rc == 0 && asprintf(&to, "%s/%s", root, name) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0)
        rc = put_folder(mlflow, folder, to, 0, error);
    free(root);
    free(to);
    pthread_mutex_lock(&mlflow->lock);
    mlflow->held = false;
    pthread_cond_signal(&mlflow->wake);
    pthread_mutex_unlock(&mlflow->lock);
    return rc;
}
