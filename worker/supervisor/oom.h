/* The kernel's out-of-memory killer: which processes it should kill first, and if it has killed. */
#ifndef GW_SUPERVISOR_OOM_H
#define GW_SUPERVISOR_OOM_H

#include <stdint.h>

/* gw_oom_kills returns how many processes the kernel has killed for memory on this host since it
 * started. 0: unknown. */
uint64_t gw_oom_kills(void);

/* Makes the kernel kill the started processes before this one. The score is raised around the
 * start. Writing it in the child would take ten times as long, since the kernel would have to
 * create the child's /proc entries first. */
struct gw_oom_score {
    int fd;                  /* -1: the score is not changed */
    char own[8], started[8]; /* scores as text */
};

/* gw_oom_score_open opens the score of this process. If that fails, the score is not changed. The
 * descriptor stays open until exec. */
void gw_oom_score_open(struct gw_oom_score *score);

/* gw_oom_score_raise must be called just before a process is started, gw_oom_score_lower just
 * after. They do nothing if this is not permitted. */
void gw_oom_score_raise(const struct gw_oom_score *score);
void gw_oom_score_lower(const struct gw_oom_score *score);

#endif
