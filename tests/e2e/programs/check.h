/* If a condition does not hold, each program here prints where and why, and ends. */
#ifndef GW_TESTS_E2E_CHECK_H
#define GW_TESTS_E2E_CHECK_H

#include <gangway/error.h>

#include <stdio.h>
#include <stdlib.h>

static struct gw_error error; /* of the last call */

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, error.text);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* For a call that returns 0 or an error. */
#define MUST(x) CHECK((x) >= 0)

#endif
