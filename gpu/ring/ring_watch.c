/* The watch thread of a leader.
 *
 * Only this thread uses the control links. The leader communicates with the thread through atomic
 * variables and an eventfd. A cause is sent once, and the hub sends it to all leaders. If a link
 * breaks without a goodbye, that rank has died. The worker that watches its process knows the
 * reason (for example the signal) and reports it. So the thread waits a moment for this report
 * before it uses the broken link as the cause. */
#include "gpu/ring/ring_watch.h"

#include "graph/base/text.h"
#include "graph/base/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    TICK_MS = 20, /* interval at which the thread checks the segment */
    DEATH_MS = 1000,
    ANSWER_MS = 300,  /* how long the other leaders have to answer an ASK */
    GOODBYE_MS = 500, /* how long to wait until the last messages are sent */
};

#define MS_NS 1000000ULL

enum word {
    CAUSE = 1, /* the communicator broke: code, cause, rank, text */
    GOODBYE,   /* `rank` has closed its communicator */
    LATE,   /* `rank` has waited too long; code: verb; number: nanoseconds; cause: the rank that it
               suspects */
    ASK,    /* asks how many flows the leader has started */
    ANSWER, /* `number`: how many flows this host has started. `rank`: the rank of this host that
               has made the least progress */
};

struct frame {
    uint32_t word;
    int32_t code, cause, rank;
    uint64_t number;
    char text[GW_SEGMENT_TEXT_MAX];
};

struct peer {
    struct gw_transport *link; /* NULL: closed */
    int rank;
    _Atomic bool closed; /* the peer has sent GOODBYE */
    uint64_t died_ns;    /* time at which the connection broke without a GOODBYE message; 0: it did
                            not break */
    struct frame frame;  /* the frame that is being received */
    size_t got;
    struct frame answer; /* its answer to the last question; word 0: none yet */
};

struct gw_ring_watch {
    pthread_t thread;
    int wake; /* eventfd */
    const struct gw_segment *segment;
    struct gw_ring *ring;
    int rank, local_ranks;
    _Atomic uint64_t entered;
    _Atomic bool closing, is_late;
    struct gw_ring_late late; /* written before is_late is set */
    bool told;                /* the cause was sent, or received */
    uint64_t probe_ns;        /* when the question ends; 0: no question is open */
    struct frame probe;       /* the LATE frame that started the question */
    int peers_count;
    struct peer peers[];
};

static bool is_hub(const struct gw_ring_watch *watch)
{
    return watch->rank == 0;
}

static void drop(struct peer *peer)
{
    if (peer->link)
        peer->link->free(peer->link);
    peer->link = NULL;
}

/* Sends a frame to a peer. A frame fits into the socket buffer if the other side reads. If it does
 * not fit, the link counts as broken. */
static void tell(struct peer *peer, const struct frame *frame)
{
    size_t wrote = 0;
    if (!peer->link)
        return;
    int rc = peer->link->write(peer->link, frame, sizeof *frame, &wrote, NULL);
    if (rc == 0 && wrote == sizeof *frame)
        rc = peer->link->flush(peer->link, NULL);
    else
        rc = GW_EIO;
    if (rc < 0 && rc != GW_EAGAIN && !peer->died_ns && !atomic_load(&peer->closed)) {
        peer->died_ns = gw_segment_now_ns();
        drop(peer);
    }
}

static void tell_all(struct gw_ring_watch *watch, const struct frame *frame,
                     const struct peer *except)
{
    for (int i = 0; i < watch->peers_count; i++)
        if (&watch->peers[i] != except)
            tell(&watch->peers[i], frame);
}

static void break_with(struct gw_ring_watch *watch, const struct frame *frame)
{
    const struct gw_segment_fault fault = {
        .code = frame->code, .cause = frame->cause, .rank = frame->rank, .text = frame->text};
    gw_segment_break(watch->segment, &fault);
}

/* -- Who is late ---------------------------------------------------------------------------------
 */

/* Makes this host's answer to an ASK message: the rank that has made the least progress, with the
 * fewest steps in the segment. */
static struct frame answer_make(const struct gw_ring_watch *watch)
{
    struct frame answer = {.word = ANSWER, .rank = watch->rank};
    answer.number = atomic_load(&watch->entered);
    uint32_t least = atomic_load(&gw_segment_rank(watch->segment, 0)->step);
    for (int i = 1; i < watch->local_ranks; i++) {
        uint32_t step = atomic_load(&gw_segment_rank(watch->segment, i)->step);
        if ((int32_t)(step - least) < 0) {
            least = step;
            answer.rank = watch->rank + i;
        }
    }
    return answer;
}

