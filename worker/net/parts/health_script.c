/* One run after the other: start, read what it prints, wait for its end or its deadline. Not even
 * SIGKILL ends a process that waits for a disk. Such a process is left behind at the end.
 *
 * Invariants: `handles` counts the handles of a run that are not closed yet, and the next run
 * starts only if it is 0. A run is reported once: at its deadline, or else at its end. If it has
 * not ended when the next one should start, it is reported again. */
#include "worker/net/parts/health_script.h"

#include "graph/base/must.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 200 };

struct gw_health_script {
    struct gw_health_script_options options;
    char path[PATH_MAX], name[300], folder[PATH_MAX];
    uv_process_t process;
    uv_poll_t output;
    uv_timer_t deadline;
    int fd, handles;
    bool reported, closed;
    char late[GW_ERROR_TEXT_MAX]; /* why the run failed at its deadline */
    char line[LINE_BYTES];        /* the last one that is not empty */
    size_t length;
    bool line_ended;
};

/* -- Who may change it ------------------------------------------------------------------------- */

static int check_owner(const char *path, struct gw_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return gw_error_set(error, GW_ENOENT, "%s: %s", path, strerror(errno));
    if ((status.st_uid != 0 && status.st_uid != geteuid()) ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return gw_error_set(error, GW_EPERM,
                            "%s must belong to root or to the user of the worker, and nobody else "
                            "may write it",
                            path);
    return 0;
}

int gw_health_script_check(const char *path, struct gw_error *error)
{
    char folder[PATH_MAX];
    struct stat status;
    if (*path != '/')
        return gw_error_set(error, GW_ENOENT, "%s must be an absolute path", path);
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = '\0';
    int rc = check_owner(path, error);
    if (rc == 0)
        rc = check_owner(folder, error);
    if (rc == 0 && (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || access(path, X_OK) < 0))
        rc = gw_error_set(error, GW_ENOENT, "%s is not an executable file", path);
    return rc;
}

/* -- A run ------------------------------------------------------------------------------------- */

static void report(struct gw_health_script *script, const char *why)
{
    if (!script->reported && !script->closed)
        script->options.on_ended(why, script->options.arg);
    script->reported = true;
}

static void script_on_freed(uv_handle_t *handle)
{
    free(handle->data);
}

static void end(struct gw_health_script *script)
{
    if (script->closed && !script->handles)
        uv_close((uv_handle_t *)&script->deadline, script_on_freed);
}

static void script_on_closed(uv_handle_t *handle)
{
    struct gw_health_script *script = handle->data;
    script->handles--;
    end(script);
}

/* Keeps the last line that has a visible character. */
static void note(struct gw_health_script *script, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const bool newline = text[i] == '\n' || text[i] == '\r';
        if (newline) {
            script->line_ended = true;
            continue;
        }
        if (script->line_ended && isspace((unsigned char)text[i]))
            continue;
        if (script->line_ended)
            script->length = 0;
        script->line_ended = false;
        if (script->length < LINE_BYTES - 1)
            script->line[script->length++] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    }
    script->line[script->length] = '\0';
}

/* Reads what is there. Returns false at the end of the output. */
static bool read_output(struct gw_health_script *script)
{
    char text[4096];
    for (int i = 0; i < 16; i++) {
        const ssize_t bytes = read(script->fd, text, sizeof text);
        if (bytes <= 0)
            return bytes < 0 && (errno == EAGAIN || errno == EINTR);
        note(script, text, (size_t)bytes);
    }
    return true;
}

static void script_on_output(uv_poll_t *poll, int status, int events)
{
    struct gw_health_script *script = poll->data;
    (void)events;
    if (status < 0 || !read_output(script))
        (void)uv_poll_stop(poll);
}

static void close_output(struct gw_health_script *script)
{
    close(script->fd);
    uv_close((uv_handle_t *)&script->output, script_on_closed);
}

static void script_on_exit(uv_process_t *process, int64_t exit_code, int signal)
{
    struct gw_health_script *script = process->data;
    char why[GW_ERROR_TEXT_MAX] = "", how[64];
    (void)kill(-process->pid, SIGKILL); /* what it has left */
    (void)uv_timer_stop(&script->deadline);
    (void)uv_poll_stop(&script->output);
    (void)read_output(script);
    if (signal)
        (void)snprintf(how, sizeof how, "killed by signal %d", signal);
    else
        (void)snprintf(how, sizeof how, "exit code %d", (int)exit_code);
    if (*script->folder && !signal && exit_code && *script->line)
        (void)snprintf(why, sizeof why, "%s", script->line);
    else if (signal || exit_code)
        (void)snprintf(why, sizeof why, "%s%s%.300s: %s", script->line, *script->line ? "; " : "",
                       script->path, how);
    report(script, why);
    close_output(script);
    uv_close((uv_handle_t *)process, script_on_closed);
}

