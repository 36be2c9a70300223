/* A console: sends the input of this terminal to a process through a tunnel, and prints the output
 * of the process. One thread reads the input, and the calling thread prints. At the end the
 * terminal gets back its earlier mode. */
#include "client/cli/launch/console.h"

#include "client/cli/lib/cli.h"
#include "graph/wire/console.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

struct console {
    const struct gw_console_options *options;
    struct gw_tunnel *tunnel;
    int signal_fd, stop_fd;
    bool raw;
    struct termios before;
    struct gw_console frames;
};

static sigset_t signals_of(bool signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    if (signals) {
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGHUP);
    }
    return set;
}

void gw_cli_console_block(bool signals)
{
    sigset_t set = signals_of(signals);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static struct winsize size_of_terminal(void)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    for (int fd = 0; fd < 3; fd++)
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
            return size;
    return (struct winsize){.ws_row = 24, .ws_col = 80};
}

/* -- Input, on its own thread -------------------------------------------------------------------
 */

static int put_frame(struct console *console, enum gw_console_kind kind, const void *data,
                     size_t bytes)
{
    uint8_t frame[GW_CONSOLE_HEAD_BYTES + GW_CONSOLE_BYTES_MAX];
    gw_console_head(frame, kind, (uint32_t)bytes);
    if (bytes > 0)
        memcpy(frame + GW_CONSOLE_HEAD_BYTES, data, bytes);
    return gw_tunnel_write(console->tunnel, frame, GW_CONSOLE_HEAD_BYTES + bytes, NULL);
}

/* Handles a signal. Returns false if the console ends. */
static bool on_signal(struct console *console)
{
    struct signalfd_siginfo info;
    if (read(console->signal_fd, &info, sizeof info) != sizeof info)
        return true;
    if (info.ssi_signo == SIGWINCH) {
        struct winsize size = size_of_terminal();
        const uint8_t data[4] = {(uint8_t)size.ws_row, (uint8_t)(size.ws_row >> 8),
                                 (uint8_t)size.ws_col, (uint8_t)(size.ws_col >> 8)};
        return put_frame(console, GW_CONSOLE_SIZE, data, sizeof data) == 0;
    }
    if (info.ssi_signo == SIGINT) {
        const uint8_t number = SIGINT;
        return put_frame(console, GW_CONSOLE_SIGNAL, &number, 1) == 0;
    }
    gw_tunnel_break(console->tunnel);
    return false;
}

static void *typed_thread(void *arg)
{
    struct console *console = arg;
    int in = console->options->in;
    char data[GW_CONSOLE_BYTES_MAX];
    if (in < 0 && put_frame(console, GW_CONSOLE_IN, NULL, 0) < 0)
        return NULL;
    for (;;) {
        struct pollfd polled[] = {
            {console->stop_fd, POLLIN, 0}, {console->signal_fd, POLLIN, 0}, {in, POLLIN, 0}};
        if (poll(polled, 3, -1) < 0 && errno != EINTR)
            return NULL;
        if (polled[0].revents)
            return NULL;
        if (polled[1].revents && !on_signal(console))
            return NULL;
        if (!polled[2].revents)
            continue;
        ssize_t got = read(in, data, sizeof data);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            in = -1;
        if (put_frame(console, GW_CONSOLE_IN, data, got > 0 ? (size_t)got : 0) < 0)
            return NULL;
    }
}

/* -- Output -------------------------------------------------------------------------------------
 */

