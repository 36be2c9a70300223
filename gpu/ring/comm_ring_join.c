/* Joining: how the ranks of several hosts connect to each other.
 *
 * Rank 0 listens at the endpoint in the options. The leader of every other host connects to it. The
 * local address of that connection is the address of the host. Each rank of the host opens a
 * listening socket at this address, and the leader sends the addresses of these sockets to rank 0.
 * When rank 0 has the addresses of all ranks, it sends the whole list to all leaders. Then the
 * leaders connect in a ring. A connection for a rank that has joined already is refused. */
#include "gpu/ring/comm_ring.h"

#include "graph/base/options_read.h"
#include "graph/base/text.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SPIN_NS = 20000 };

/* A leader's first message on its control link. The addresses of its ranks follow. */
struct arrival {
    int32_t first_rank, ranks;
};

/* State while a rank joins. */
struct join {
    struct gw_comm_ring *self;
    const struct gw_comm_hosts_options *options;
    struct gw_error *error;
    struct gw_ring_peer peers[GW_RING_HOSTS_MAX]; /* used by leaders */
    int peers_count;
    int unreached;     /* the rank that this rank could not reach; -1: none */
    uint64_t reach_ns; /* time limit to reach another rank, and its deadline */
    uint64_t reach_deadline_ns;
};

static struct gw_ring_bytes bytes_of(void *data, size_t bytes)
{
    return (struct gw_ring_bytes){data, bytes};
}

/* Returns the deadline for steps that show that a rank is reachable. It is earlier than the
 * deadline of other steps. So if a rank is unreachable, this is reported first. */
static struct gw_ring_wait reach(const struct join *join)
{
    struct gw_ring_wait wait = gw_comm_ring_wait(join->self);
    wait.deadline_ns = join->reach_deadline_ns;
    return wait;
}

/* Makes the error for a rank that did not join, or whose connection ended while it joined. If the
 * communicator was broken meanwhile (for example because the worker of a rank reported its death),
 * that cause is returned. */
static int late_after(const struct join *join, int rc, int rank, uint64_t waited_ns)
{
    const struct gw_comm_ring *self = join->self;
    char time[GW_TEXT_DURATION_ROOM];
    if (rc == GW_ETIMEDOUT)
        return gw_error_set(join->error, rc, "joining: rank %d waited %s for rank %d",
                            self->comm.rank, gw_text_duration(waited_ns, time), rank);
    if (rc != GW_ECLOSED && rc != GW_EIO)
        return rc;
    const struct gw_error why = *join->error;
    int broken = gw_comm_ring_await_break(self, join->error);
    return broken < 0 ? broken
                      : gw_error_set(join->error, rc,
                                     "joining: rank %d lost its connection to rank %d: %.100s",
                                     self->comm.rank, rank, why.text);
}

static int late(const struct join *join, int rc, int rank)
{
    return late_after(join, rc, rank, join->self->comm.timeout_ns);
}

/* Does the same as late_after, and stores `rank` as unreachable. */
static int unreached(struct join *join, int rc, int rank)
{
    rc = late_after(join, rc, rank, join->reach_ns);
    if (rc == GW_ETIMEDOUT || rc == GW_ECLOSED || rc == GW_EIO)
        join->unreached = rank;
    return rc;
}

/* -- Addresses -----------------------------------------------------------------------------------
 */

/* Returns the local address of a socket, without the port. */
static int own_host(int fd, char host[GW_ENDPOINT_TEXT_MAX], struct gw_error *error)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char text[NI_MAXHOST];
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
        getnameinfo((struct sockaddr *)&address, size, text, sizeof text, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return gw_error_set(error, GW_EIO, "cannot find the address of a socket");
    const bool six = address.ss_family == AF_INET6;
    if (snprintf(host, GW_ENDPOINT_TEXT_MAX, six ? "[%s]" : "%s", text) >= GW_ENDPOINT_TEXT_MAX)
        return gw_error_set(error, GW_EIO, "the address %s has more than %d bytes", text,
                            GW_ENDPOINT_TEXT_MAX - 1);
    return 0;
}

