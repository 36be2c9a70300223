/* Writes files of a sweep, or sends it to a server. Each file appears under its name completely
 * written, or not at all. */
#include "client/sweep/controller/sweep.h"
#include "client/sweep/export/optuna.h"
#include "client/sweep/export/tensorboard.h"
#include "client/sweep/picture/picture.h"
#include "client/sweep/sweep_study.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a writer of one file needs; each uses a part of it. */
struct source {
    const struct gw_study *study;
    size_t trial;
    const struct gw_picture *picture;
};

typedef void writer(FILE *out, const struct source *source);

static void write_optuna(FILE *out, const struct source *source)
{
    gw_optuna_write(out, source->study);
}

static void write_events(FILE *out, const struct source *source)
{
    gw_tensorboard_write(out, source->study, source->trial);
}

static void write_picture(FILE *out, const struct source *source)
{
    source->picture->draw(out, source->study);
}

static int write_file(const char *path, writer *write, const struct source *source,
                      struct gw_error *error)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%d.new", path, (int)getpid()) >=
        (int)sizeof temporary)
        return gw_error_set(error, GW_EINVAL, "the path is too long: %.200s", path);
    FILE *out = fopen(temporary, "we");
    if (!out)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    write(out, source);
    const bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed && rename(temporary, path) == 0)
        return 0;
    const int rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    (void)unlink(temporary);
    return rc;
}

/* Writes the file of this name in a folder, which it makes; perhaps the name begins with a folder
 * in the folder. */
static int write_file_in(const char *folder, const char *name, writer *write,
                         const struct source *source, struct gw_error *error)
{
    char path[PATH_MAX];
    const size_t length = strlen(folder);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return gw_error_set(error, GW_EINVAL, "the path is too long: %.200s", folder);
    for (char *slash = path + length; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return gw_error_set(error, GW_EIO, "cannot make the folder %s: %s", path,
                                strerror(errno));
        *slash = '/';
    }
    return write_file(path, write, source, error);
}

static int write_tensorboard(const char *folder, struct source *source, struct gw_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < source->study->trial_count && rc == 0; i++) {
        char name[GW_TENSORBOARD_PATH_BYTES];
        gw_tensorboard_path(source->study, i, name);
        source->trial = i;
        rc = write_file_in(folder, name, write_events, source, error);
    }
    return rc;
}

static int write_pictures(const char *folder, struct source *source, struct gw_error *error)
{
    int rc = 0;
    for (source->picture = gw_pictures; source->picture->file && rc == 0; source->picture++)
        rc = write_file_in(folder, source->picture->file, write_picture, source, error);
    return rc;
}

/* How the sweep stands: 0 if no trial runs. */
static int sweep_end(const struct gw_study *study)
{
    for (size_t i = 0; i < study->trial_count; i++)
        if (!study->trials[i].ended_ns)
            return GW_ECANCELLED;
    return 0;
}

/* Sends a study to an MLflow server, and the files of a folder unless it is NULL. */
static int send_mlflow(struct gw_sweep *sweep, struct gw_client *client, const char *url,
                       const char *folder, struct gw_error *error)
{
    struct gw_sweep_study made;
    struct gw_mlflow *feed = NULL;
    int rc = gw_sweep_study_init(&made, sweep, client, error);
    if (rc == 0)
        rc = gw_sweep_feed_open(sweep, url, &feed, error);
    for (size_t i = 0; rc == 0 && i < made.study.trial_count; i++)
        gw_sweep_feed_reports(feed, (uint32_t)i, &made.study.trials[i]);
    if (rc == 0) {
        (void)gw_sweep_feed_trials(sweep, feed, 0);
        rc = gw_sweep_feed_identify(sweep, client, feed, error);
    }
    if (rc == 0)
        rc = gw_sweep_feed_flush(sweep, feed, sweep_end(&made.study), error);
    if (rc == 0 && folder && made.study.best == made.study.trial_count)
        rc = gw_error_set(error, GW_ENOENT, "no trial has succeeded");
    if (rc == 0 && folder)
        rc = gw_sweep_feed_upload(feed, (uint32_t)made.study.best, folder, error);
    gw_sweep_feed_close(feed);
    gw_sweep_study_deinit(&made);
    return rc;
}

int gw_sweep_upload(struct gw_sweep *sweep, struct gw_client *client, const char *url,
                    const char *folder, struct gw_error *error)
{
    return send_mlflow(sweep, client, url, folder, error);
}

int gw_sweep_export(struct gw_sweep *sweep, struct gw_client *client, enum gw_sweep_format format,
                    const char *path, struct gw_error *error)
{
    struct gw_sweep_study made;
    struct source source = {.study = &made.study};
    if (format == GW_SWEEP_MLFLOW)
        return send_mlflow(sweep, client, path, NULL, error);
    int rc = gw_sweep_study_init(&made, sweep, client, error);
    if (rc == 0 && format == GW_SWEEP_PICTURES)
        rc = write_pictures(path, &source, error);
    else if (rc == 0 && format == GW_SWEEP_TENSORBOARD)
        rc = write_tensorboard(path, &source, error);
    else if (rc == 0 && strcmp(path, "-") == 0)
        write_optuna(stdout, &source);
    else if (rc == 0)
        rc = write_file(path, write_optuna, &source, error);
    gw_sweep_study_deinit(&made);
    return rc;
}
