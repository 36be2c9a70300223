/* Searches for tests: made, asked and ended in a line each. */
#ifndef GW_TESTS_SEARCHES_H
#define GW_TESTS_SEARCHES_H

#include "tests/unit/unit.h"

#include <gangway/search.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gw_error error;

/* A space of parameters, up to a NULL. */
static inline struct gw_space *make_space(const char *const *params)
{
    struct gw_space *space = gw_space_new();
    for (; *params; params++)
        if (gw_space_add(space, *params, &error) < 0)
            fail_msg("%s", error.text);
    return space;
}
#define SPACE(...) make_space((const char *const[]){__VA_ARGS__, NULL})

static inline struct gw_search *make_search(struct gw_space *space,
                                            const struct gw_search_options *options)
{
    struct gw_search *search;
    if (gw_search_new(space, options, &search, &error) < 0)
        fail_msg("%s", error.text);
    return search;
}

static inline const struct gw_trial *ask(struct gw_search *search)
{
    const struct gw_trial *trial;
    if (gw_search_ask(search, 0, &trial, &error) < 0)
        fail_msg("%s", error.text);
    return trial;
}

static inline double number(const struct gw_trial *trial, const char *name)
{
    double x = NAN;
    gw_value_get_f64(gw_value_find(trial->params, name), &x, NULL);
    return x;
}

static inline void end(struct gw_search *search, const struct gw_trial *trial, double value)
{
    assert_int_equal(gw_search_end(search, trial->number, GW_TRIAL_DONE, value, &error), 0);
}

static inline void expect_over(struct gw_search *search, const char *said)
{
    const struct gw_trial *trial;
    const int rc = gw_search_ask(search, 0, &trial, &error);
    assert_null(trial);
    if (rc != GW_ENOENT || !strstr(error.text, said))
        fail_msg("%d, %s", rc, error.text);
}

static inline void expect_refused(struct gw_space *space, const struct gw_search_options *options,
                                  const char *said)
{
    struct gw_search *search;
    const int rc = gw_search_new(space, options, &search, &error);
    assert_null(search);
    if (rc >= 0 || !strstr(error.text, said))
        fail_msg("%d, %s", rc, error.text);
}

static inline enum gw_decision tell(struct gw_search *search, uint32_t trial, uint64_t step,
                                    double value)
{
    enum gw_decision decision;
    assert_int_equal(gw_search_tell(search, trial, step, value, &decision, &error), 0);
    return decision;
}

#endif
