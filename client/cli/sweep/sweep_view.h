/* What `gangway sweep` shows. */
#ifndef GW_CLI_SWEEP_VIEW_H
#define GW_CLI_SWEEP_VIEW_H

#include "client/cli/sweep/sweep_definition.h"
#include "graph/base/text.h"

#include <stdio.h>

extern const char *const gw_sweep_view_states[]; /* names of enum gw_trial_state */

/* gw_sweep_view_waits returns true if the search has named a trial and it has no job yet.
 * gw_sweep_view_state returns the state of a trial for people; of such a trial "waiting". */
static inline bool gw_sweep_view_waits(const struct gw_sweep_trial *trial)
{
    return trial->trial->state == GW_TRIAL_RUNNING && !trial->job;
}
const char *gw_sweep_view_state(const struct gw_sweep_trial *trial);

struct gw_sweep_counts {
    uint32_t of[GW_TRIAL_CANCELLED + 1], ended; /* trials in each state; trials that have ended */
    uint32_t waiting;                           /* those in state running that wait */
};
struct gw_sweep_counts gw_sweep_view_count(const struct gw_sweep *sweep);

/* gw_sweep_view_params writes params as "lr=0.01 batch=64"; `cut`: with 4 digits, for a terminal.
 * gw_sweep_view_value writes the value of a trial, "-" if it has none; `cut`: with 6 digits.
 * gw_sweep_view_line writes the summary of gw_sweep_view_summary without a newline. */
enum { GW_SWEEP_LINE_MAX = 512 };
void gw_sweep_view_params(const struct gw_value *params, bool cut, char *text, size_t text_bytes);
void gw_sweep_view_value(double value, bool cut, char text[GW_TEXT_REAL_ROOM]);
void gw_sweep_view_line(const struct gw_sweep_definition *definition, const struct gw_sweep *sweep,
                        char *text, size_t text_bytes);

/* gw_sweep_view_summary prints one line: trials by state, the best value. gw_sweep_view_best prints
 * the best trial and its command line, as JSON if the definition says so. gw_sweep_view_table
 * prints the trials, the best first; `count` 0: all. gw_sweep_view_json prints all as one JSON
 * object. gw_sweep_view_csv writes one row for each trial. All errors of writing are left to the
 * stream. */
void gw_sweep_view_summary(FILE *out, const struct gw_sweep_definition *definition,
                           const struct gw_sweep *sweep);
int gw_sweep_view_best(FILE *out, const struct gw_sweep_definition *definition,
                       const struct gw_sweep *sweep, struct gw_error *error);
int gw_sweep_view_table(FILE *out, const struct gw_sweep_definition *definition,
                        const struct gw_sweep *sweep, size_t count, struct gw_error *error);
int gw_sweep_view_json(FILE *out, const struct gw_sweep_definition *definition,
                       const struct gw_sweep *sweep, struct gw_error *error);
void gw_sweep_view_csv(FILE *out, const struct gw_sweep_definition *definition,
                       const struct gw_sweep *sweep);

#endif
