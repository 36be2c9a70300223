/* Standard input for a command. A tunnel sends it to one attempt, and breaks when that attempt
 * ends.
 *
 * Invariants: the tunnel is opened when there is something to send, which is the first bytes or the
 * end of the input. Input that another attempt may need again is in a file or in `kept`; if it is
 * not, the job is cancelled and a message says why. */
#include "client/cli/launch/input.h"

#include "client/cli/lib/cli.h"
#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PIECE_BYTES = 64 << 10, BUFFERED_BYTES = 1 << 20 };
#define AGAIN_NS (50 * GW_NS_PER_MS)

struct gw_input {
    struct gw_client *client;
    struct gw_future *future;
    int fd, stop_fd;
    int over_fd;    /* readable if the attempt with the tunnel has ended */
    off_t start;    /* offset in the file at which the input begins; -1: the input is no file, and
                       cannot be read again */
    uint64_t bytes; /* number of bytes read so far */
    bool ended;     /* the end of the input was read */
    bool lost;      /* another attempt needs input that cannot be read again */
    char *buffered; /* the first BUFFERED_BYTES of an input that is not a file */
    char *piece;
    pthread_t thread;
};

/* -- Finding the input --------------------------------------------------------------------------
 */

static bool is_null_device(const struct stat *status)
{
    return S_ISCHR(status->st_mode) && major(status->st_rdev) == 1 && minor(status->st_rdev) == 3;
}

int gw_input_find(const char *text, int *fd, struct gw_error *error)
{
    struct stat status;
    *fd = -1;
    if (text && strcmp(text, "none") == 0)
        return 0;
    const bool own = !text || strcmp(text, "-") == 0;
    int found = own ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(text, O_RDONLY | O_CLOEXEC);
    if (found < 0 && !text)
        return 0; /* standard input is closed */
    if (found < 0)
        return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "--stdin %s: %s", text,
                            strerror(errno));
    int rc = 0;
    if (fstat(found, &status) < 0 || (fcntl(found, F_GETFL) & O_ACCMODE) == O_WRONLY ||
        is_null_device(&status) || (!text && isatty(found))) {
        close(found);
        found = -1;
    } else if (S_ISDIR(status.st_mode)) {
        close(found);
        found = -1;
        if (text)
            rc = gw_error_set(error, GW_EIO, "--stdin %s is a folder", text);
    }
    *fd = found;
    return rc;
}

/* -- Reading -------------------------------------------------------------------------------------
 */

/* Waits until the input can be read or has ended. Returns false if the input is not needed any
 * more, or not by this attempt. */
static bool wait_readable(const struct gw_input *input)
{
    struct pollfd fds[] = {
        {input->stop_fd, POLLIN, 0}, {input->over_fd, POLLIN, 0}, {input->fd, POLLIN, 0}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR)
        ;
    return !fds[0].revents && !fds[1].revents;
}

/* Reads the next piece. Returns its size, 0 at the end of the input, or -1 if the input is not
 * needed any more. */
static ssize_t read_piece(struct gw_input *input)
{
    ssize_t got;
    while ((got = read(input->fd, input->piece, PIECE_BYTES)) < 0 &&
           (errno == EINTR || errno == EAGAIN))
        if (!wait_readable(input))
            return -1;
    if (got < 0)
        gw_cli_message("gangway: cannot read standard input: %s", strerror(errno));
    if (got <= 0)
        return 0;
    if (input->buffered && input->bytes < BUFFERED_BYTES) {
        uint64_t room = BUFFERED_BYTES - input->bytes;
        memcpy(input->buffered + input->bytes, input->piece,
               (uint64_t)got < room ? (size_t)got : (size_t)room);
    }
    input->bytes += (uint64_t)got;
    return got;
}

/* -- Sending ------------------------------------------------------------------------------------
 */

/* Returns to the start of the input for another attempt. Returns false if that is not possible. */
static bool rewind_input(struct gw_input *input)
{
    if (input->bytes == 0)
        return true;
    if (input->start >= 0 && lseek(input->fd, input->start, SEEK_SET) == input->start) {
        input->bytes = 0;
        input->ended = false;
        return true;
    }
    return input->buffered && input->bytes <= BUFFERED_BYTES;
}

/* Reads from the tunnel until the attempt has ended. */
static void await_end(struct gw_tunnel *tunnel)
{
    size_t bytes;
    char ignored;
    while (gw_tunnel_read(tunnel, &ignored, 1, &bytes, NULL) == 0)
        continue;
}

struct watch {
    struct gw_tunnel *tunnel;
    int over_fd;
};

static void *watch_thread(void *arg)
{
    const struct watch *watch = arg;
    await_end(watch->tunnel);
    (void)eventfd_write(watch->over_fd, 1);
    return NULL;
}

