/* A runner whose rank cannot join its gang on another host. */
#include "tests/unit/unit.h"

#include "graph/wire/enums.h"
#include "graph/wire/tls.h"
#include "tests/unit/worker/runner/runner_harness.h"

#include <arpa/inet.h>
#include <gangway/comm.h>
#include <gangway/task.h>
#include <msgpack.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ATTEMPT = 5 };

static int nothing(struct gw_task *task)
{
    (void)task;
    return 0;
}
GW_TASK(nothing);

/* A port where no process listens, nor can listen while `fd` is open. */
static uint16_t deaf_port(int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&address, &size), 0);
    return ntohs(address.sin_port);
}

static void pack_str(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str_with_body(packer, text, strlen(text));
}

static void pack_info(msgpack_sbuffer *info, uint16_t port)
{
    static const uint8_t key[GW_TLS_SECRET_BYTES] = {1};
    msgpack_packer packer;
    msgpack_sbuffer_init(info);
    msgpack_packer_init(&packer, info, msgpack_sbuffer_write);
    msgpack_pack_map(&packer, 3);
    pack_str(&packer, "master_addr");
    pack_str(&packer, "127.0.0.1");
    pack_str(&packer, "ring_port");
    msgpack_pack_uint16(&packer, port);
    pack_str(&packer, "ring_key");
    msgpack_pack_bin_with_body(&packer, key, sizeof key);
}

/* This is not a failure to start, which would be final: the next attempt may well connect. */
static void rank_that_cannot_connect_names_the_unreached_rank(void **state)
{
    char dir[SIDE_DIR_BYTES];
    struct side side;
    msgpack_sbuffer info;
    int segment, deaf;
    (void)state;
    assert_int_equal(side_set_up(&side, dir), 0);
    assert_int_equal(gw_comm_segment_create(1, &segment, NULL), 0);
    pack_info(&info, deaf_port(&deaf));
    const struct gw_message gang = {
        .type = GW_MESSAGE_gang,
        .gang = {.attempt = ATTEMPT, .world = 2, .local = 1, .first_rank = 1, .groups = 2}};
    const struct gw_message go = {
        .type = GW_MESSAGE_gang_start,
        .gang_start = {.attempt = ATTEMPT, .info = {(const uint8_t *)info.data, info.size}}};
    const struct side_row row = {.rank = 2, .attempt = ATTEMPT};
    side_spec(&side, 0, "nothing", 0);
    side_put(&side, &gang, -1);
    side_assign(&side, &row, 1);
    side_flush(&side);
    assert_int_equal(side_get(&side, GW_MESSAGE_rank_ready)->rank_ready.rank, 1);
    side_put(&side, &go, segment);
    const struct gw_msg_ended *ended = &side_get(&side, GW_MESSAGE_ended)->ended;
    assert_non_null(strstr(ended->text, "joining: rank 1 lost its connection to rank 0"));
    assert_int_equal(ended->outcome, GW_OUTCOME_UNREACHED);
    assert_int_equal(ended->peer, 0);
    close(segment);
    close(deaf);
    msgpack_sbuffer_destroy(&info);
    assert_int_equal(side_tear_down(&side, dir), 0);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_cannot_connect_names_the_unreached_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
