/* Splits a host communicator into smaller communicators, one for each part, or gives each of its
 * ranks several ranks of a new communicator: this is one part in which each rank counts `each`
 * times.
 *
 * First, every rank sends its colour and key to every other rank (one all_gather), so each rank
 * knows the members of its part. On each host, the first rank of a part creates a segment for the
 * part's ranks on that host. The other ranks open the segment's descriptor through /proc/PID/fd of
 * that rank. If a part has several hosts, its rank 0 also listens for connections. After each stage
 * all ranks of the parent agree that the stage succeeded on all of them. So either all parts are
 * created or none, and no rank waits for a rank that has failed. */
#include "gpu/host/comm_split.h"

#include "gpu/host/segment.h"
#include "graph/base/thread.h"
#include "graph/wire/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part that a rank asked for. */
struct wish {
    int32_t colour, key;
};

/* What a rank has created for the other ranks of its part. */
struct offer {
    int32_t pid, segment; /* a descriptor number in process pid */
    char endpoint[GW_ENDPOINT_TEXT_MAX];
};

struct part {
    const struct gw_comm_split_site *site;
    int each;             /* number of children of each rank */
    struct wish *wishes;  /* [size] */
    struct offer *offers; /* [size] */
    int *members;         /* [count], the parent's rank numbers in the order of the child's ranks */
    int count, self;  /* number of ranks in this rank's part, and the number of this rank in it; a
                         count of  0: the rank is in no part */
    int first, local; /* the first rank of the part that is on this host, and the number of such
                         ranks */
    int segment;      /* descriptor of this host's segment; -1: not open */
    int listener;
    struct gw_segment *followed;
    struct gw_error *error;
};

static int run(struct part *part, enum gw_comm_verb verb, const struct gw_comm_args *args)
{
    struct gw_comm *comm = part->site->comm;
    return comm->backend->run(comm, verb, args, part->error);
}

/* Collects `bytes` bytes of every rank in `all`. This rank's bytes are at its index in `all` before
 * the call. */
static int share(struct part *part, void *all, size_t bytes)
{
    const char *own = (char *)all + (size_t)part->site->comm->rank * bytes;
    return run(part, GW_COMM_ALL_GATHER,
               GW_COMM_ARGS(.send = own, .recv = all, .count = bytes, .dtype = GW_DTYPE_U8));
}

/* Checks that a stage succeeded on all ranks. rc is the result on this rank. Returns 0 or the worst
 * result. */
static int agree(struct part *part, int rc)
{
    const struct gw_comm *comm = part->site->comm;
    struct gw_error own = part->error ? *part->error : (struct gw_error){.code = rc};
    int32_t worst = gw_comm_worst(rc, comm->rank);
    int met = run(part, GW_COMM_ALL_REDUCE,
                  GW_COMM_ARGS(.send = &worst, .recv = &worst, .count = 1, .dtype = GW_DTYPE_I32,
                               .reduce = GW_REDUCE_MIN));
    if (met < 0)
        return met;
    if (rc < 0)
        return gw_error_set(part->error, rc, "%s", own.text);
    const int code = gw_comm_worst_code(worst);
    return worst == 0 ? 0
                      : gw_error_set(part->error, code, "split: rank %d: %s",
                                     gw_comm_worst_rank(worst), gw_error_text(code));
}

static int host_of(const struct gw_comm_split_site *site, int rank)
{
    int host = 0;
    while (site->hosts > 1 && host + 1 < site->hosts && site->first[host + 1] <= rank)
        host++;
    return host;
}

static bool comes_before(const struct part *part, int a, int b)
{
    const int32_t keys[2] = {part->wishes[a].key, part->wishes[b].key};
    return keys[0] != keys[1] ? keys[0] < keys[1] : a < b;
}

/* Finds the members of this rank's part, sorted by key. */
static void members_find(struct part *part)
{
    const struct gw_comm *comm = part->site->comm;
    const int32_t colour = part->wishes[comm->rank].colour;
    for (int rank = 0; colour >= 0 && rank < comm->size; rank++) {
        int at = part->count;
        if (part->wishes[rank].colour != colour)
            continue;
        for (; at > 0 && comes_before(part, rank, part->members[at - 1]); at--)
            part->members[at] = part->members[at - 1];
        part->members[at] = rank;
        part->count++;
    }
    for (int i = 0; i < part->count; i++)
        if (part->members[i] == comm->rank)
            part->self = i;
}

