/* Which ranks may join a communicator of several hosts, and which are refused. Each rank is a
 * thread and a host of its own, unless a test says otherwise. */
#include "gpu/ring/comm_ring.h"
#include "gpu/ring/ring_link.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/tls.h"

#include <gangway/comm.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MEMBERS_MAX = 4, LONG_S = 60, SHORT_NS = 200000000 };

struct member {
    int number;
    int end; /* a pipe: receives the rank's number when the rank has joined or failed */
    struct gw_comm_hosts_options options;
    pthread_t thread;
    int rc;
    struct gw_error error;
    float sum; /* of an all-reduce of rank + 1, if the rank joined */
};

struct hall {
    int listener;
    int ends[2];
    char endpoint[GW_ENDPOINT_TEXT_MAX];
    uint8_t key[GW_TLS_SECRET_BYTES];
    struct member members[MEMBERS_MAX];
};

static void member_run(struct member *member)
{
    struct gw_comm *comm;
    member->rc = gw_comm_open_hosts(&member->options, &comm, &member->error);
    if (member->rc < 0)
        return;
    member->sum = (float)member->options.rank + 1;
    member->rc = gw_comm_all_reduce(
        comm, GW_COMM_ARGS(.recv = &member->sum, .count = 1, .dtype = GW_DTYPE_F32),
        &member->error);
    gw_comm_close(comm);
}

static void *member_main(void *arg)
{
    struct member *member = arg;
    member_run(member);
    assert_int_equal(write(member->end, &member->number, sizeof member->number),
                     sizeof member->number);
    return NULL;
}

static void hall_init(struct hall *hall, int ranks)
{
    *hall = (struct hall){0};
    assert_int_equal(gw_endpoint_listen("127.0.0.1:0", &hall->listener, hall->endpoint, NULL), 0);
    assert_int_equal(gw_tls_secret_random(hall->key), 0);
    assert_int_equal(pipe(hall->ends), 0);
    for (int i = 0; i < MEMBERS_MAX; i++) {
        int fd;
        hall->members[i].number = i;
        hall->members[i].end = hall->ends[1];
        assert_int_equal(gw_comm_segment_create(1, &fd, NULL), 0);
        hall->members[i].options = (struct gw_comm_hosts_options)GW_INIT(
            gw_comm_hosts_options, .fd = fd, .rank = i < ranks ? i : ranks - 1, .ranks = ranks,
            .first_rank = i < ranks ? i : ranks - 1, .local_ranks = 1, .attempt = 40,
            .endpoint = hall->endpoint, .listener = hall->listener, .key = hall->key,
            .timeout_ns = LONG_S * 1000000000ULL);
    }
}

static void hall_deinit(struct hall *hall)
{
    for (int i = 0; i < MEMBERS_MAX; i++)
        close(hall->members[i].options.fd);
    close(hall->listener);
    close(hall->ends[0]);
    close(hall->ends[1]);
}

static void sit(struct hall *hall, int member)
{
    assert_int_equal(
        pthread_create(&hall->members[member].thread, NULL, member_main, &hall->members[member]),
        0);
}

static void stand(struct hall *hall, int member, int rc)
{
    assert_int_equal(pthread_join(hall->members[member].thread, NULL), 0);
    if (hall->members[member].rc != rc)
        (void)fprintf(stderr, "seat %d: %s\n", member, hall->members[member].error.text);
    assert_int_equal(hall->members[member].rc, rc);
}

/* Ranks 0 and 1 join and agree, whatever else connects. */
static void pair_is_well(struct hall *hall)
{
    sit(hall, 1);
    stand(hall, 0, 0);
    stand(hall, 1, 0);
    assert_true(hall->members[0].sum == 3 && hall->members[1].sum == 3);
}

static void rank_with_a_wrong_key_is_refused(void **state)
{
    struct hall hall;
    uint8_t other[GW_TLS_SECRET_BYTES] = {1, 2, 3};
    hall_init(&hall, 2);
    hall.members[2].options.key = other;
    sit(&hall, 0);
    sit(&hall, 2);
    stand(&hall, 2, GW_EPERM);
    pair_is_well(&hall);
    hall_deinit(&hall);
}

