/* ASHA: of the trials that have reached a rung, a number of steps, only the best go on. */
#ifndef GW_SEARCH_ASHA_H
#define GW_SEARCH_ASHA_H

#include "client/sweep/search/state.h"

/* gw_asha_judge records the last report of a trial, and says how the trial goes on. */
int gw_asha_judge(struct gw_search *search, struct gw_search_trial *trial,
                  enum gw_decision *decision);

/* gw_asha_promote returns the paused trial that goes on to its next rung, or NULL. */
struct gw_search_trial *gw_asha_promote(struct gw_search *search);

/* gw_asha_begin gives a new trial its first rung. */
void gw_asha_begin(const struct gw_search *search, struct gw_search_trial *trial);

void gw_asha_deinit(struct gw_search *search);

/* gw_asha_promote_last returns the best paused trial of the highest rung, or NULL. It goes on
 * although it is not among the best 1/eta, so that also a search of few trials has one that ends.
 */
struct gw_search_trial *gw_asha_promote_last(struct gw_search *search);

#endif