/* Finds the members on this rank's host. They must have consecutive numbers in the part, because
 * the ring backend requires this. */
static int neighbours_find(struct part *part)
{
    const struct gw_comm_split_site *site = part->site;
    int turns = 0, hosts = 0;
    for (int i = 0; i < part->count; i++) {
        const int host = host_of(site, part->members[i]);
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || host_of(site, part->members[k]) == host;
        hosts += !seen;
        turns += i == 0 || host_of(site, part->members[i - 1]) != host;
        if (host != host_of(site, site->comm->rank))
            continue;
        if (part->local++ == 0)
            part->first = i;
    }
    return turns == hosts ? 0
                          : gw_error_set(part->error, GW_ENOTSUP,
                                         "split: the keys mix ranks of several hosts; ranks of "
                                         "one host must follow each other");
}

static bool has_hosts(const struct part *part)
{
    return part->local < part->count;
}

/* Creates the segment and the listening socket that this rank must offer to its part. */
static int offer_make(struct part *part)
{
    struct offer *offer = &part->offers[part->site->comm->rank];
    char host[GW_ENDPOINT_TEXT_MAX];
    int rc = part->count > 0 ? neighbours_find(part) : 0;
    *offer = (struct offer){.pid = getpid(), .segment = -1};
    if (rc < 0 || part->count == 0)
        return rc;
    if (part->self == part->first) {
        rc = gw_segment_create(part->local * part->each, &part->segment, part->error);
        offer->segment = part->segment;
    }
    if (rc == 0 && part->self == 0 && has_hosts(part)) {
        gw_endpoint_host(part->site->endpoint, host);
        rc = gw_endpoint_listen(host, &part->listener, offer->endpoint, part->error);
    }
    return rc;
}

/* Opens this host's segment, which the first rank of the part on this host created. */
static int segment_take(struct part *part)
{
    if (part->count == 0)
        return 0;
    if (part->segment < 0) {
        const struct offer *offer = &part->offers[part->members[part->first]];
        char path[64];
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)offer->pid, (int)offer->segment);
        part->segment = open(path, O_RDWR | O_CLOEXEC);
        if (part->segment < 0)
            return gw_error_set(part->error, GW_EIO, "split: the segment of rank %d (%s): %s",
                                part->members[part->first], path, strerror(errno));
    }
    int rc = gw_segment_ref(part->segment, &part->followed, part->error);
    if (rc == 0)
        gw_segment_follow(part->followed, part->site->segment);
    return rc;
}

/* One child of this rank. */
struct opening {
    const struct part *part;
    int index; /* 0 to each - 1 */
    struct gw_comm *comm;
    int rc;
    struct gw_error error;
    pthread_t thread;
};

static int hosts_open(struct opening *opening)
{
    const struct part *part = opening->part;
    const struct gw_comm_split_site *site = part->site;
    const int each = part->each;
    /* Each part has its own attempt number, so that a connection to another part is refused. */
    const uint64_t which = *site->splits << 32 ^ (uint64_t)part->wishes[site->comm->rank].colour;
    const struct gw_comm_hosts_options options = GW_INIT(
        gw_comm_hosts_options, .fd = part->segment, .rank = part->self * each + opening->index,
        .ranks = part->count * each, .first_rank = part->first * each,
        .local_ranks = part->local * each, .attempt = (site->attempt ^ which) * 0x9e3779b97f4a7c15,
        .endpoint = part->offers[part->members[0]].endpoint, .listener = part->listener,
        .key = site->key, .timeout_ns = site->comm->timeout_ns);
    return site->open_hosts(&options, &opening->comm, &opening->error);
}

static void *child_open(void *arg)
{
    struct opening *opening = arg;
    const struct part *part = opening->part;
    const struct gw_comm_split_site *site = part->site;
    const struct gw_comm_host_options options = GW_INIT(
        gw_comm_host_options, .fd = part->segment, .rank = part->self * part->each + opening->index,
        .ranks = part->count * part->each, .timeout_ns = site->comm->timeout_ns);
    opening->rc = has_hosts(part) ? hosts_open(opening)
                                  : site->open_host(&options, &opening->comm, &opening->error);
    if (opening->rc == 0 && opening->index == 0)
        opening->comm->pulse = site->comm->pulse; /* parent and first child are used by the same
                                                     thread of the same rank */
    return NULL;
}

