/* The file of a segment, its mappings, and waiting in it.
 *
 * Only one rank writes a counter. A rank that reads a value of a counter also sees everything that
 * the writer wrote before it stored that value. Accesses to `parked` and to counters are
 * sequentially consistent. A waiting rank writes parked and then reads the counter. A publishing
 * rank writes the counter and then reads parked. So at least one of the two sees the other's write,
 * and no wake-up is lost. */
#include "gpu/host/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "GWCOMM\n";

struct mapping {
    struct mapping *next;
    void *memory;
    uint64_t offset;
    size_t bytes;
    unsigned refs;
};

struct gw_segment {
    struct gw_segment *next;
    unsigned refs;
    dev_t device;
    ino_t inode;
    int fd;
    char *base; /* mapping of fixed_bytes bytes */
    size_t fixed_bytes;
    int ranks;
    struct mapping *mappings;
    struct gw_segment *parent; /* if the parent breaks, this segment breaks too; holds a reference;
                                  NULL: no parent */
};

enum {
    PARENT_TICK_NS = 20000000, /* interval at which a sleeping rank checks the parent */
    WRITER_PATIENCE_NS =
        1000000000, /* how long to wait for a rank that was interrupted while it wrote a cause */
};

/* Guards the list of segments, their mappings and reference counts. Never held while waiting for
 * another rank. */
static pthread_mutex_t segments_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gw_segment *segments;

static size_t page_up(size_t bytes)
{
    return (bytes + GW_SEGMENT_PAGE - 1) / GW_SEGMENT_PAGE * GW_SEGMENT_PAGE;
}

static size_t channels_at(int ranks)
{
    return page_up(sizeof(struct gw_segment_header) +
                   (size_t)ranks * sizeof(struct gw_segment_rank));
}

static size_t stages_at(int ranks)
{
    return page_up(channels_at(ranks) +
                   (size_t)ranks * (size_t)ranks * sizeof(struct gw_segment_channel));
}

static size_t mails_at(int ranks)
{
    return stages_at(ranks) + (size_t)ranks * 2 * GW_SEGMENT_STAGE_BYTES;
}

static size_t fixed_bytes_of(int ranks)
{
    return page_up(mails_at(ranks) + (size_t)ranks * (size_t)ranks * 2 * GW_SEGMENT_MAIL_BYTES);
}

