/* Every transition that a table allows must be taken: else the table, or the made-up world, says
 * too much. */
#ifndef GW_TESTS_WORKER_TRANSITIONS_H
#define GW_TESTS_WORKER_TRANSITIONS_H

/* transitions_count begins to count them; transitions_want_all fails where one was not taken. */
void transitions_count(void);
void transitions_want_all(void);

#endif