/* The children of a rank join at the same time, because ranks of several hosts wait for each other
 * there. */
static int children_open(struct part *part, struct gw_comm **children)
{
    struct opening *openings = calloc((size_t)part->each, sizeof *openings);
    int rc = openings ? 0 : gw_error_set(part->error, GW_ENOMEM, "split");
    int started = 0;
    for (; rc == 0 && started < part->each; started++) {
        struct opening *opening = &openings[started];
        *opening = (struct opening){.part = part, .index = started};
        if (started > 0 && gw_thread_start(&opening->thread, child_open, opening) != 0)
            rc = gw_error_set(part->error, GW_ENOMEM, "split: no thread");
        if (rc < 0)
            break;
    }
    if (rc < 0) /* the other ranks would wait for this one */
        gw_segment_abort(part->followed, GW_ENOMEM, part->self * part->each);
    if (started > 0)
        (void)child_open(&openings[0]);
    for (int i = 0; i < started; i++) {
        if (i > 0)
            (void)pthread_join(openings[i].thread, NULL);
        if (rc == 0 && openings[i].rc < 0)
            rc = gw_error_set(part->error, openings[i].rc, "%s", openings[i].error.text);
        children[i] = openings[i].comm;
    }
    free(openings);
    return rc;
}

static int part_run(struct part *part, const struct gw_comm_part *split, struct gw_comm **children)
{
    const struct gw_comm_split_site *site = part->site;
    part->wishes[site->comm->rank] = (struct wish){split->colour, split->key};
    int rc = share(part, part->wishes, sizeof *part->wishes);
    if (rc < 0)
        return rc;
    members_find(part);
    rc = agree(part, offer_make(part));
    if (rc == 0)
        rc = share(part, part->offers, sizeof *part->offers);
    if (rc == 0)
        rc = agree(part, segment_take(part));
    return rc < 0 ? rc : agree(part, part->count > 0 ? children_open(part, children) : 0);
}

static void children_close(struct gw_comm **children, int each)
{
    for (int i = 0; i < each; i++)
        if (children[i])
            children[i]->backend->close(children[i]);
}

/* children[each] receives the communicators of this rank, or NULL if it is in no part. */
static int split_run(struct part *part, const struct gw_comm_part *split, struct gw_comm **children)
{
    const struct gw_comm_split_site *site = part->site;
    const size_t size = (size_t)site->comm->size;
    struct gw_error unread;
    part->error = part->error ? part->error : &unread;
    part->segment = part->listener = -1;
    part->wishes = calloc(size, sizeof *part->wishes);
    part->offers = calloc(size, sizeof *part->offers);
    part->members = calloc(size, sizeof *part->members);
    memset(children, 0, (size_t)part->each * sizeof(struct gw_comm *));
    int rc;
    if (part->wishes && part->offers && part->members) {
        rc = part_run(part, split, children);
    } else { /* the other ranks wait in the first stage: break the communicator so that they do not
                wait forever */
        gw_comm_abort(site->comm, GW_ENOMEM, site->comm->rank);
        rc = gw_error_set(part->error, GW_ENOMEM, "split of %zu ranks", size);
    }
    if (site->splits)
        ++*site->splits;
    if (rc < 0)
        children_close(children, part->each);
    if (part->followed)
        gw_segment_unref(part->followed);
    if (part->segment >= 0)
        close(part->segment);
    if (part->listener >= 0)
        close(part->listener);
    free(part->wishes);
    free(part->offers);
    free(part->members);
    return rc;
}

int gw_comm_split_host(const struct gw_comm_split_site *site, const struct gw_comm_part *split,
                       struct gw_comm **child, struct gw_error *error)
{
    struct part part = {.site = site, .each = 1, .error = error};
    struct gw_comm *made;
    int rc = split_run(&part, split, &made);
    if (rc == 0)
        *child = made;
    return rc;
}

int gw_comm_split_multiply(const struct gw_comm_split_site *site, int each,
                           struct gw_comm **children, struct gw_error *error)
{
    struct part part = {.site = site, .each = each, .error = error};
    return split_run(&part, &(const struct gw_comm_part){.colour = 0}, children);
}