/* Opens the listening socket of this rank and writes its address to place. */
static int door_open(struct join *join, const char *host, struct gw_comm_ring_place *place)
{
    struct gw_comm_ring *self = join->self;
    int listener = -1, rc = 0;
    if (self->comm.rank == 0) {
        listener = fcntl(join->options->listener, F_DUPFD_CLOEXEC, 3);
        if (listener < 0)
            return gw_error_set(join->error, GW_EINVAL, "the listening socket of rank 0: %s",
                                strerror(errno));
        (void)snprintf(place->endpoint, sizeof place->endpoint, "%s", join->options->endpoint);
        (void)fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
    } else {
        rc = gw_endpoint_listen(host, &listener, place->endpoint, join->error);
    }
    if (rc < 0)
        return rc;
    self->door = gw_ring_door_new(listener, &self->trust, self->comm.rank);
    return self->door ? 0 : gw_error_set(join->error, GW_ENOMEM, "communicator");
}

/* -- Rank 0 --------------------------------------------------------------------------------------
 */

/* Adds one host: its first rank is stored in first[] and the addresses of its ranks in the list. A
 * host that claims invalid ranks, or ranks that have joined already, is refused. */
static int arrive(struct join *join, struct gw_ring_guest *guest, bool seen[])
{
    struct gw_comm_ring *self = join->self;
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    struct arrival arrival;
    int rc = gw_ring_link_welcome(guest->link, &wait, join->error);
    if (rc == 0)
        rc = gw_ring_link_receive(guest->link, &(struct gw_ring_bytes){&arrival, sizeof arrival},
                                  &wait, join->error);
    const bool good = rc == 0 && arrival.first_rank == guest->from && arrival.ranks >= 1 &&
                      arrival.ranks <= self->comm.size - arrival.first_rank;
    struct gw_comm_ring_place places[GW_COMM_HOST_RANKS_MAX];
    bool taken = false;
    if (good)
        rc = gw_ring_link_receive(
            guest->link, &(struct gw_ring_bytes){places, (size_t)arrival.ranks * sizeof places[0]},
            &wait, join->error);
    for (int i = 0; good && i < arrival.ranks; i++)
        taken = taken || seen[arrival.first_rank + i];
    if (rc == GW_ETIMEDOUT || rc == GW_EABORTED) {
        guest->link->free(guest->link);
        return late(join, rc, guest->from);
    }
    if (rc < 0 || !good || taken) { /* this host's error must not disturb the others */
        gw_ring_link_refuse(guest->link, taken ? GW_EEXIST : GW_EPERM);
        return 0;
    }
    for (int i = 0; i < arrival.ranks; i++) {
        seen[arrival.first_rank + i] = true;
        self->places[arrival.first_rank + i] = places[i];
        self->places[arrival.first_rank + i].endpoint[GW_ENDPOINT_TEXT_MAX - 1] = '\0';
    }
    join->peers[join->peers_count++] =
        (struct gw_ring_peer){.link = guest->link, .rank = arrival.first_rank};
    return arrival.ranks;
}

static int peer_compare(const void *a, const void *b)
{
    return ((const struct gw_ring_peer *)a)->rank - ((const struct gw_ring_peer *)b)->rank;
}

static int first_missing(const bool seen[], int ranks)
{
    int missing = 0;
    while (missing < ranks - 1 && seen[missing])
        missing++;
    return missing;
}

/* Rank 0 waits until all hosts have joined and sends each of them the list of addresses. */
static int gather(struct join *join)
{
    struct gw_comm_ring *self = join->self;
    const struct gw_ring_wait wait = gw_comm_ring_wait(self), reaches = reach(join);
    bool seen[GW_COMM_HOST_RANKS_MAX] = {false};
    int missing = self->comm.size - self->local->comm.size, rc = 0;
    for (int i = 0; i < self->local->comm.size; i++)
        seen[i] = true;
    while (missing > 0) {
        struct gw_ring_guest guest = {.purpose = GW_RING_CONTROL, .from = -1};
        rc = gw_ring_door_take(self->door, &guest, &reaches, join->error);
        if (rc < 0)
            return unreached(join, rc, first_missing(seen, self->comm.size));
        rc = arrive(join, &guest, seen);
        if (rc < 0)
            return rc;
        missing -= rc;
    }
    qsort(join->peers, (size_t)join->peers_count, sizeof join->peers[0], peer_compare);
    self->hosts = join->peers_count + 1;
    for (int i = 0; i < join->peers_count; i++)
        self->first[i + 1] = join->peers[i].rank;
    self->first[self->hosts] = self->comm.size;
    int32_t taken_in = 0;
    const struct gw_ring_bytes parts[] = {
        bytes_of(&taken_in, sizeof taken_in),
        bytes_of(&self->hosts, sizeof self->hosts),
        bytes_of(self->first, sizeof self->first),
        bytes_of(self->places, (size_t)self->comm.size * sizeof self->places[0]),
    };
    for (int i = 0; i < join->peers_count; i++)
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            rc = gw_ring_link_send(join->peers[i].link, &parts[k], &wait, join->error);
            if (rc < 0)
                return late(join, rc, join->peers[i].rank);
        }
    return 0;
}

