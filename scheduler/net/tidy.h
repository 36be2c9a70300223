/* Removes what earlier jobs left in a cluster's folder. Their folders are renamed at once and
 * removed in the background. */
#ifndef GW_SCHEDULER_NET_TIDY_H
#define GW_SCHEDULER_NET_TIDY_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct gw_tidy;

struct gw_tidy_options {
    const char *dir; /* borrowed, must outlive the object */
    bool (*knows)(uint64_t job, void *arg);
    void *arg;
};

/* gw_tidy_open begins to remove folders that an earlier process had renamed but not removed. */
struct gw_tidy *gw_tidy_open(uv_loop_t *loop, const struct gw_tidy_options *options);

/* gw_tidy_begin renames the folders of unknown jobs in checkpoints and logs, and all entries there
 * that are not named by a job id, except names that begin with a dot. They are removed on another
 * thread. Call it before any task runs. Returns GW_EIO if the target folder cannot be made. */
int gw_tidy_begin(struct gw_tidy *tidy, struct gw_error *error);

/* gw_tidy_look does the same for jobs that were forgotten since. It works on another thread, except
 * for the calls of `knows`, which happen in later turns of the loop. */
void gw_tidy_look(struct gw_tidy *tidy);

/* gw_tidy_close stops the removal. The next process continues it. The object is freed in a later
 * turn of the loop, which waits for the removal of at most one folder. NULL is accepted. */
void gw_tidy_close(struct gw_tidy *tidy);

#endif
