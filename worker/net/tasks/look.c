/* Checks if a command can start, by a few stat calls per rank. They run on a thread, since a folder
 * may be on a network file system.
 *
 * Invariant: the check looks at the same files as exec would, in the same order
 * (graph/base/exec_search.h), relative to the folder in which the program will run. */
#include "worker/net/tasks/look.h"

#include "graph/base/exec_search.h"
#include "graph/base/must.h"
#include "graph/wire/codec.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/parts/mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct look {
    uv_work_t work;
    struct gw_host *host;
    uint64_t attempt;
    uint32_t rank;
    char *path, *cwd;
    void *env;
    struct gw_msg_spawn spawn; /* points to the three copies above */
    bool alone;                /* refuse MPI programs */
    int rc;
    struct gw_error error;
};

/* Returns the value of PATH in the list, or NULL. It points into the list. */
static const char *find_path(const struct gw_value *list)
{
    const char *text;
    for (size_t i = 0; i < gw_value_count(list); i++)
        if (gw_value_get_str(gw_value_at(list, i), &text, NULL) == 0 &&
            strncmp(text, "PATH=", 5) == 0)
            return text + 5;
    return NULL;
}

/* Finds the first candidate that can be executed. Returns 0, ENOENT, or EACCES if a candidate
 * exists but cannot be executed. A folder of PATH without search permission counts as empty. */
static int find_program(int folder, bool searches, char *const *candidates, const char **found)
{
    int failure = ENOENT;
    struct stat status;
    for (; *candidates; candidates++) {
        if (faccessat(folder, *candidates, X_OK, 0) == 0 &&
            fstatat(folder, *candidates, &status, 0) == 0 && S_ISREG(status.st_mode)) {
            *found = *candidates;
            return 0;
        }
        if (faccessat(folder, *candidates, F_OK, 0) == 0 || (errno == EACCES && !searches))
            failure = EACCES;
    }
    return failure;
}

static int say(const struct gw_msg_spawn *spawn, int why, struct gw_error *error)
{
    if (why == EACCES)
        return gw_error_set(error, GW_ESTART,
                            "cannot start %s: permission denied: it is not an executable file on "
                            "that host (chmod +x)",
                            spawn->path);
    char hint[GW_EXEC_HINT_ROOM];
    if (*gw_exec_search_hint(spawn->cwd, spawn->path, hint))
        return gw_error_set(error, GW_ENOENT, "cannot start %s: no such file%s", spawn->path, hint);
    if (!strchr(spawn->path, '/'))
        return gw_error_set(error, GW_ENOENT,
                            "cannot start %s: no such file in any folder of PATH on that host: "
                            "install it there, or send it along with --ship",
                            spawn->path);
    return gw_error_set(error, GW_ENOENT,
                        "cannot start %s: no such file on that host: put it there under the same "
                        "path, or send it along with --ship",
                        spawn->path);
}

/* Returns GW_ESTART, with an explanation, if the program uses MPI, since its ranks would not find
 * each other. */
static int refuse_mpi(const char *name, int folder, const char *path, const struct gw_value *env,
                      struct gw_error *error)
{
    char text[GW_MPI_TEXT];
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && gw_mpi_file(fd, text) && !gw_mpi_is_meant(env);
    if (fd >= 0)
        close(fd);
    return is ? gw_mpi_explain(name, text, error) : 0;
}

/* Checks if the folder and the program of a spawn message exist. Returns 0, GW_ENOENT or GW_ESTART,
 * with an explanation. May block. */
static int look_at(const struct look *look, struct gw_error *error)
{
    const struct gw_msg_spawn *spawn = &look->spawn;
    const char *found = NULL;
    struct gw_value *env = NULL;
    int folder = open(*spawn->cwd ? spawn->cwd : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return gw_error_set(
            error, GW_ESTART,
            "cannot start: working directory %s: %s on that host: make it there under "
            "the same path, or send its files along with --ship",
            spawn->cwd, errno == ENOENT ? "no such folder" : strerror(errno));
    int rc =
        spawn->env.size ? gw_codec_decode(spawn->env.data, spawn->env.size, NULL, &env, error) : 0;
    char **candidates =
        rc < 0 ? NULL : gw_exec_search_new(spawn->path, env ? find_path(env) : NULL);
    if (rc == 0 && !candidates)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    int why = rc == 0 ? find_program(folder, !strchr(spawn->path, '/'), candidates, &found) : 0;
    if (why)
        rc = say(spawn, why, error);
    if (found && look->alone)
        rc = refuse_mpi(spawn->path, folder, found, env, error);
    free(candidates);
    gw_value_unref(env);
    close(folder);
    return rc;
}

static void look_on_thread(uv_work_t *work)
{
    struct look *look = work->data;
    look->rc = look_at(look, &look->error);
}

static void look_on_done(uv_work_t *work, int status)
{
    struct look *look = work->data;
    (void)status;
    if (!look->host->exiting)
        (void)gw_host_step(look->host,
                           &(struct gw_event){.type = GW_EVENT_LOOKED,
                                              .number = look->attempt,
                                              .rank = look->rank,
                                              .code = look->rc,
                                              .text = look->rc < 0 ? look->error.text : NULL});
    free(look->path);
    free(look->cwd);
    free(look->env);
    free(look);
}

void gw_look_start(struct gw_host *host, const struct gw_effect *effect)
{
    const struct gw_msg_spawn *spawn = &effect->message.spawn;
    if (host->options.separate_users) { /* this process cannot see what its user sees */
        gw_step_later(host, &(struct gw_event){.type = GW_EVENT_LOOKED,
                                               .number = effect->number,
                                               .rank = effect->count});
        return;
    }
    struct look *look = calloc(1, sizeof *look);
    GW_MUST_PTR(look);
    look->work.data = look;
    look->host = host;
    look->attempt = effect->number;
    look->rank = effect->count;
    look->alone = effect->alone;
    look->path = strdup(spawn->path);
    look->cwd = strdup(spawn->cwd);
    look->env = malloc(spawn->env.size + 1);
    GW_MUST_PTR(look->path);
    GW_MUST_PTR(look->cwd);
    GW_MUST_PTR(look->env);
    if (spawn->env.size)
        memcpy(look->env, spawn->env.data, spawn->env.size);
    look->spawn = (struct gw_msg_spawn){
        .path = look->path, .cwd = look->cwd, .env = {look->env, spawn->env.size}};
    int rc = uv_queue_work(host->loop, &look->work, look_on_thread, look_on_done);
    GW_MUST(rc);
}