/* -- The other leaders ---------------------------------------------------------------------------
 */

static int introduce(struct join *join)
{
    struct gw_comm_ring *self = join->self;
    const struct gw_ring_wait wait = gw_comm_ring_wait(self);
    struct gw_transport *link = join->peers[0].link;
    struct arrival arrival = {self->first_rank, self->local->comm.size};
    const struct gw_ring_bytes out[] = {
        bytes_of(&arrival, sizeof arrival),
        bytes_of(&self->places[self->first_rank], (size_t)arrival.ranks * sizeof self->places[0]),
    };
    const struct gw_ring_bytes in[] = {
        bytes_of(&self->hosts, sizeof self->hosts),
        bytes_of(self->first, sizeof self->first),
        bytes_of(self->places, (size_t)self->comm.size * sizeof self->places[0]),
    };
    int32_t answer = 0;
    int rc = 0;
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = gw_ring_link_send(link, &out[i], &wait, join->error);
    if (rc == 0)
        rc = gw_ring_link_receive(link, &(struct gw_ring_bytes){&answer, sizeof answer}, &wait,
                                  join->error);
    if (rc == 0 && answer < 0)
        return gw_error_set(
            join->error, answer == GW_EEXIST ? GW_EEXIST : GW_EPERM, "ranks %d to %d: %s",
            self->first_rank, self->first_rank + arrival.ranks - 1,
            answer == GW_EEXIST ? "rank 0 has others with these numbers" : "refused by rank 0");
    for (size_t i = 0; i < 3 && rc == 0; i++)
        rc = gw_ring_link_receive(link, &in[i], &wait, join->error);
    return late(join, rc, 0);
}

/* -- All ranks of a host -------------------------------------------------------------------------
 */

/* Copies the leader's data to all ranks of its host. */
static int spread(struct join *join, void *data, size_t bytes)
{
    const struct gw_comm_args args = {.recv = data, .count = bytes, .dtype = GW_DTYPE_U8};
    return gw_comm_ring_local(join->self, GW_COMM_BROADCAST, &args, join->error);
}

/* Finds the address of this host. A leader connects to rank 0 and uses the local address of that
 * connection. */
static int host_find(struct join *join, char host[GW_ENDPOINT_TEXT_MAX])
{
    struct gw_comm_ring *self = join->self;
    const struct gw_ring_wait wait = reach(join);
    const struct gw_ring_call call = {.endpoint = join->options->endpoint,
                                      .trust = &self->trust,
                                      .purpose = GW_RING_CONTROL,
                                      .from = self->comm.rank,
                                      .to = 0};
    if (self->comm.rank == 0)
        return own_host(join->options->listener, host, join->error);
    int rc = gw_ring_link_connect(&call, &wait, &join->peers[0].link, join->error);
    if (rc < 0)
        return unreached(join, rc, 0);
    join->peers_count = 1;
    return own_host(join->peers[0].link->fd, host, join->error);
}

static int places_gather(struct join *join)
{
    struct gw_comm_ring *self = join->self;
    struct gw_comm_ring_place *own = &self->places[self->comm.rank];
    char host[GW_ENDPOINT_TEXT_MAX] = "";
    int rc = gw_comm_ring_is_leader(self) ? host_find(join, host) : 0;
    if (rc == 0)
        rc = spread(join, host, sizeof host);
    if (rc == 0)
        rc = door_open(join, host, own);
    if (rc == 0)
        rc = gw_comm_ring_local(self, GW_COMM_ALL_GATHER,
                                GW_COMM_ARGS(.send = own, .recv = &self->places[self->first_rank],
                                             .count = sizeof *own, .dtype = GW_DTYPE_U8),
                                join->error);
    if (rc == 0 && gw_comm_ring_is_leader(self))
        rc = self->comm.rank == 0 ? gather(join) : introduce(join);
    if (rc == 0)
        rc = spread(join, &self->hosts, sizeof self->hosts);
    if (rc == 0)
        rc = spread(join, self->first, sizeof self->first);
    if (rc == 0)
        rc = spread(join, self->places, (size_t)self->comm.size * sizeof *own);
    return rc;
}