static void probe_open(struct gw_ring_watch *watch, const struct frame *late)
{
    const struct frame ask = {.word = ASK};
    if (watch->probe_ns)
        return; /* the first LATE counts */
    watch->probe = *late;
    watch->probe_ns = gw_segment_now_ns() + ANSWER_MS * MS_NS;
    for (int i = 0; i < watch->peers_count; i++)
        watch->peers[i].answer.word = 0;
    tell_all(watch, &ask, NULL);
}

static bool probe_is_over(const struct gw_ring_watch *watch)
{
    bool all = true;
    for (int i = 0; i < watch->peers_count; i++)
        all = all && watch->peers[i].answer.word;
    return watch->probe_ns && (all || gw_segment_now_ns() >= watch->probe_ns);
}

/* Ends a question and names the late rank: a leader that did not answer; else a rank of the host
 * that started the fewest flows; else (all hosts started equally many) the rank that the asker
 * suspects. */
static void probe_close(struct gw_ring_watch *watch)
{
    const struct frame *late = &watch->probe;
    const struct frame own = answer_make(watch);
    uint64_t least = own.number, most = own.number;
    int culprit = own.rank;
    bool silent = false;
    for (int i = 0; i < watch->peers_count && !silent; i++) {
        const struct frame *answer = &watch->peers[i].answer;
        silent = answer->word == 0;
        if (silent) {
            culprit = watch->peers[i].rank;
        } else if (answer->number < least) {
            least = answer->number;
            culprit = answer->rank;
        }
        most = answer->number > most ? answer->number : most;
    }
    if (!silent && least == most)
        culprit = late->cause;
    char time[GW_TEXT_DURATION_ROOM];
    struct frame cause = {
        .word = CAUSE, .code = GW_ETIMEDOUT, .cause = GW_ETIMEDOUT, .rank = culprit};
    (void)snprintf(cause.text, sizeof cause.text, "%s: rank %d waited %s for rank %d",
                   gw_comm_backend_verb_name((enum gw_comm_verb)late->code), late->rank,
                   gw_text_duration(late->number, time), culprit);
    break_with(watch, &cause);
    watch->probe_ns = 0;
}

/* -- What comes in -------------------------------------------------------------------------------
 */

static void goodbye(struct gw_ring_watch *watch, struct peer *peer, const struct frame *frame)
{
    atomic_store(&watch->ring->closed, frame->rank);
    if (frame->rank == peer->rank)
        atomic_store(&peer->closed, true);
    if (is_hub(watch))
        tell_all(watch, frame, peer);
}

static void handle(struct gw_ring_watch *watch, struct peer *peer, const struct frame *frame)
{
    struct frame answer;
    switch ((enum word)frame->word) {
    case CAUSE:
        break_with(watch, frame);
        if (!is_hub(watch))
            watch->told = true;
        return;
    case GOODBYE:
        goodbye(watch, peer, frame);
        return;
    case LATE:
        probe_open(watch, frame);
        return;
    case ASK:
        answer = answer_make(watch);
        tell(peer, &answer);
        return;
    case ANSWER:
        peer->answer = *frame;
        return;
    }
}

static void listen_to(struct gw_ring_watch *watch, struct peer *peer)
{
    while (peer->link) {
        size_t got = 0;
        int rc = peer->link->read(peer->link, (char *)&peer->frame + peer->got,
                                  sizeof peer->frame - peer->got, &got, NULL);
        if (rc == GW_EAGAIN)
            return;
        if (rc < 0) {
            peer->died_ns = atomic_load(&peer->closed) ? 0 : gw_segment_now_ns();
            drop(peer);
            return;
        }
        peer->got += got;
        if (peer->got < sizeof peer->frame)
            continue;
        peer->got = 0;
        peer->frame.text[sizeof peer->frame.text - 1] = '\0';
        handle(watch, peer, &peer->frame);
    }
}

/* -- The thread ----------------------------------------------------------------------------------
 */

/* Sends the cause to the other leaders, once, after the segment was broken. */
static void tell_cause(struct gw_ring_watch *watch)
{
    struct gw_error error = {0};
    if (watch->told || gw_segment_broken(watch->segment, &error) == 0)
        return;
    const struct gw_segment_header *header = gw_segment_header(watch->segment);
    const bool written = atomic_load(&header->broken) == 2;
    struct frame cause = {.word = CAUSE,
                          .code = error.code,
                          .cause = written ? header->cause : GW_EABORTED,
                          .rank = written ? header->rank : -1};
    (void)snprintf(cause.text, sizeof cause.text, "%.*s", (int)sizeof cause.text - 1, error.text);
    watch->told = true;
    tell_all(watch, &cause, NULL);
}

static void mourn(struct gw_ring_watch *watch)
{
    const uint64_t now_ns = gw_segment_now_ns();
    for (int i = 0; i < watch->peers_count; i++) {
        const struct peer *peer = &watch->peers[i];
        if (!peer->died_ns || now_ns - peer->died_ns < DEATH_MS * MS_NS)
            continue;
        struct frame cause = {
            .word = CAUSE, .code = GW_EABORTED, .cause = GW_ECLOSED, .rank = peer->rank};
        (void)snprintf(cause.text, sizeof cause.text,
                       "rank %d is gone: the connection to its host was lost", peer->rank);
        break_with(watch, &cause);
    }
}

