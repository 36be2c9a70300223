/* Every transition that a table allows must be taken: otherwise the table, or the simulated world,
 * allows too much. */
#ifndef GW_TESTS_WORKER_TRANSITIONS_H
#define GW_TESTS_WORKER_TRANSITIONS_H

/* transitions_count starts the count; transitions_want_all fails if a transition was not taken. */
void transitions_count(void);
void transitions_want_all(void);

#endif