int gw_segment_create(int ranks, int *fd, struct gw_error *error)
{
    if (ranks < 1 || ranks > GW_COMM_HOST_RANKS_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "a communicator cannot have %d ranks: it may have 1 to %d", ranks,
                            GW_COMM_HOST_RANKS_MAX);

    int file = memfd_create("gangway-comm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return gw_error_set(error, GW_EIO, "memfd_create: %s", strerror(errno));

    struct gw_segment_header header = {.version = GW_SEGMENT_VERSION, .ranks = (uint32_t)ranks};
    memcpy(header.magic, magic, sizeof magic);
    header.fixed_bytes = fixed_bytes_of(ranks);
    /* Seal the file against shrinking. Otherwise a rank could truncate it and make other ranks
     * fault. */
    if (ftruncate(file, (off_t)header.fixed_bytes) < 0 ||
        pwrite(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) < 0) {
        int rc =
            gw_error_set(error, GW_EIO, "shared memory for %d ranks: %s", ranks, strerror(errno));
        close(file);
        return rc;
    }
    *fd = file;
    return 0;
}

/* Reads and checks the header. The file may be any file. */
static int header_read(int fd, const struct stat *status, struct gw_segment_header *header,
                       struct gw_error *error)
{
    if (pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
        memcmp(header->magic, magic, sizeof magic) != 0)
        return gw_error_set(error, GW_ECORRUPT, "descriptor %d is not a communicator's segment",
                            fd);
    if (header->version != GW_SEGMENT_VERSION)
        return gw_error_set(error, GW_EVERSION,
                            "the segment has version %u, but this library needs version %d",
                            header->version, GW_SEGMENT_VERSION);
    if (header->ranks < 1 || header->ranks > GW_COMM_HOST_RANKS_MAX ||
        header->fixed_bytes != fixed_bytes_of((int)header->ranks) ||
        (uint64_t)status->st_size < header->fixed_bytes)
        return gw_error_set(error, GW_ECORRUPT, "descriptor %d: the segment's sizes are wrong", fd);
    return 0;
}

static int segment_new(int fd, const struct stat *status, struct gw_segment **segment,
                       struct gw_error *error)
{
    struct gw_segment_header header;
    int rc = header_read(fd, status, &header, error);
    if (rc < 0)
        return rc;

    struct gw_segment *self = calloc(1, sizeof *self);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    void *base = mmap(NULL, header.fixed_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!self || own < 0 || base == MAP_FAILED) {
        if (base != MAP_FAILED)
            munmap(base, header.fixed_bytes);
        if (own >= 0)
            close(own);
        free(self);
        return gw_error_set(error, GW_ENOMEM, "cannot map a communicator's segment");
    }
    *self = (struct gw_segment){
        .refs = 1,
        .device = status->st_dev,
        .inode = status->st_ino,
        .fd = own,
        .base = base,
        .fixed_bytes = header.fixed_bytes,
        .ranks = (int)header.ranks,
    };
    *segment = self;
    return 0;
}

int gw_segment_ref(int fd, struct gw_segment **segment, struct gw_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return gw_error_set(error, GW_EINVAL, "descriptor %d: %s", fd, strerror(errno));

    int rc = 0;
    pthread_mutex_lock(&segments_mutex);
    struct gw_segment *found = segments;
    while (found && (found->device != status.st_dev || found->inode != status.st_ino))
        found = found->next;
    if (found) {
        found->refs++;
    } else {
        rc = segment_new(fd, &status, &found, error);
        if (rc == 0) {
            found->next = segments;
            segments = found;
        }
    }
    pthread_mutex_unlock(&segments_mutex);
    if (rc == 0)
        *segment = found;
    return rc;
}

void gw_segment_unref(struct gw_segment *segment)
{
    pthread_mutex_lock(&segments_mutex);
    bool last = --segment->refs == 0;
    if (last) {
        struct gw_segment **link = &segments;
        while (*link != segment)
            link = &(*link)->next;
        *link = segment->next;
    }
    pthread_mutex_unlock(&segments_mutex);
    if (!last)
        return;

    assert(!segment->mappings);
    munmap(segment->base, segment->fixed_bytes);
    close(segment->fd);
    if (segment->parent)
        gw_segment_unref(segment->parent);
    free(segment);
}

void gw_segment_follow(struct gw_segment *segment, struct gw_segment *parent)
{
    pthread_mutex_lock(&segments_mutex);
    const bool first =
        !segment->parent; /* another thread of this process may have set the parent */
    if (first) {
        parent->refs++;
        segment->parent = parent;
    }
    pthread_mutex_unlock(&segments_mutex);
}

void *gw_segment_map(struct gw_segment *segment, uint64_t offset, size_t bytes)
{
    pthread_mutex_lock(&segments_mutex);
    struct mapping *found = segment->mappings;
    while (found && (found->offset != offset || found->bytes != bytes))
        found = found->next;
    if (found) {
        found->refs++;
    } else if ((found = calloc(1, sizeof *found))) {
        found->memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, (off_t)offset);
        if (found->memory == MAP_FAILED) {
            free(found);
            found = NULL;
        } else {
            found->refs = 1;
            found->offset = offset;
            found->bytes = bytes;
            found->next = segment->mappings;
            segment->mappings = found;
        }
    }
    pthread_mutex_unlock(&segments_mutex);
    return found ? found->memory : NULL;
}

void gw_segment_unmap(struct gw_segment *segment, void *memory)
{
    pthread_mutex_lock(&segments_mutex);
    struct mapping **link = &segment->mappings;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    struct mapping *found = *link;
    assert(found);
    if (--found->refs == 0) {
        *link = found->next;
        munmap(found->memory, found->bytes);
        free(found);
    }
    pthread_mutex_unlock(&segments_mutex);
}

int gw_segment_fd(const struct gw_segment *segment)
{
    return segment->fd;
}

struct gw_segment_header *gw_segment_header(const struct gw_segment *segment)
{
    return (struct gw_segment_header *)(void *)segment->base;
}

