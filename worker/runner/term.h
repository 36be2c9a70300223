/* Handles SIGTERM while a rank runs: it is only a request until the grace period is over. Rank 0
 * answers it at its next step, so that all ranks stop at the same step and can save their state.
 * The state is global, as signals are. */
#ifndef GW_RUNNER_TERM_H
#define GW_RUNNER_TERM_H

#include <stdbool.h>

/* gw_term_heed makes the process note the signal from now on. */
void gw_term_heed(void);

/* gw_term_told returns true if the signal has arrived. */
bool gw_term_told(void);

/* gw_term_let_be restores the usual effect of the signal. It returns true if the signal arrived
 * before. The caller must then raise it after it has sent its messages. */
bool gw_term_let_be(void);

#endif