static void heed_late(struct gw_ring_watch *watch)
{
    if (!atomic_exchange(&watch->is_late, false))
        return;
    const struct frame late = {.word = LATE,
                               .code = (int32_t)watch->late.verb,
                               .cause = watch->late.suspect,
                               .rank = watch->rank,
                               .number = watch->late.waited_ns};
    if (is_hub(watch))
        probe_open(watch, &late);
    else
        tell_all(watch, &late, NULL);
}

static void doze(struct gw_ring_watch *watch)
{
    struct pollfd fds[GW_RING_HOSTS_MAX + 1];
    nfds_t count = 0;
    uint64_t woken;
    fds[count++] = (struct pollfd){.fd = watch->wake, .events = POLLIN};
    for (int i = 0; i < watch->peers_count; i++) {
        const struct gw_transport *link = watch->peers[i].link;
        if (link)
            fds[count++] = (struct pollfd){
                .fd = link->fd, .events = (short)(POLLIN | (link->blocked(link) ? POLLOUT : 0))};
    }
    if (poll(fds, count, TICK_MS) > 0 && fds[0].revents)
        (void)!read(watch->wake, &woken, sizeof woken);
}

static void say_goodbye(struct gw_ring_watch *watch)
{
    const struct frame frame = {.word = GOODBYE, .rank = watch->rank};
    tell_all(watch, &frame, NULL);
    for (int i = 0; i < watch->peers_count; i++) {
        struct gw_transport *link = watch->peers[i].link;
        struct pollfd out = {.fd = link ? link->fd : -1, .events = POLLOUT};
        if (link && link->flush(link, NULL) == GW_EAGAIN && poll(&out, 1, GOODBYE_MS) > 0)
            (void)link->flush(link, NULL);
    }
}

static void *watch_main(void *arg)
{
    struct gw_ring_watch *watch = arg;
    (void)pthread_setname_np(pthread_self(), "gangway-ring");
    while (!atomic_load(&watch->closing)) {
        for (int i = 0; i < watch->peers_count; i++) {
            listen_to(watch, &watch->peers[i]);
            if (watch->peers[i].link)
                (void)watch->peers[i].link->flush(watch->peers[i].link, NULL);
        }
        heed_late(watch);
        if (probe_is_over(watch))
            probe_close(watch);
        mourn(watch);
        tell_cause(watch);
        doze(watch);
    }
    tell_cause(watch);
    say_goodbye(watch);
    return NULL;
}

static void wake(const struct gw_ring_watch *watch)
{
    const uint64_t one = 1;
    (void)!write(watch->wake, &one, sizeof one);
}

static void watch_free(struct gw_ring_watch *watch)
{
    for (int i = 0; i < watch->peers_count; i++)
        drop(&watch->peers[i]);
    if (watch->wake >= 0)
        close(watch->wake);
    free(watch);
}

int gw_ring_watch_open(const struct gw_ring_watch_options *options, struct gw_ring_watch **watch,
                       struct gw_error *error)
{
    struct gw_ring_watch *made =
        calloc(1, sizeof *made + (size_t)options->peers_count * sizeof made->peers[0]);
    if (!made) {
        for (int i = 0; i < options->peers_count; i++)
            options->peers[i].link->free(options->peers[i].link);
        return gw_error_set(error, GW_ENOMEM, "communicator");
    }
    made->segment = options->segment;
    made->ring = options->ring;
    made->rank = options->rank;
    made->local_ranks = options->local_ranks;
    made->peers_count = options->peers_count;
    for (int i = 0; i < options->peers_count; i++) {
        made->peers[i].link = options->peers[i].link;
        made->peers[i].rank = options->peers[i].rank;
    }
    made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failed = made->wake < 0 ? errno : gw_thread_start(&made->thread, watch_main, made);
    if (failed) {
        watch_free(made);
        return gw_error_set(error, GW_EIO, "cannot start a thread: %s", strerror(failed));
    }
    *watch = made;
    return 0;
}

void gw_ring_watch_close(struct gw_ring_watch *watch)
{
    if (!watch)
        return;
    atomic_store(&watch->closing, true);
    wake(watch);
    (void)pthread_join(watch->thread, NULL);
    watch_free(watch);
}

void gw_ring_watch_entered(struct gw_ring_watch *watch)
{
    (void)atomic_fetch_add(&watch->entered, 1);
}

void gw_ring_watch_late(struct gw_ring_watch *watch, const struct gw_ring_late *late)
{
    watch->late = *late;
    atomic_store(&watch->is_late, true);
    wake(watch);
}
