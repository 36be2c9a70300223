/* Whom the kernel is to kill for memory, and whether it did. */
#ifndef GW_SUPERVISOR_OOM_H
#define GW_SUPERVISOR_OOM_H

#include <stdint.h>

/* gw_oom_kills counts the kernel's kills for memory on this host since it started; 0 where it does
 * not say. */
uint64_t gw_oom_kills(void);

/* What this process starts is to be killed before it. Raised around the start: to write it in the
 * child, where /proc has to be made for that process first, takes ten times as long. */
struct gw_oom_score {
    int fd;                  /* -1: left as it is */
    char own[8], started[8]; /* in text */
};

/* gw_oom_score_open asks for the score of this process; where that is not possible it is left as it
 * is. For ever: the descriptor is closed by exec. */
void gw_oom_score_open(struct gw_oom_score *score);

/* gw_oom_score_raise is for just before a process is started, gw_oom_score_lower for just after. A
 * courtesy: where it is not allowed it does nothing. */
void gw_oom_score_raise(const struct gw_oom_score *score);
void gw_oom_score_lower(const struct gw_oom_score *score);

#endif
