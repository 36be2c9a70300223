/* The crew: the workers that a scheduler starts on its own machine, and starts again when they die.
 */
#ifndef GW_SCHEDULER_NET_CREW_H
#define GW_SCHEDULER_NET_CREW_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct gw_crew;

#define GW_ORPHAN_MS_MAX UINT64_C(3155760000000) /* a century */

struct gw_crew_options {
    const char *dir; /* the scheduler's; workers log there; borrowed, must outlive the crew */
    uint32_t workers;
    uint32_t slots;        /* in all; as many as workers at least */
    const char *peers;     /* HOST where its workers reach each other by TLS; NULL: descriptors */
    const char *resources; /* that the first worker offers; NULL: none; borrowed likewise */
    const char *memory, *spill_dir; /* for their --memory and --spill-dir; NULL: not given */
    uint64_t files_bytes_max;       /* of files that each host keeps; 0: the default */
    uint64_t kept_bytes_max;        /* of what commands with files left; 0: the default */
    uint64_t transfer_bytes_max;    /* of a folder of checkpoints; 0: the default */
    uint64_t log_bytes_max;         /* of the log of each; 0: the default */
    bool private_cluster;           /* they remove `dir` at their end */
    uint64_t orphan_ms; /* how long what they run outlives the scheduler; UINT64_MAX: the default */
    /* A worker is about to be started: what an earlier one of this name ran is gone. */
    void (*on_new)(const char *name, void *arg);
    /* Whether the cluster is about to end: who ends then is not started anew. */
    bool (*ends)(void *arg);
    /* All workers have ended, after gw_crew_close; on the loop's thread. */
    void (*on_gone)(void *arg);
    void *arg;
};

/* gw_crew_open starts the workers, but for those that live on from an earlier scheduler: they are
 * its members as they are, and are started anew when they end. GW_EIO with text when one cannot be
 * started. */
int gw_crew_open(uv_loop_t *loop, const struct gw_crew_options *options, struct gw_crew **crew,
                 struct gw_error *error);

/* gw_crew_who_lives_on is the process of the worker of this number (0 to GW_CREW_WORKERS_MAX - 1)
 * that an earlier scheduler of this folder has left; 0: there is none. */
enum { GW_CREW_WORKERS_MAX = 1024 };
pid_t gw_crew_who_lives_on(const char *dir, uint32_t number);

/* gw_crew_lives_on tells whether a worker of an earlier scheduler of this folder lives. */
bool gw_crew_lives_on(const char *dir);

/* gw_crew_lived_on tells whether the worker of this number was there before the crew was. */
bool gw_crew_lived_on(const struct gw_crew *crew, uint32_t number);

/* gw_crew_close sends SIGTERM to the workers that are left, SIGKILL after 5 s, and frees the crew
 * when the last has ended: on_gone follows in a later turn, also when there are none. */
void gw_crew_close(struct gw_crew *crew);

/* gw_crew_leave lets the workers live on for the next scheduler of this folder, and frees the crew:
 * on_gone follows as above. started_end: those that this crew started end as in gw_crew_close, and
 * only those that had lived on stay. */
void gw_crew_leave(struct gw_crew *crew, bool started_end);

#endif