/* Writes the output. GW_EIO: it cannot be written, for example because nobody reads it any more. */
static int print(int fd, struct gw_bin data)
{
    const char *at = data.data;
    size_t left = data.size;
    while (left > 0) {
        ssize_t put = write(fd, at, left);
        if (put < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
        else if (put < 0 && errno != EINTR)
            return GW_EIO;
        if (put > 0) {
            at += put;
            left -= (size_t)put;
        }
    }
    return 0;
}

/* Handles a frame. Returns 1 after the last frame. */
static int on_frame(struct console *console, uint8_t kind, struct gw_bin data, int *exit_code,
                    struct gw_error *error)
{
    const uint8_t *bytes = data.data;
    switch (kind) {
    case GW_CONSOLE_OUT:
    case GW_CONSOLE_ERR:
        if (print(kind == GW_CONSOLE_OUT ? console->options->out : STDERR_FILENO, data) < 0)
            return gw_error_set(error, GW_EIO, "cannot write the output of the command: %s",
                                strerror(errno));
        return 0;
    case GW_CONSOLE_EXIT:
        if (data.size != 2)
            return gw_error_set(error, GW_EPROTO,
                                "the worker's message about the end of the command is malformed");
        *exit_code = bytes[1] ? 128 + bytes[1] : bytes[0];
        return 1;
    case GW_CONSOLE_FAILED:
        return gw_error_set(error, GW_ESTART, "%.*s", (int)data.size, (const char *)data.data);
    default:
        return 0;
    }
}

static int read_out(struct console *console, int *exit_code, struct gw_error *error)
{
    char data[GW_CONSOLE_BYTES_MAX];
    for (;;) {
        size_t bytes;
        uint8_t kind;
        struct gw_bin frame;
        int rc = gw_tunnel_read(console->tunnel, data, sizeof data, &bytes, error);
        if (rc < 0)
            return rc;
        if (bytes == 0)
            return gw_error_set(error, GW_ECLOSED,
                                "the command was ended, because its task has ended");
        if (gw_console_feed(&console->frames, data, bytes) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        while ((rc = gw_console_next(&console->frames, &kind, &frame)) > 0)
            if ((rc = on_frame(console, kind, frame, exit_code, error)) != 0)
                return rc < 0 ? rc : 0;
        if (rc < 0)
            return gw_error_set(error, rc,
                                "the worker's message with the output of the command is malformed");
    }
}

/* -- The whole console --------------------------------------------------------------------------
 */

static void make_raw(struct console *console)
{
    struct termios raw;
    if (!console->options->terminal || tcgetattr(STDIN_FILENO, &console->before) < 0)
        return;
    raw = console->before;
    cfmakeraw(&raw);
    console->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static int run(struct console *console, int *exit_code, struct gw_error *error)
{
    pthread_t thread;
    sigset_t set = signals_of(console->options->signals);
    console->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    console->stop_fd = eventfd(0, EFD_CLOEXEC);
    int rc = console->signal_fd < 0 || console->stop_fd < 0 ||
                     pthread_create(&thread, NULL, typed_thread, console) != 0
                 ? gw_error_set(error, GW_EIO, "cannot start a thread")
                 : 0;
    if (rc == 0) {
        make_raw(console);
        rc = read_out(console, exit_code, error);
        gw_tunnel_break(console->tunnel);
        (void)eventfd_write(console->stop_fd, 1);
        pthread_join(thread, NULL);
        if (console->raw)
            (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &console->before);
    }
    if (console->signal_fd >= 0)
        close(console->signal_fd);
    if (console->stop_fd >= 0)
        close(console->stop_fd);
    return rc;
}

int gw_cli_console_run(const struct gw_console_options *options, int *exit_code,
                       struct gw_error *error)
{
    struct console console = {.options = options};
    struct winsize size = options->terminal ? size_of_terminal() : (struct winsize){0};
    const struct gw_tunnel_options tunnel = GW_INIT(
        gw_tunnel_options, .job = options->task.job, .index = options->task.index,
        .rank = options->rank, .argv = options->argv, .rows = size.ws_row, .columns = size.ws_col,
        .wait = options->wait, .left = options->left, .checkpoint = options->checkpoint);
    int rc = gw_tunnel_open(options->client, &tunnel, &console.tunnel, error);
    if (rc < 0)
        return rc;
    rc = run(&console, exit_code, error);
    gw_tunnel_close(console.tunnel);
    gw_console_deinit(&console.frames);
    return rc;
}
