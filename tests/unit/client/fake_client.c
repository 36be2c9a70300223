/* See fake_client.h. */
#include "tests/unit/client/fake_client.h"

#include <stdio.h>
#include <stdlib.h>

int fake_setup_alone(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->fake = gw_fake_scheduler_open();
    *state = f;
    return 0;
}

int fake_setup(void **state)
{
    (void)fake_setup_alone(state);
    struct fixture *f = *state;
    struct gw_client_options options = GW_INIT(
        gw_client_options, .address = gw_fake_scheduler_address(f->fake), .no_reconnect = true);
    int rc = gw_client_open(&options, &f->client, &f->error);
    if (rc < 0)
        fprintf(stderr, "%s\n", f->error.text);
    return rc;
}

int fake_teardown(void **state)
{
    struct fixture *f = *state;
    gw_client_close(f->client);
    gw_fake_scheduler_close(f->fake);
    free(f);
    return 0;
}

int64_t count_of(struct fixture *f, const char *what)
{
    struct gw_value *counts;
    int64_t n;
    assert_int_equal(gw_client_query(f->client, "counts", NULL, &counts, NULL), 0);
    assert_int_equal(gw_value_get_i64(gw_value_find(counts, what), &n, NULL), 0);
    gw_value_unref(counts);
    return n;
}
