/* Both directions of a ring alternate: even if the wire accepts and delivers everything, only a
 * small part of a flow moves in one direction before some of the other moves. */
#include "tests/unit/unit.h"

#include "gpu/ring/ring.h"

#include <stdlib.h>
#include <string.h>

enum {
    FLOW_BYTES = 8 << 20,
    RUN_BYTES_MAX = 512 << 10, /* less than the socket buffer of a fast wire */
};

/* Two links to nowhere, and what each moved since the other moved. */
struct wire {
    struct gw_transport next, prev; /* next must be first, because of a cast */
    size_t sent, received;          /* in total */
    size_t sending, receiving;      /* since the last move of the other direction */
    size_t sending_max, receiving_max;
};

static struct wire wire;

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int take(struct gw_transport *link, const void *data, size_t bytes, size_t *wrote,
                struct gw_error *error)
{
    assert_ptr_equal(link, &wire.next);
    wire.receiving = 0;
    wire.sent += bytes;
    wire.sending += bytes;
    wire.sending_max = max_size(wire.sending_max, wire.sending);
    *wrote = bytes;
    return 0;
}

static int give(struct gw_transport *link, void *data, size_t bytes, size_t *got,
                struct gw_error *error)
{
    assert_ptr_equal(link, &wire.prev);
    memset(data, 1, bytes);
    wire.sending = 0;
    wire.received += bytes;
    wire.receiving += bytes;
    wire.receiving_max = max_size(wire.receiving_max, wire.receiving);
    *got = bytes;
    return 0;
}

static int flush(struct gw_transport *link, struct gw_error *error)
{
    return 0;
}

static bool never(const struct gw_transport *link)
{
    return false;
}

static void leave(struct gw_transport *link)
{
}

static void exchange(bool reduces)
{
    const struct gw_transport link = {
        .fd = -1, .write = take, .read = give, .flush = flush, .blocked = never, .free = leave};
    uint8_t *mine = malloc(FLOW_BYTES), *theirs = malloc(FLOW_BYTES);
    assert_non_null(mine);
    assert_non_null(theirs);
    memset(mine, 0, FLOW_BYTES);
    memset(theirs, 2, FLOW_BYTES);
    wire = (struct wire){.next = link, .prev = link};
    struct gw_ring ring = {.hosts = 2, .next = &wire.next, .prev = &wire.prev};
    const struct gw_ring_part out = {.data = mine, .bytes = FLOW_BYTES};
    const struct gw_ring_part in = {.data = theirs, .bytes = FLOW_BYTES, .reduces = reduces};
    const struct gw_ring_flow flow = {.out = &out,
                                      .in = &in,
                                      .outs = 1,
                                      .ins = 1,
                                      .ahead_bytes = FLOW_BYTES,
                                      .dtype = GW_DTYPE_U8,
                                      .reduce = GW_REDUCE_SUM};
    const struct gw_ring_wait wait = {.deadline_ns = UINT64_MAX}; /* nothing ever waits */
    assert_int_equal(gw_ring_init(&ring), 0);
    assert_int_equal(gw_ring_run(&ring, &flow, &wait, NULL), 0);
    gw_ring_deinit(&ring);
    assert_int_equal(wire.sent, FLOW_BYTES);
    assert_int_equal(wire.received, FLOW_BYTES);
    memset(mine, reduces ? 3 : 1, FLOW_BYTES);
    assert_memory_equal(theirs, mine, FLOW_BYTES);
    assert_in_range(wire.sending_max, 1, RUN_BYTES_MAX);
    assert_in_range(wire.receiving_max, 1, RUN_BYTES_MAX);
    free(mine);
    free(theirs);
}

static void reducing_and_sending_alternate_in_small_runs(void **state)
{
    exchange(true);
}

static void copying_and_sending_alternate_in_small_runs(void **state)
{
    exchange(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reducing_and_sending_alternate_in_small_runs),
        cmocka_unit_test(copying_and_sending_alternate_in_small_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
