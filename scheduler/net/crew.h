/* The crew: the workers that a scheduler starts on its own machine, and restarts if they die. */
#ifndef GW_SCHEDULER_NET_CREW_H
#define GW_SCHEDULER_NET_CREW_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct gw_crew;

#define GW_ORPHAN_MS_MAX UINT64_C(3155760000000) /* 100 years */

struct gw_crew_options {
    /* The scheduler's folder, where workers write their logs. Borrowed, must outlive the crew. */
    const char *dir;
    uint32_t workers;
    uint32_t slots;        /* total of all workers; at least one for each */
    const char *peers;     /* HOST for TLS connections between workers; NULL: none */
    const char *resources; /* resources of the first worker; NULL: none; borrowed like dir */
    const char *memory, *spill_dir; /* values of --memory and --spill-dir; NULL: not given */
    uint64_t files_bytes_max;       /* limit of cached task files on a host; 0: the default */
    uint64_t retained_bytes_max;    /* limit of folders kept after commands; 0: the default */
    uint64_t transfer_bytes_max;    /* limit of a checkpoint folder to transfer; 0: the default */
    uint64_t log_bytes_max;         /* limit of each worker's log; 0: the default */
    bool private_cluster;           /* the workers remove `dir` when they end */
    bool trust_users;               /* the workers run tasks of all users */
    uint64_t orphan_ms; /* how long tasks outlive the scheduler; UINT64_MAX: the default */
    /* Called before a worker is started: all processes of an earlier worker of this name have
     * ended. */
    void (*on_new)(const char *name, void *arg);
    /* Returns true if the cluster is about to end. Then a worker that ends is not restarted. */
    bool (*ends)(void *arg);
    /* Called on the loop's thread after gw_crew_close or gw_crew_leave, when no worker is watched
     * any more. */
    void (*on_gone)(void *arg);
    void *arg;
};

/* gw_crew_open starts the workers. Workers that still run from an earlier scheduler become members
 * of the crew, and are restarted when they end. Returns GW_EIO with a text if a worker cannot be
 * started. */
int gw_crew_open(uv_loop_t *loop, const struct gw_crew_options *options, struct gw_crew **crew,
                 struct gw_error *error);

/* gw_crew_who_lives_on returns the process id of the worker of this number (0 to
 * GW_CREW_WORKERS_MAX - 1) if it still runs from an earlier scheduler of this folder, else 0. */
enum { GW_CREW_WORKERS_MAX = 1024 };
pid_t gw_crew_who_lives_on(const char *dir, uint32_t number);

/* gw_crew_lives_on returns true if any worker of an earlier scheduler of this folder is alive. */
bool gw_crew_lives_on(const char *dir);

/* gw_crew_lived_on returns true if the worker of this number was already running when the crew was
 * opened. */
bool gw_crew_lived_on(const struct gw_crew *crew, uint32_t number);

/* gw_crew_close sends SIGTERM to the remaining workers, and SIGKILL after 5 s. When the last has
 * ended, the crew is freed and on_gone is called in a later turn of the loop, also if there were no
 * workers. */
void gw_crew_close(struct gw_crew *crew);

/* gw_crew_leave leaves the workers running for the next scheduler of this folder and frees the
 * crew. on_gone is called as in gw_crew_close. If started_end is set, the workers that this crew
 * started are ended as in gw_crew_close, and only those of an earlier scheduler stay. */
void gw_crew_leave(struct gw_crew *crew, bool started_end);

#endif
