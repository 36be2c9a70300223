/* A scheduler for tests of the client: a thread that speaks the protocol on one connection, and
 * does with each task what the name of its function says:
 *
 *   echo     its value is the list of its arguments
 *   bad      fails: GW_ETASK, exit code 7, "boom"
 *   never    goes on until it is cancelled
 *   large    a value of fake_scheduler_large bytes, to be fetched
 *   flaky    fails the first time, echoes after a retry
 *   refused  its job is rejected with GW_EINFEASIBLE
 *   gone     the connection ends
 *   leaves   the first time the connection ends when its job was accepted; then it echoes
 *   breaks   the first time the connection ends before that
 *   garbage  bytes that are no frame
 *
 * That a quiet submit was accepted is held back until there is more to say, or the client says
 * something else, and never told where the connection ends before that.
 *
 * A job that takes results of another connection's is rejected with GW_ENOENT.
 *
 * Queries: "echo" gives back its arguments, "counts" a dict of what came in: "releases",
 * "submits", "bytes" (of arguments), "programs", "blobs", "scatters". */
#ifndef GW_TESTS_UNIT_FAKE_SCHEDULER_H
#define GW_TESTS_UNIT_FAKE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_FAKE_LARGE_BYTES = 1 << 20 };

struct gw_fake_scheduler;

/* gw_fake_scheduler_open listens and serves connections, one after the other. */
struct gw_fake_scheduler *gw_fake_scheduler_open(void);
void gw_fake_scheduler_close(struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_address is "unix:/..."; borrowed. */
const char *gw_fake_scheduler_address(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_releases counts the rows that were released so far. */
int64_t gw_fake_scheduler_releases(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_hold lets fetches wait for each other until so many have come.
 * gw_fake_scheduler_was_late: they did not come in time, and were answered all the same. */
void gw_fake_scheduler_hold(struct gw_fake_scheduler *fake, uint32_t fetches);
bool gw_fake_scheduler_was_late(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_leave ends the connection, and refuses others until gw_fake_scheduler_return.
 */
void gw_fake_scheduler_leave(struct gw_fake_scheduler *fake);
void gw_fake_scheduler_return(struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_refuse answers the next hello with GW_EVERSION. */
void gw_fake_scheduler_refuse(struct gw_fake_scheduler *fake);

#endif
