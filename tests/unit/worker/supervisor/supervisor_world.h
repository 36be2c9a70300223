/* A supervisor for each test of a program, and its helpers. */
#ifndef GW_TESTS_SUPERVISOR_WORLD_H
#define GW_TESTS_SUPERVISOR_WORLD_H

#include "graph/base/clock.h"
#include "tests/unit/worker/supervisor/supervisor_harness.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(script) ARGV("/bin/sh", "-c", script)
#define FOREVER_NS (600 * GW_NS_PER_S)
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* This program as a helper (its first argument), started by a shell that continues with `then`. */
#define HELPER(which, then) ARGV("/bin/sh", "-c", "\"$0\" " which "; " then, supervisor_self)

extern struct harness harness;     /* from set_up to tear_down */
extern char supervisor_self[4096]; /* the path of this program, which main fills in */

int set_up(void **state);
int tear_down(void **state);

/* start starts a process and expects that it begins. */
void start(uint64_t process, const char *const *argv);
struct harness_event wait_exited(uint64_t process);
void wait_reaped(uint64_t process);

/* supervisor_daemon_main is the helper "daemon": a process in a session of its own, whose parents
 * are gone, whose environment is empty, and which ignores SIGTERM. */
int supervisor_daemon_main(void);

#endif