struct gw_segment_rank *gw_segment_rank(const struct gw_segment *segment, int rank)
{
    assert(rank >= 0 && rank < segment->ranks);
    return (struct gw_segment_rank *)(void *)(segment->base + sizeof(struct gw_segment_header)) +
           rank;
}

static size_t pair_of(const struct gw_segment *segment, int from, int to)
{
    assert(from >= 0 && from < segment->ranks && to >= 0 && to < segment->ranks);
    return (size_t)from * (size_t)segment->ranks + (size_t)to;
}

struct gw_segment_channel *gw_segment_channel(const struct gw_segment *segment, int from, int to)
{
    char *channels = segment->base + channels_at(segment->ranks);
    return (struct gw_segment_channel *)(void *)channels + pair_of(segment, from, to);
}

void *gw_segment_stage(const struct gw_segment *segment, int rank, uint32_t step)
{
    return segment->base + stages_at(segment->ranks) +
           ((size_t)rank * 2 + (step & 1)) * GW_SEGMENT_STAGE_BYTES;
}

void *gw_segment_mail(const struct gw_segment *segment, int from, int to, uint32_t piece)
{
    return segment->base + mails_at(segment->ranks) +
           (pair_of(segment, from, to) * 2 + (piece & 1)) * GW_SEGMENT_MAIL_BYTES;
}

static void futex_wake_one(_Atomic uint32_t *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Returns false if the deadline has passed. */
static bool futex_wait_until(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                   .tv_nsec = (long)(deadline_ns % 1000000000)};
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL,
                   FUTEX_BITSET_MATCH_ANY) == 0 ||
           errno != ETIMEDOUT;
}

void gw_segment_break(const struct gw_segment *segment, const struct gw_segment_fault *fault)
{
    struct gw_segment_header *header = gw_segment_header(segment);
    uint32_t whole = 0;
    if (!atomic_compare_exchange_strong(&header->broken, &whole, 1))
        return;
    header->code = fault->code;
    header->cause = fault->cause;
    header->rank = fault->rank;
    header->unreached = fault->unreached;
    size_t length = strnlen(fault->text, sizeof header->text - 1);
    memcpy(header->text, fault->text, length);
    header->text[length] = '\0';
    atomic_store(&header->broken, 2);

    for (int i = 0; i < segment->ranks; i++)
        if (atomic_exchange(&header->parked[i], 0) != 0)
            futex_wake_one(&header->parked[i]);
}

/* If the parent is broken, breaks this segment with the same cause. This wakes the ranks that wait
 * in this segment, in all processes. */
static int inherit(const struct gw_segment *segment, struct gw_error *error)
{
    struct gw_error cause;
    const struct gw_segment *parent = segment->parent;
    if (!parent || gw_segment_broken(parent, &cause) == 0)
        return 0;
    const struct gw_segment_header *header = gw_segment_header(parent);
    const bool written = atomic_load(&header->broken) == 2;
    const struct gw_segment_fault fault = {.code = cause.code,
                                           .cause = written ? header->cause : GW_EABORTED,
                                           .rank = written ? header->rank : -1,
                                           .text = cause.text};
    gw_segment_break(segment, &fault);
    return gw_error_set(error, cause.code, "%s", cause.text);
}

int gw_segment_broken(const struct gw_segment *segment, struct gw_error *error)
{
    const struct gw_segment_header *header = gw_segment_header(segment);
    uint32_t state = atomic_load(&header->broken);
    if (state == 0)
        return inherit(segment, error);
    /* In state 1 a rank is writing the cause. This takes a few instructions, or longer if that
     * process is not scheduled. If the process was stopped or killed meanwhile, there is no text,
     * and only the code is returned. */
    const uint64_t patience_ns = gw_segment_now_ns() + (state == 1 ? WRITER_PATIENCE_NS : 0);
    while (state == 1 && gw_segment_now_ns() < patience_ns) {
        struct timespec moment = {.tv_nsec = 100000};
        nanosleep(&moment, NULL);
        state = atomic_load(&header->broken);
    }
    if (state == 1)
        return gw_error_set(error, GW_EABORTED, "the communicator was aborted");
    char text[GW_SEGMENT_TEXT_MAX]; /* a copy with a NUL at its end, because another process can
                                       write anything to the header */
    memcpy(text, header->text, sizeof text);
    text[sizeof text - 1] = '\0';
    return gw_error_set(error, header->code, "%s", text);
}

