/* A fixture with a client of a fake scheduler. */
#ifndef GW_TESTS_FAKE_CLIENT_H
#define GW_TESTS_FAKE_CLIENT_H

#include "tests/unit/client/fake_scheduler.h"
#include "tests/unit/unit.h"

#include <gangway/gangway.h>

struct fixture {
    struct gw_fake_scheduler *fake;
    struct gw_client *client;
    struct gw_error error;
};

/* FAKED defines a function of which only the name counts: the fake scheduler decides the result. */
#define FAKED(name)                                                                                \
    static int name(struct gw_task *task)                                                          \
    {                                                                                              \
        return gw_task_fail(task, GW_EINVAL, #name " is not to run");                              \
    }                                                                                              \
    GW_TASK(name)

/* fake_setup makes a fixture whose client does not reconnect; fake_setup_alone makes one without a
 * client, which the test opens. fake_teardown closes what is open. For cmocka. */
int fake_setup(void **state);
int fake_setup_alone(void **state);
int fake_teardown(void **state);
#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, fake_setup, fake_teardown)
#define WITH_FAKE_ALONE(test) cmocka_unit_test_setup_teardown(test, fake_setup_alone, fake_teardown)

/* count_of returns one of the scheduler's "counts". */
int64_t count_of(struct fixture *f, const char *what);

#endif