/* With keys, the key's name tells the attempt; without keys, the hello message does. */
static void rank_of_an_older_attempt_is_refused(void **state)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        struct hall hall;
        hall_init(&hall, 2);
        for (int i = 0; i < 3 && !keyed; i++)
            hall.members[i].options.key = NULL;
        hall.members[2].options.attempt = 39;
        sit(&hall, 0);
        sit(&hall, 2);
        stand(&hall, 2, GW_EPERM);
        assert_non_null(strstr(hall.members[2].error.text, "refused"));
        pair_is_well(&hall);
        hall_deinit(&hall);
    }
}

/* The first rank counts and the second is refused; neither the first nor rank 0 is affected. */
static void duplicate_rank_is_refused_and_the_first_stays(void **state)
{
    struct hall hall;
    hall_init(&hall, 3);
    sit(&hall, 0);
    sit(&hall, 2);
    sit(&hall, 3); /* rank 2, too */
    int refused;   /* the other rank waits for rank 1 */
    assert_int_equal(read(hall.ends[0], &refused, sizeof refused), sizeof refused);
    stand(&hall, refused, GW_EEXIST);
    assert_non_null(strstr(hall.members[refused].error.text, "rank 0 has others"));
    sit(&hall, 1);
    for (int i = 0; i < MEMBERS_MAX; i++)
        if (i != refused) {
            stand(&hall, i, 0);
            assert_true(hall.members[i].sum == 6);
        }
    hall_deinit(&hall);
}

/* A connection that sends nothing and a connection that sends junk delay no rank. */
static void silent_and_foreign_connections_do_not_delay_joining(void **state)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        struct hall hall;
        int silent, loud;
        hall_init(&hall, 2);
        for (int i = 0; i < 2 && !keyed; i++)
            hall.members[i].options.key = NULL;
        assert_int_equal(gw_endpoint_connect(hall.endpoint, &silent, NULL), 0);
        assert_int_equal(gw_endpoint_connect(hall.endpoint, &loud, NULL), 0);
        char junk[300];
        memset(junk, 'G', sizeof junk);
        (void)send(loud, junk, sizeof junk, MSG_NOSIGNAL);
        sit(&hall, 0);
        pair_is_well(&hall);
        close(silent);
        close(loud);
        hall_deinit(&hall);
    }
}

/* The rank gave up at its deadline and names the rank it waited for. */
static void stand_late(struct hall *hall, int member, const char *text)
{
    stand(hall, member, GW_ETIMEDOUT);
    if (strcmp(hall->members[member].error.text, text) != 0)
        fail_msg("seat %d: %s", member, hall->members[member].error.text);
}

/* Waits until a connection arrives at rank 0. */
static void await_knock(const struct hall *hall)
{
    struct pollfd one = {.fd = hall->listener, .events = POLLIN};
    assert_int_equal(poll(&one, 1, LONG_S * 1000), 1);
}

static void join_timeout_names_the_missing_rank(void **state)
{
    struct hall hall;
    hall_init(&hall, 3);
    hall.members[0].options.key = hall.members[2].options.key = NULL;
    hall.members[0].options.timeout_ns = SHORT_NS;
    sit(&hall, 2);
    await_knock(&hall);
    sit(&hall, 0);
    stand_late(&hall, 0, "joining: rank 0 waited 200ms for rank 1");
    stand(&hall, 2, GW_ECLOSED); /* rank 0 gave up */
    hall_deinit(&hall);
}

/* The worker made the socket of rank 0, but its program never starts. */
static void join_times_out_if_rank_zero_never_starts(void **state)
{
    for (int keyed = 0; keyed < 2; keyed++) {
        struct hall hall;
        hall_init(&hall, 2);
        if (!keyed)
            hall.members[1].options.key = NULL;
        hall.members[1].options.timeout_ns = SHORT_NS;
        sit(&hall, 1);
        stand_late(&hall, 1, "joining: rank 1 waited 200ms for rank 0");
        hall_deinit(&hall);
    }
}

/* If the whole host of rank 0 is lost, the scheduler reports the loss a moment later, and that
 * is the cause. */