/* -- The ring ------------------------------------------------------------------------------------
 */

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Connects this leader with its neighbours. Leaders at even places connect first and leaders at odd
 * places accept first, so that they do not all wait for each other. */
static int ring_links(struct join *join)
{
    struct gw_comm_ring *self = join->self;
    const struct gw_ring_wait wait = reach(join);
    const int next = self->first[(self->place + 1) % self->hosts];
    const struct gw_ring_call call = {.endpoint = self->places[next].endpoint,
                                      .trust = &self->trust,
                                      .purpose = GW_RING_DATA,
                                      .from = self->comm.rank,
                                      .to = next};
    struct gw_ring_guest guest = {.purpose = GW_RING_DATA};
    guest.from = self->first[(self->place + self->hosts - 1) % self->hosts];
    int rc = 0;
    for (int turn = 0; turn < 2 && rc == 0; turn++) {
        if (turn == self->place % 2) {
            rc = unreached(join, gw_ring_link_connect(&call, &wait, &self->ring.next, join->error),
                           next);
            continue;
        }
        rc = gw_ring_door_take(self->door, &guest, &wait, join->error);
        if (rc == 0) {
            self->ring.prev = guest.link;
            rc = gw_ring_link_welcome(guest.link, &wait, join->error);
        }
        rc = unreached(join, rc, guest.from);
    }
    return rc;
}

/* Sets a new deadline to reach other ranks, because the time used to collect the hosts must not
 * count. */
static void begin_reaching(struct join *join)
{
    const uint64_t timeout_ns = join->self->comm.timeout_ns;
    join->reach_ns = timeout_ns < GW_COMM_REACH_NS ? timeout_ns : GW_COMM_REACH_NS;
    join->reach_deadline_ns = gw_segment_now_ns() + join->reach_ns;
    if (join->reach_deadline_ns > join->self->deadline_ns)
        join->reach_deadline_ns = join->self->deadline_ns;
}

static int ring_open(struct join *join)
{
    struct gw_comm_ring *self = join->self;
    begin_reaching(join);
    self->ring.hosts = self->hosts;
    self->ring.place = self->place;
    self->ring.spin_ns = self->local->comm.size < processors() ? SPIN_NS : 0;
    if (gw_ring_init(&self->ring) < 0)
        return gw_error_set(join->error, GW_ENOMEM, "communicator");
    int rc = ring_links(join);
    if (rc < 0)
        return rc;
    const struct gw_ring_watch_options options = {
        .segment = self->local->segment,
        .ring = &self->ring,
        .rank = self->comm.rank,
        .local_ranks = self->local->comm.size,
        .peers = join->peers,
        .peers_count = join->peers_count,
    };
    join->peers_count = 0; /* the watch has taken them over */
    rc = gw_ring_watch_open(&options, &self->watch, join->error);
    if (rc < 0)
        return rc;
    const struct gw_segment_call call = {.verb = GW_COMM_BARRIER};
    return gw_ring_backend_sync(self, &call, join->error);
}

/* -- Opening -------------------------------------------------------------------------------------
 */

static int options_check(const struct gw_comm_hosts_options *options, struct gw_error *error)
{
    const int end = options->first_rank + options->local_ranks;
    if (options->ranks < 1 || options->ranks > GW_COMM_HOST_RANKS_MAX)
        return gw_error_set(error, GW_EINVAL, "a communicator cannot have %d ranks (1 to %d)",
                            options->ranks, GW_COMM_HOST_RANKS_MAX);
    if (options->first_rank < 0 || options->local_ranks < 1 || end > options->ranks ||
        options->rank < options->first_rank || options->rank >= end)
        return gw_error_set(
            error, GW_EINVAL,
            "rank %d is not on this host, which has %d ranks from rank %d on, of %d", options->rank,
            options->local_ranks, options->first_rank, options->ranks);
    if (!options->endpoint || !gw_endpoint_is_tcp(options->endpoint) ||
        strlen(options->endpoint) >= GW_ENDPOINT_TEXT_MAX)
        return gw_error_set(error, GW_EINVAL, "the endpoint of rank 0 must be HOST:PORT");
    return 0;
}

