/* The secrets that the scheduler sends to workers, so that they and their ranks recognize each
 * other. */
#include "tests/unit/unit.h"

#include "scheduler/net/secrets.h"

#include <string.h>

struct made {
    struct gw_bin bin;
    uint8_t room[GW_TLS_SECRET_BYTES];
};

static void add(const struct gw_secrets *secrets, uint32_t worker, struct gw_message message,
                struct made *made)
{
    assert_int_equal(gw_secrets_add(secrets, worker, &message, made->room), 0);
    made->bin = message.type == GW_MESSAGE_gang        ? message.gang.key
                : message.type == GW_MESSAGE_neighbour ? message.neighbour.key
                : message.type == GW_MESSAGE_welcome   ? message.welcome.secret
                                                       : (struct gw_bin){0};
}

static struct gw_message gang(uint64_t attempt, uint32_t groups, uint32_t commands)
{
    return (struct gw_message){
        .type = GW_MESSAGE_gang,
        .gang = {.attempt = attempt, .groups = groups, .commands = commands}};
}

static bool same(const struct made *a, const struct made *b)
{
    assert_int_equal(a->bin.size, GW_TLS_SECRET_BYTES);
    assert_int_equal(b->bin.size, GW_TLS_SECRET_BYTES);
    return memcmp(a->bin.data, b->bin.data, GW_TLS_SECRET_BYTES) == 0;
}

/* All workers of an attempt get the same key; other attempts and a restarted scheduler use other
 * keys, and a worker without need for a key gets none. */
static void gang_workers_share_a_key_of_their_attempt(void **state)
{
    struct gw_secrets secrets, other;
    struct made a, b;
    (void)state;
    assert_int_equal(gw_secrets_init(&secrets, NULL), 0);
    assert_int_equal(gw_secrets_init(&other, NULL), 0);
    add(&secrets, 1, gang(7, 2, 0), &a);
    add(&secrets, 2, gang(7, 2, 0), &b);
    assert_true(same(&a, &b));
    add(&secrets, 1, gang(8, 2, 0), &b);
    assert_false(same(&a, &b));
    add(&other, 1, gang(7, 2, 0), &b);
    assert_false(same(&a, &b));
    add(&secrets, 1, gang(7, 1, 0), &b); /* at a single worker */
    assert_int_equal(b.bin.size, 0);
    add(&secrets, 1, gang(7, 2, 1), &b); /* of commands */
    assert_int_equal(b.bin.size, 0);
    gw_secrets_deinit(&secrets);
    gw_secrets_deinit(&other);
}

/* A worker derives the key that another worker shows from its own secret; no other worker has
 * that key. */
static void worker_derives_the_key_shown_by_its_neighbour(void **state)
{
    struct gw_secrets secrets;
    struct made own, shown, others;
    uint8_t derived[GW_TLS_SECRET_BYTES];
    struct gw_message welcome = {.type = GW_MESSAGE_welcome, .welcome.worker = 2};
    struct gw_message neighbour = {.type = GW_MESSAGE_neighbour, .neighbour.worker = 2};
    (void)state;
    assert_int_equal(gw_secrets_init(&secrets, NULL), 0);
    add(&secrets, 2, welcome, &own);
    add(&secrets, 1, neighbour, &shown);
    assert_int_equal(gw_tls_secret_derive(own.bin.data, "worker 1", derived), 0);
    assert_memory_equal(derived, shown.bin.data, sizeof derived);
    add(&secrets, 3, neighbour, &others);
    assert_false(same(&shown, &others));
    welcome.welcome.worker = 0; /* a client */
    add(&secrets, 0, welcome, &others);
    assert_int_equal(others.bin.size, 0);
    gw_secrets_deinit(&secrets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_workers_share_a_key_of_their_attempt),
        cmocka_unit_test(worker_derives_the_key_shown_by_its_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