static void join_fails_if_rank_zero_disconnects(void **state)
{
    for (int told = 0; told < 2; told++) {
        struct hall hall;
        hall_init(&hall, 2);
        hall.members[1].options.key = NULL;
        sit(&hall, 1);
        await_knock(&hall);
        int door = accept(hall.listener, NULL, NULL);
        assert_true(door >= 0);
        close(door);
        struct pollfd through = {.fd = hall.ends[0], .events = POLLIN};
        if (told) /* the rank has not given up yet */
            assert_int_equal(poll(&through, 1, SHORT_NS / 1000000), 0);
        if (told)
            assert_int_equal(
                gw_comm_segment_abort(hall.members[1].options.fd, GW_EABORTED, 0, NULL), 0);
        stand(&hall, 1, told ? GW_EABORTED : GW_ECLOSED);
        assert_non_null(strstr(hall.members[1].error.text,
                               told ? "rank 0" : "joining: rank 1 lost its connection to rank 0"));
        hall_deinit(&hall);
    }
}

/* The report of any rank of a host may arrive first, so each rank names the unreached rank, even
 * a rank that only waited for its leader. */
static void all_ranks_of_a_host_name_the_unreached_rank(void **state)
{
    struct hall hall;
    int unreached[3] = {-1, -1, -1}, fd;
    hall_init(&hall, 3);
    assert_int_equal(gw_comm_segment_create(2, &fd, NULL), 0);
    for (int i = 1; i < 3; i++) {
        struct gw_comm_hosts_options *options = &hall.members[i].options;
        close(options->fd);
        options->fd = dup(fd);
        options->first_rank = 1;
        options->local_ranks = 2;
        options->key = NULL;
        options->unreached = &unreached[i];
        sit(&hall, i);
    }
    await_knock(&hall);
    const int door = accept(hall.listener, NULL, NULL);
    assert_true(door >= 0);
    close(door);
    stand(&hall, 1, GW_ECLOSED);
    stand(&hall, 2, GW_EABORTED);
    assert_int_equal(unreached[1], 0);
    assert_int_equal(unreached[2], 0);
    close(fd);
    hall_deinit(&hall);
}

/* The missing rank shares a host with the waiting rank. */
static void join_timeout_names_a_missing_rank_of_the_same_host(void **state)
{
    struct hall hall;
    struct gw_comm_hosts_options *options;
    hall_init(&hall, 3);
    options = &hall.members[0].options;
    close(options->fd);
    assert_int_equal(gw_comm_segment_create(2, &options->fd, NULL), 0);
    options->local_ranks = 2;
    options->timeout_ns = SHORT_NS;
    sit(&hall, 0);
    stand(&hall, 0, GW_ETIMEDOUT);
    assert_non_null(strstr(hall.members[0].error.text, "rank 0 waited 200ms for rank 1"));
    hall_deinit(&hall);
}

/* Connects as rank 1 to rank 0 and sends nothing after `bytes` of its announcement. NULL: on a slow
 * machine, rank 0 had given up by then. */
static struct gw_transport *come_and_stop(struct hall *hall, size_t bytes)
{
    const struct gw_ring_trust trust = {.attempt = 40, .ranks = 2};
    const struct gw_ring_call call = {hall->endpoint, &trust, GW_RING_CONTROL, 1, 0};
    struct gw_segment *segment;
    struct gw_transport *link = NULL;
    struct {
        int32_t first_rank, ranks;
        struct gw_comm_ring_place place;
    } words = {.first_rank = 1, .ranks = 1};
    (void)snprintf(words.place.endpoint, sizeof words.place.endpoint, "%s", hall->endpoint);
    assert_int_equal(gw_segment_ref(hall->members[1].options.fd, &segment, NULL), 0);
    const struct gw_ring_wait wait = {segment, gw_segment_now_ns() + 10ULL * SHORT_NS};
    if (gw_ring_link_connect(&call, &wait, &link, NULL) == 0)
        (void)gw_ring_link_send(link, &(struct gw_ring_bytes){&words, bytes}, &wait, NULL);
    gw_segment_unref(segment);
    return link;
}

/* The rank is accepted and then sends nothing, or it announces an address where no process
 * listens. */
static void join_times_out_if_a_rank_stops_halfway(void **state)
{
    for (int said = 0; said < 2; said++) {
        struct hall hall;
        hall_init(&hall, 2);
        hall.members[0].options.key = NULL;
        hall.members[0].options.timeout_ns = 5 * SHORT_NS;
        sit(&hall, 0);
        struct gw_transport *link =
            come_and_stop(&hall, said ? 8 + sizeof(struct gw_comm_ring_place) : 0);
        stand_late(&hall, 0, "joining: rank 0 waited 1s for rank 1");
        if (link)
            link->free(link);
        hall_deinit(&hall);
    }
}

