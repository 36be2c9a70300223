/* What earlier jobs left in a cluster's folder: taken out of the way at once, removed behind it. */
#ifndef GW_SCHEDULER_NET_TIDY_H
#define GW_SCHEDULER_NET_TIDY_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct gw_tidy;

struct gw_tidy_options {
    const char *dir; /* borrowed, must outlive it */
    bool (*knows)(uint64_t job, void *arg);
    void *arg;
};

/* gw_tidy_open begins to remove what an earlier process left to be removed. */
struct gw_tidy *gw_tidy_open(uv_loop_t *loop, const struct gw_tidy_options *options);

/* gw_tidy_begin sets aside, before anything runs, the folders of jobs (in checkpoints and logs)
 * whose jobs are not known, and all entries that have no job's number as their name; names that
 * begin with a dot stay. They are removed on another thread. GW_EIO: the folder cannot be made. */
int gw_tidy_begin(struct gw_tidy *tidy, struct gw_error *error);

/* gw_tidy_look does the same with the folders of jobs that are not known any more, all on another
 * thread but for asking which are: `knows` is called in later turns of the loop. */
void gw_tidy_look(struct gw_tidy *tidy);

/* gw_tidy_close stops removing: the next one goes on with the rest. Freed in a later turn of the
 * loop, which waits for one folder at most. NULL is accepted. */
void gw_tidy_close(struct gw_tidy *tidy);

#endif