static void script_on_deadline(uv_timer_t *timer)
{
    struct gw_health_script *script = timer->data;
    const double timeout_s = (double)script->options.timeout_ms / 1000;
    (void)kill(-script->process.pid, SIGKILL);
    if (*script->folder)
        (void)snprintf(script->late, sizeof script->late,
                       "a write to %.200s has not ended after %g s", script->folder, timeout_s);
    else
        (void)snprintf(script->late, sizeof script->late, "%s%s%.300s: did not end within %g s",
                       script->line, *script->line ? "; " : "", script->path, timeout_s);
    report(script, script->late);
}

/* Starts the program in a process group of its own. Returns a negative code of libuv. */
static int spawn(struct gw_health_script *script)
{
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char home[PATH_MAX + 8], worker[sizeof script->name + 16];
    char command[] = "worker", option[] = "--check-disk";
    char *env[] = {path, home, worker, NULL};
    char *argv[] = {script->path, *script->folder ? command : NULL, option, script->folder, NULL};
    const char *own = getenv("HOME");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    (void)snprintf(home, sizeof home, "HOME=%.*s", PATH_MAX, own ? own : "/");
    (void)snprintf(worker, sizeof worker, "GANGWAY_WORKER=%s", script->name);
    uv_stdio_container_t stdio[] = {{.flags = UV_IGNORE},
                                    {.flags = UV_INHERIT_FD, .data.fd = ends[1]},
                                    {.flags = UV_INHERIT_FD, .data.fd = ends[1]}};
    const uv_process_options_t options = {.exit_cb = script_on_exit,
                                          .file = script->path,
                                          .args = argv,
                                          .env = *script->folder ? NULL : env,
                                          .cwd = "/",
                                          .flags = UV_PROCESS_DETACHED,
                                          .stdio_count = 3,
                                          .stdio = stdio};
    script->process.data = script->output.data = script;
    script->fd = ends[0];
    (void)uv_poll_init(script->options.loop, &script->output, ends[0]);
    int rc = uv_spawn(script->options.loop, &script->process, &options);
    close(ends[1]);
    script->handles = 2;
    if (rc < 0) {
        close_output(script);
        uv_close((uv_handle_t *)&script->process, script_on_closed);
    }
    return rc;
}

void gw_health_script_run(struct gw_health_script *script)
{
    char why[GW_ERROR_TEXT_MAX];
    struct gw_error error;
    if (script->handles) {
        if (*script->late)
            script->options.on_ended(script->late, script->options.arg);
        return;
    }
    *script->late = '\0';
    script->reported = script->line_ended = false;
    script->length = 0;
    *script->line = '\0';
    if (!*script->folder && gw_health_script_check(script->path, &error) < 0) {
        report(script, error.text);
        return;
    }
    int rc = spawn(script);
    if (rc < 0) {
        (void)snprintf(why, sizeof why, "cannot run %.300s: %s", script->path, uv_strerror(rc));
        report(script, why);
        return;
    }
    (void)uv_poll_start(&script->output, UV_READABLE, script_on_output);
    (void)uv_timer_start(&script->deadline, script_on_deadline, script->options.timeout_ms, 0);
}

/* -- Start and end ----------------------------------------------------------------------------- */

struct gw_health_script *gw_health_script_new(const struct gw_health_script_options *options)
{
    struct gw_health_script *script = calloc(1, sizeof *script);
    GW_MUST_PTR(script);
    script->options = *options;
    (void)snprintf(script->path, sizeof script->path, "%s", options->path);
    (void)snprintf(script->name, sizeof script->name, "%s", options->name);
    (void)snprintf(script->folder, sizeof script->folder, "%s",
                   options->folder ? options->folder : "");
    (void)uv_timer_init(options->loop, &script->deadline);
    script->deadline.data = script;
    return script;
}

void gw_health_script_close(struct gw_health_script *script)
{
    script->closed = true;
    if (script->handles && !uv_is_closing((uv_handle_t *)&script->process)) {
        (void)kill(-script->process.pid, SIGKILL);
        close_output(script);
        uv_close((uv_handle_t *)&script->process, script_on_closed);
    }
    end(script);
}
