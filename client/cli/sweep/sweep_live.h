/* The lines that change while a sweep runs. */
#ifndef GW_CLI_SWEEP_LIVE_H
#define GW_CLI_SWEEP_LIVE_H

#include "client/cli/sweep/sweep_definition.h"

/* On a terminal a block of lines that is printed again, else one line for each trial that has
 * ended. They go to stderr. */
struct gw_sweep_live {
    const struct gw_sweep_definition *definition;
    bool terminal;
    bool earlier;        /* the next update is the first of a sweep that continues */
    int lines;           /* of the block on the terminal */
    uint64_t printed_ns; /* when it was printed */
    uint8_t *told;       /* of each trial: its state + 1 that was printed; 0: none */
    uint32_t told_count;
    uint64_t began_ns;
};

void gw_sweep_live_init(struct gw_sweep_live *live, const struct gw_sweep_definition *definition);
void gw_sweep_live_update(struct gw_sweep_live *live, const struct gw_sweep *sweep);
void gw_sweep_live_deinit(struct gw_sweep_live *live); /* removes the block */

#endif