/* Rank 1 is accepted as rank 1 and then claims to be rank 2. The connection is refused, and both
 * real ranks can still join. */
static void rank_that_claims_another_number_is_refused(void **state)
{
    struct hall hall;
    hall_init(&hall, 3);
    for (int i = 0; i < 3; i++)
        hall.members[i].options.key = NULL;
    sit(&hall, 0);
    const struct gw_ring_trust trust = {.attempt = 40, .ranks = 3};
    const struct gw_ring_call call = {hall.endpoint, &trust, GW_RING_CONTROL, 1, 0};
    struct gw_segment *segment;
    struct gw_transport *link;
    struct {
        int32_t first_rank, ranks;
        struct gw_comm_ring_place place;
    } words = {.first_rank = 2, .ranks = 1};
    int32_t answer = 0;
    (void)snprintf(words.place.endpoint, sizeof words.place.endpoint, "%s", hall.endpoint);
    assert_int_equal(gw_segment_ref(hall.members[1].options.fd, &segment, NULL), 0);
    const struct gw_ring_wait wait = {segment, gw_segment_now_ns() + 60ULL * SHORT_NS};
    assert_int_equal(gw_ring_link_connect(&call, &wait, &link, NULL), 0);
    assert_int_equal(
        gw_ring_link_send(link, &(struct gw_ring_bytes){&words, sizeof words}, &wait, NULL), 0);
    assert_int_equal(
        gw_ring_link_receive(link, &(struct gw_ring_bytes){&answer, sizeof answer}, &wait, NULL),
        0);
    assert_int_equal(answer, GW_EPERM);
    link->free(link);
    gw_segment_unref(segment);
    sit(&hall, 1);
    sit(&hall, 2);
    for (int i = 0; i < 3; i++) {
        stand(&hall, i, 0);
        assert_true(hall.members[i].sum == 6);
    }
    hall_deinit(&hall);
}

static void join_refuses_contradictory_options(void **state)
{
    struct hall hall;
    struct gw_comm *comm;
    struct gw_error error;
    hall_init(&hall, 2);
    struct gw_comm_hosts_options options = hall.members[1].options;
    options.rank = 0; /* of another host */
    assert_int_equal(gw_comm_open_hosts(&options, &comm, &error), GW_EINVAL);
    options = hall.members[1].options;
    options.local_ranks = 2; /* one more than there are */
    assert_int_equal(gw_comm_open_hosts(&options, &comm, &error), GW_EINVAL);
    options = hall.members[1].options;
    options.endpoint = "/tmp/socket";
    assert_int_equal(gw_comm_open_hosts(&options, &comm, &error), GW_EINVAL);
    options.endpoint = NULL;
    assert_int_equal(gw_comm_open_hosts(&options, &comm, &error), GW_EINVAL);
    options = hall.members[1].options;
    options.ranks = 3; /* the segment is for one rank: a segment for two was never made */
    options.local_ranks = 2;
    assert_int_equal(gw_comm_open_hosts(&options, &comm, &error), GW_EMISMATCH);
    hall_deinit(&hall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_with_a_wrong_key_is_refused),
        cmocka_unit_test(rank_of_an_older_attempt_is_refused),
        cmocka_unit_test(duplicate_rank_is_refused_and_the_first_stays),
        cmocka_unit_test(silent_and_foreign_connections_do_not_delay_joining),
        cmocka_unit_test(join_timeout_names_the_missing_rank),
        cmocka_unit_test(join_refuses_contradictory_options),
        cmocka_unit_test(join_times_out_if_rank_zero_never_starts),
        cmocka_unit_test(join_fails_if_rank_zero_disconnects),
        cmocka_unit_test(join_timeout_names_a_missing_rank_of_the_same_host),
        cmocka_unit_test(join_times_out_if_a_rank_stops_halfway),
        cmocka_unit_test(rank_that_claims_another_number_is_refused),
        cmocka_unit_test(all_ranks_of_a_host_name_the_unreached_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
