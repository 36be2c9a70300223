/* SIGTERM while a rank runs: a wish, until the grace is over. Rank 0 answers it at its next step,
 * so that all ranks stop at the same one and can save what they have. Of the process, as signals
 * are. */
#ifndef GW_RUNNER_TERM_H
#define GW_RUNNER_TERM_H

#include <stdbool.h>

/* gw_term_heed: from here on the signal is noted. */
void gw_term_heed(void);

/* gw_term_told tells whether it came. */
bool gw_term_told(void);

/* gw_term_let_be: the signal has its usual effect again. Tells whether it came before that: then
 * the caller raises it when what must leave has left. */
bool gw_term_let_be(void);

#endif