/* Sends the whole input as it arrives. */
static int bring_all(struct gw_input *input, struct gw_tunnel *tunnel)
{
    int rc = 0;
    if (input->buffered && input->bytes > 0)
        rc = gw_tunnel_write(tunnel, input->buffered, (size_t)input->bytes, NULL);
    while (rc == 0 && !input->ended) {
        ssize_t bytes = wait_readable(input) ? read_piece(input) : -1;
        if (bytes < 0)
            return GW_ECLOSED;
        input->ended = bytes == 0;
        if (bytes > 0)
            rc = gw_tunnel_write(tunnel, input->piece, (size_t)bytes, NULL);
    }
    return rc == 0 ? gw_tunnel_end(tunnel, NULL) : rc;
}

/* Sends the whole input to one attempt and waits for the attempt's end. A pipe may stay idle for
 * ever, so a separate thread watches for the end of the attempt. */
static void bring(struct gw_input *input, struct gw_tunnel *tunnel)
{
    struct watch watch = {tunnel, input->over_fd};
    eventfd_t ignored;
    pthread_t watcher;
    bool watched = pthread_create(&watcher, NULL, watch_thread, &watch) == 0;
    int rc = bring_all(input, tunnel);
    if (rc < 0)
        gw_tunnel_break(tunnel);
    if (watched)
        pthread_join(watcher, NULL);
    else if (rc == 0)
        await_end(tunnel);
    (void)eventfd_read(input->over_fd, &ignored);
}

/* Opens a tunnel to the next attempt. Returns NULL if there will be none. */
static struct gw_tunnel *open_tunnel(const struct gw_input *input)
{
    const struct gw_tunnel_options options =
        GW_INIT(gw_tunnel_options, .job = gw_future_job(input->future),
                .index = gw_future_index(input->future), .input = true, .wait = true);
    struct gw_tunnel *tunnel;
    struct gw_error error;
    for (;;) {
        int rc = gw_tunnel_open(input->client, &options, &tunnel, &error);
        if (rc == 0)
            return tunnel;
        /* The attempt has ended, or too many tunnels are open: try again, because another attempt
         * may follow. */
        if (rc == GW_ECLOSED || gw_future_wait(input->future, AGAIN_NS) != GW_ETIMEDOUT)
            return NULL;
    }
}

/* Cancels the job because its input cannot be read again. The tunnel stays open until the attempt
 * has ended: to close it would end the input, and the command would go on with an empty input until
 * it is killed. */
static void give_up(struct gw_input *input, struct gw_tunnel *tunnel)
{
    input->lost = true;
    gw_cli_message(
        "gangway: the job is cancelled: it has to start again, but its first attempt has read %llu "
        "bytes of standard input, which cannot be read again; with `--stdin FILE` they can",
        (unsigned long long)input->bytes);
    if (gw_job_cancel(input->client, gw_future_job(input->future), true, NULL) == 0)
        await_end(tunnel);
}

static void *input_thread(void *arg)
{
    struct gw_input *input = arg;
    struct gw_tunnel *tunnel;
    /* If bytes were read before, the next attempt gets them at once, even if no more bytes follow.
     */
    for (bool first = true;
         (input->bytes > 0 || wait_readable(input)) && (tunnel = open_tunnel(input));
         first = false) {
        bool well = first || rewind_input(input);
        if (well)
            bring(input, tunnel);
        else
            give_up(input, tunnel);
        gw_tunnel_close(tunnel);
        if (!well)
            break;
    }
    return NULL;
}

int gw_input_open(struct gw_client *client, struct gw_future *future, int fd, struct gw_input **out)
{
    struct gw_input *input = malloc(sizeof *input);
    struct stat status;
    bool file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (!input)
        return GW_ENOMEM;
    *input = (struct gw_input){.client = client,
                               .future = future,
                               .fd = fd,
                               .stop_fd = eventfd(0, EFD_CLOEXEC),
                               .over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                               .start = file ? lseek(fd, 0, SEEK_CUR) : -1,
                               .piece = malloc(PIECE_BYTES)};
    if (input->start < 0)
        input->buffered = malloc(BUFFERED_BYTES);
    if (input->stop_fd < 0 || input->over_fd < 0 || !input->piece ||
        (input->start < 0 && !input->buffered) ||
        pthread_create(&input->thread, NULL, input_thread, input) != 0) {
        if (input->stop_fd >= 0)
            close(input->stop_fd);
        if (input->over_fd >= 0)
            close(input->over_fd);
        free(input->buffered);
        free(input->piece);
        free(input);
        return GW_ENOMEM;
    }
    *out = input;
    return 0;
}

bool gw_input_close(struct gw_input *input)
{
    if (!input)
        return false;
    (void)eventfd_write(input->stop_fd, 1);
    pthread_join(input->thread, NULL);
    bool lost = input->lost;
    close(input->stop_fd);
    close(input->over_fd);
    free(input->buffered);
    free(input->piece);
    free(input);
    return lost;
}
