/* Makes and copies folders of trials. A copy is made beside the old folder and takes its place when
 * it is complete, so that a trial never starts from half of a checkpoint. */
#include "client/cli/sweep/trial_folder.h"

#include "client/cli/lib/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { COPIES_MAX = 5 };

extern char **environ;

int gw_trial_folder_path(const char *cwd, const char *dir, uint32_t number,
                         char path[static PATH_MAX], struct gw_error *error)
{
    const bool whole = *dir == '/';
    const int length = snprintf(path, PATH_MAX, "%s%s%s/%" PRIu32, whole ? "" : cwd,
                                whole ? "" : "/", dir, number);
    return length < PATH_MAX - (int)sizeof ".copy"
               ? 0
               : gw_error_set(error, GW_EINVAL,
                              "--trial-dirs: the path of a folder is longer than %d bytes",
                              PATH_MAX - 1);
}

static int run(const char *const *words, struct gw_error *error)
{
    pid_t pid;
    int status = 0;
    const int rc =
        posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)(uintptr_t)words, environ);
    if (rc != 0)
        return gw_error_set(error, GW_EIO, "cannot start %s: %s", words[0], strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0
                       : gw_error_set(error, GW_EIO, "%s failed for the folder %s: see above",
                                      words[0], words[3]);
}

static int copy(const char *from, const char *to, struct gw_error *error)
{
    char made[PATH_MAX], all[PATH_MAX + 8];
    struct stat status;
    if (stat(from, &status) < 0)
        return 0; /* the other trial has saved nothing yet */
    (void)snprintf(made, sizeof made, "%.*s.copy", PATH_MAX - 8, to);
    (void)snprintf(all, sizeof all, "%s/.", from);
    int rc = -1;
    /* The other trial may still run. A file that it removes or renames meanwhile makes cp fail. */
    for (int i = 0; rc < 0 && i < COPIES_MAX; i++) {
        rc = run((const char *const[]){"rm", "-rf", "--", made, NULL}, error);
        if (rc == 0)
            rc = gw_cli_make_output(made, error);
        if (rc == 0)
            rc = run((const char *const[]){"cp", "-a", "--", all, made, NULL}, error);
    }
    if (rc == 0)
        rc = run((const char *const[]){"rm", "-rf", "--", to, NULL}, error);
    if (rc == 0 && rename(made, to) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot rename the folder %s: %s", made, strerror(errno));
    return rc;
}

int gw_trial_folder_make(const char *cwd, const char *dir, const struct gw_trial *trial,
                         struct gw_error *error)
{
    char own[PATH_MAX], from[PATH_MAX];
    int rc = gw_trial_folder_path(cwd, dir, trial->number, own, error);
    if (rc == 0 && trial->source != trial->number) {
        rc = gw_trial_folder_path(cwd, dir, trial->source, from, error);
        rc = rc == 0 ? copy(from, own, error) : rc;
    }
    return rc == 0 ? gw_cli_make_output(own, error) : rc;
}