static int ring_new(const struct gw_comm_hosts_options *options, struct gw_comm_ring **ring,
                    struct gw_error *error)
{
    const struct gw_comm_host_options local = GW_INIT(
        gw_comm_host_options, .fd = options->fd, .rank = options->rank - options->first_rank,
        .ranks = options->local_ranks, .timeout_ns = options->timeout_ns);
    struct gw_comm *host;
    struct gw_comm_ring *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "communicator");
    const size_t ranks = (size_t)options->ranks;
    gw_comm_backend_init(&self->comm, &gw_comm_ring_backend, options->rank, options->ranks);
    gw_comm_set_timeout(&self->comm, options->timeout_ns);
    self->open_hosts = gw_comm_open_hosts;
    self->first_rank = options->first_rank;
    self->places = calloc(ranks, sizeof *self->places);
    self->to = calloc(ranks, sizeof(struct gw_transport *));
    self->from = calloc(ranks, sizeof(struct gw_transport *));
    int rc = self->places && self->to && self->from
                 ? gw_comm_open_host(&local, &host, error)
                 : gw_error_set(error, GW_ENOMEM, "communicator");
    if (rc < 0) {
        gw_comm_ring_free(self);
        return rc;
    }
    self->local = (struct gw_comm_host *)host;
    self->local->first_rank = options->first_rank;
    self->local->divisor = options->ranks;
    self->comm.pulse = host->pulse;
    self->trust.attempt = options->attempt;
    self->trust.ranks = (uint32_t)options->ranks;
    self->trust.keyed = options->key != NULL;
    (void)snprintf(self->trust.key.identity, sizeof self->trust.key.identity, "gang %llu",
                   (unsigned long long)options->attempt);
    if (options->key)
        memcpy(self->trust.key.secret, options->key, GW_TLS_SECRET_BYTES);
    *ring = self;
    return 0;
}

/* Breaks the segment because a rank could not join, so the other ranks of its host fail too. The
 * fault holds the rank that could not be reached. Each rank of the host then reports that rank,
 * because the report of any of them may be the first that the worker receives. */
static int fail(struct join *join, int rc)
{
    struct gw_comm_ring *self = join->self;
    const struct gw_segment *segment = self->local->segment;
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1, join->error->text);
    const struct gw_segment_fault fault = {.code = rc == GW_ETIMEDOUT ? rc : GW_EABORTED,
                                           .cause = rc,
                                           .rank = self->comm.rank,
                                           .unreached = join->unreached + 1,
                                           .text = text};
    gw_segment_break(segment, &fault);
    if (join->unreached < 0)
        join->unreached = gw_segment_unreached(segment);
    if (join->unreached >= 0 && join->options->unreached)
        *join->options->unreached = join->unreached;
    for (int i = 0; i < join->peers_count; i++)
        join->peers[i].link->free(join->peers[i].link);
    gw_comm_ring_free(self);
    return rc;
}

int gw_comm_open_hosts(const struct gw_comm_hosts_options *given, struct gw_comm **comm,
                       struct gw_error *error)
{
    struct gw_comm_hosts_options read;
    const struct gw_comm_hosts_options *options = &read;
    struct gw_error own;
    struct join join = {.options = options, .error = error ? error : &own, .unreached = -1};
    int rc = GW_OPTIONS_READ(&read, given, gw_comm_hosts_options, error);
    if (rc == 0)
        rc = options_check(options, error);
    if (rc == 0 && options->local_ranks == options->ranks)
        return gw_comm_open_host(GW_COMM_HOST_OPTIONS(.fd = options->fd, .rank = options->rank,
                                                      .ranks = options->ranks,
                                                      .timeout_ns = options->timeout_ns),
                                 comm, error);
    if (rc == 0)
        rc = ring_new(options, &join.self, error);
    if (rc < 0)
        return rc;
    struct gw_comm_ring *self = join.self;
    self->verb = GW_COMM_BARRIER;
    self->deadline_ns = gw_segment_now_ns() + self->comm.timeout_ns;
    if (self->deadline_ns < self->comm.timeout_ns)
        self->deadline_ns = INT64_MAX;
    begin_reaching(&join);
    rc = places_gather(&join);
    if (rc < 0)
        return fail(&join, rc);
    while (self->first[self->place + 1] <= self->first_rank)
        self->place++;
    if (gw_comm_ring_is_leader(self))
        rc = ring_open(&join);
    if (rc == 0)
        rc = gw_comm_ring_local(self, GW_COMM_BARRIER, GW_COMM_ARGS(.dtype = GW_DTYPE_U8),
                                join.error);
    if (rc < 0)
        return fail(&join, rc);
    *comm = &self->comm;
    return 0;
}
