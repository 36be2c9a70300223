/* What runners leave for each other, and what they skip. */
#ifndef GW_TESTS_SIM_BOARD_H
#define GW_TESTS_SIM_BOARD_H

#include "tests/sim/sim.h"

/* sim_board_world tells whether this is a world of stencils: of few hosts, whose jobs are nearly
 * all such. By a hash: what other worlds are made of stays as it is. */
bool sim_board_world(const struct sim *sim);

/* sim_board_wants tells whether the next job is a stencil.
 * sim_board_job makes one: short tasks, each behind its neighbours of the step before. */
bool sim_board_wants(struct sim *sim);
struct sim_job *sim_board_job(struct sim *sim, struct client *client);

/* sim_board_told takes places for what comes with the next assign; sim_board_place gives a row its
 * own of them. */
void sim_board_told(struct process *process, const struct gw_msg_board_put *put);
void sim_board_place(struct process *process, struct row *row);

/* sim_board_input adds an input to a row: `value`, or what is left at a place (not 0). */
void sim_board_input(struct row *row, uint64_t value, uint64_t place);

/* sim_board_of_batch adds one that row `at` of the same process makes. */
void sim_board_of_batch(struct sim *sim, const struct process *process, size_t at, struct row *row);

/* sim_board_lets tells whether a runner's first row has all that it takes, and may begin; else it
 * waits, or was skipped, with a word to the worker: the process may be gone. */
bool sim_board_lets(struct sim *sim, struct process *process);

/* sim_board_done takes what the first row has made to the board, and may have it told later: true.
 */
bool sim_board_done(struct sim *sim, struct process *process);

/* sim_board_skip has all rows skipped that take what an attempt in their batch was to make. */
void sim_board_skip(struct sim *sim, struct process *process, uint64_t attempt);

/* sim_board_said: what lies at a place, if it is one, its runner has told the worker of.
 * sim_board_forget: an attempt is sent, once more perhaps: what it took before does not count.
 * sim_board_stepped checks that no end is told of what took what the worker has not heard of. */
void sim_board_said(struct host *host, uint64_t place);
void sim_board_forget(struct host *host, uint64_t attempt);
void sim_board_stepped(struct sim *sim, struct host *host, const struct gw_effects *effects);

/* sim_board_died has a runner that dies say what it executes, if it does; that alone is charged. */
void sim_board_died(const struct sim *sim, struct process *process);

#endif
