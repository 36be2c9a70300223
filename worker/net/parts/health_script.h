/* Runs a health check: a program that is well if it ends with exit code 0. It is the admin's, or
 * this program itself, which checks a disk. */
#ifndef GW_NET_HEALTH_SCRIPT_H
#define GW_NET_HEALTH_SCRIPT_H

#include <gangway/error.h>
#include <uv.h>

struct gw_health_script;

struct gw_health_script_options {
    uv_loop_t *loop;
    const char *path, *name; /* the program, and the name of this worker; copied */
    const char *folder;      /* NULL, or check the disk of this folder, with this program; copied */
    uint64_t timeout_ms;     /* it is killed after this time, with its process group */
    /* Called in a later turn for each run: why it fails, with the last line that it printed, or "".
     * It is called again when the next run should start and this one has not ended. The text is
     * borrowed during the call. */
    void (*on_ended)(const char *why, void *arg);
    void *arg;
};

/* gw_health_script_check returns GW_EPERM, with a text, if somebody other than root and this user
 * can change the program, and GW_ENOENT if it cannot be run. */
int gw_health_script_check(const char *path, struct gw_error *error);

struct gw_health_script *gw_health_script_new(const struct gw_health_script_options *options);

/* gw_health_script_run starts the program, unless its last run has not ended. The program of an
 * admin gets the variables PATH, HOME and GANGWAY_WORKER, the name of the worker. */
void gw_health_script_run(struct gw_health_script *script);

/* gw_health_script_close kills a running program, does not wait for its end, and frees the
 * structure in a later turn. on_ended is not called any more. */
void gw_health_script_close(struct gw_health_script *script);

#endif