int gw_segment_unreached(const struct gw_segment *segment)
{
    const struct gw_segment_header *header = gw_segment_header(segment);
    return atomic_load(&header->broken) == 2 ? header->unreached - 1 : -1;
}

uint64_t gw_segment_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static bool reached(const struct gw_segment_wait *wait)
{
    return (int32_t)(atomic_load(wait->word) - wait->target) >=
           0; /* the counters can wrap around */
}

static bool spin(const struct gw_segment_wait *wait)
{
    if (wait->spin_ns == 0)
        return false;
    const struct gw_segment_header *header = gw_segment_header(wait->segment);
    uint64_t end_ns = gw_segment_now_ns() + wait->spin_ns;
    do {
        for (int i = 0; i < 32; i++) {
            if (reached(wait))
                return true;
            pause_cpu();
        }
    } while (atomic_load(&header->broken) == 0 && gw_segment_now_ns() < end_ns);
    return false;
}

/* Sleeps until another rank wakes this one. If the segment has a parent, it sleeps for at most
 * PARENT_TICK_NS. Returns false if the deadline has passed. */
static bool park(const struct gw_segment_wait *wait, _Atomic uint32_t *parked, uint32_t on_peer)
{
    if (!wait->segment->parent)
        return futex_wait_until(parked, on_peer, wait->deadline_ns);
    const uint64_t tick_ns = gw_segment_now_ns() + PARENT_TICK_NS;
    const bool last = wait->deadline_ns <= tick_ns;
    return futex_wait_until(parked, on_peer, last ? wait->deadline_ns : tick_ns) || !last;
}

enum gw_segment_waited gw_segment_wait(const struct gw_segment_wait *wait)
{
    if (reached(wait) || spin(wait))
        return GW_SEGMENT_REACHED;

    struct gw_segment_header *header = gw_segment_header(wait->segment);
    struct gw_segment_rank *peer = gw_segment_rank(wait->segment, wait->peer);
    _Atomic uint32_t *parked = &header->parked[wait->self];
    const uint32_t on_peer = (uint32_t)wait->peer + 1;
    enum gw_segment_waited result = GW_SEGMENT_REACHED;
    for (bool in_time = true;;) {
        atomic_store(parked, on_peer);
        /* Read the presence before the counter: a peer that closes has stored its last counter
         * values before. */
        bool left = atomic_load(&peer->presence) == GW_COMM_CLOSED;
        if (reached(wait))
            break;
        if (gw_segment_broken(wait->segment, NULL) < 0) {
            result = GW_SEGMENT_BROKEN;
            break;
        }
        if (left) {
            result = GW_SEGMENT_LEFT;
            break;
        }
        if (!in_time) {
            result = GW_SEGMENT_LATE;
            break;
        }
        in_time = park(wait, parked, on_peer);
    }
    atomic_store(parked, 0);
    return result;
}

void gw_segment_wake(const struct gw_segment *segment, int self, int to)
{
    _Atomic uint32_t *parked = &gw_segment_header(segment)->parked[to];
    uint32_t on_self = (uint32_t)self + 1;
    if (atomic_load(parked) == on_self && atomic_compare_exchange_strong(parked, &on_self, 0))
        futex_wake_one(parked);
}

void gw_segment_abort(struct gw_segment *segment, int cause, int rank)
{
    char text[GW_SEGMENT_TEXT_MAX];
    if (rank >= 0)
        (void)snprintf(text, sizeof text, "the communicator was aborted: rank %d: %s", rank,
                       gw_error_text(cause));
    else
        (void)snprintf(text, sizeof text, "the communicator was aborted: %s", gw_error_text(cause));
    const struct gw_segment_fault fault = {
        .code = GW_EABORTED, .cause = cause, .rank = rank, .text = text};
    gw_segment_break(segment, &fault);
}
