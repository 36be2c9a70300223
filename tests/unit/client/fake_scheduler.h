/* A scheduler for tests of the client: a thread that speaks the protocol on one connection, and
 * treats each task by the name of its function:
 *
 *   echo     returns the list of its arguments
 *   bad      fails with GW_ETASK, exit code 7 and "boom"
 *   never    runs until it is cancelled
 *   large    returns a value of fake_scheduler_large bytes, to be fetched
 *   flaky    fails the first time, and echoes after a retry
 *   refused  its job is rejected with GW_EINFEASIBLE
 *   gone     ends the connection
 *   leaves   ends the connection the first time, after its job was accepted; then it echoes
 *   breaks   ends the connection the first time, before its job was accepted
 *   garbage  sends bytes that are no frame
 *
 * The acceptance of a quiet submit is held until there is another message, or the client sends
 * something else; it is never sent if the connection ends before that.
 *
 * A job that takes results of another connection is rejected with GW_ENOENT.
 *
 * A tunnel returns what is written to it.
 *
 * Queries: "echo" returns its arguments, "counts" a dict of the received messages: "releases",
 * "submits", "bytes" (of arguments), "programs", "blobs", "scatters". */
#ifndef GW_TESTS_UNIT_FAKE_SCHEDULER_H
#define GW_TESTS_UNIT_FAKE_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_FAKE_LARGE_BYTES = 1 << 20 };

struct gw_fake_scheduler;

/* gw_fake_scheduler_open listens, and serves one connection after the other. */
struct gw_fake_scheduler *gw_fake_scheduler_open(void);
void gw_fake_scheduler_close(struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_address is "unix:/..."; borrowed. */
const char *gw_fake_scheduler_address(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_releases counts the rows released so far. */
int64_t gw_fake_scheduler_releases(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_hold makes fetches wait for each other until `count` have arrived.
 * gw_fake_scheduler_was_late: they did not arrive in time and were answered nevertheless. */
void gw_fake_scheduler_hold(struct gw_fake_scheduler *fake, uint32_t fetches);
bool gw_fake_scheduler_was_late(const struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_leave ends the connection and refuses others until gw_fake_scheduler_return. */
void gw_fake_scheduler_leave(struct gw_fake_scheduler *fake);
void gw_fake_scheduler_return(struct gw_fake_scheduler *fake);

/* gw_fake_scheduler_refuse answers the next hello with GW_EVERSION. */
void gw_fake_scheduler_refuse(struct gw_fake_scheduler *fake);

#endif
