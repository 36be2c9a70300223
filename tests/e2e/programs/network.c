/* Hosts with a network of their own each, and the switch between them.
 *
 *     network HOSTS INTERFACE...
 *
 * Every host is a network namespace that lives as long as a process in it, which dies with this
 * one; every interface is a TAP device there. The other ends are here, and this program carries the
 * frames. It needs only /dev/net/tun, and root or unprivileged user namespaces; if these are not
 * available, it prints why and exits with 77. The first lines of its output:
 *
 *     user                  only if it made a user namespace, to be entered first
 *     host 1 PID            of a process in the namespace; host H has address 10.77.N.H
 *     ready                 at its interface N (from 0)
 *
 * Then it reads what the network does to frames, one command a line, and answers "ok":
 *
 *     cut H | heal H        no frame reaches or leaves the host any more, without a notice
 *     part H I | join H I   no frame of the first host reaches the second any more
 *     loss PERMILLE         of all frames
 *     delay MILLISECONDS    of each frame, so twice that for a round trip
 *
 * Frames always leave in the order of their arrival. Ends with its input. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HOSTS_MAX = 16,
    NETWORKS_MAX = 4,
    FRAME_BYTES = 2048,
    QUEUE = 4096, /* frames on their way; further frames are lost */
    SKIPPED = 77,
    MS_NS = 1000000,
};

struct frame {
    uint64_t due_ns;
    int to; /* descriptor */
    size_t bytes;
    uint8_t data[FRAME_BYTES];
};

static int hosts, networks;
static int taps[NETWORKS_MAX][HOSTS_MAX];
static bool cut[HOSTS_MAX], parted[HOSTS_MAX][HOSTS_MAX]; /* from, to */
static unsigned loss_permille;
static uint64_t delay_ns;
static uint64_t random_state = 0x9e3779b97f4a7c15; /* the same losses in every run */
static struct frame queue[QUEUE];
static size_t queue_first, queue_count;

static void skip(const char *what)
{
    fprintf(stderr, "network: %s: %s\n", what, strerror(errno));
    exit(SKIPPED);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* -- Hosts ---------------------------------------------------------------------------------------
 */

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        skip(path);
    close(fd);
}

/* Becomes root in a user namespace of its own, if this is not root. */
static void become_root(void)
{
    char map[64];
    const int uid = (int)getuid(), gid = (int)getgid();
    if (unshare(CLONE_NEWUSER) < 0)
        skip("no network namespaces and no user namespaces");
    write_file("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof map, "0 %d 1", uid);
    write_file("/proc/self/uid_map", map);
    (void)snprintf(map, sizeof map, "0 %d 1", gid);
    write_file("/proc/self/gid_map", map);
    puts("user");
}

static void set_up(const char *name)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        skip("SIOCSIFFLAGS");
    close(fd);
}

static void set_address(const char *name, int network, int host)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    const char mac[6] = {2, 0, 0, 0, (char)network, (char)host};
    memcpy(request.ifr_hwaddr.sa_data, mac, sizeof mac);
    if (ioctl(fd, SIOCSIFHWADDR, &request) < 0)
        skip("SIOCSIFHWADDR");
    address.sin_addr.s_addr = htonl(0x0a4d0000U | (unsigned)network << 8 | (unsigned)host);
    memcpy(&request.ifr_addr, &address, sizeof address);
    if (ioctl(fd, SIOCSIFADDR, &request) < 0)
        skip("SIOCSIFADDR");
    address.sin_addr.s_addr = htonl(0xffffff00U);
    memcpy(&request.ifr_netmask, &address, sizeof address);
    if (ioctl(fd, SIOCSIFNETMASK, &request) < 0)
        skip("SIOCSIFNETMASK");
    close(fd);
    set_up(name);
}

static int open_tap(const char *name)
{
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    if (fd < 0)
        skip("/dev/net/tun");
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        skip("TUNSETIFF");
    return fd;
}

/* A process that holds the namespace as long as this program lives. */
static void hold(int host)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0)
        skip("fork");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        (void)close_range(0, ~0U, 0);
        for (;;)
            (void)pause();
    }
    printf("host %d %d\n", host + 1, (int)pid);
}

static void make_host(int host, char *const names[])
{
    if (unshare(CLONE_NEWNET) < 0) {
        become_root();
        if (unshare(CLONE_NEWNET) < 0)
            skip("no network namespaces");
    }
    set_up("lo");
    for (int network = 0; network < networks; network++) {
        taps[network][host] = open_tap(names[network]);
        set_address(names[network], network, host + 1);
    }
    (void)fflush(stdout);
    hold(host);
}

/* -- Frames --------------------------------------------------------------------------------------
 */

static bool is_lost(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % 1000 < loss_permille;
}

static void send_to(int network, int host, const struct frame *frame)
{
    if (cut[host] || is_lost())
        return;
    if (delay_ns == 0 && queue_count == 0) {
        (void)!write(taps[network][host], frame->data, frame->bytes);
        return;
    }
    if (queue_count == QUEUE)
        return;
    struct frame *slot = &queue[(queue_first + queue_count++) % QUEUE];
    slot->due_ns = now_ns() + delay_ns;
    slot->to = taps[network][host];
    slot->bytes = frame->bytes;
    memcpy(slot->data, frame->data, frame->bytes);
}

static void forward(int network, int from)
{
    static struct frame frame;
    for (int i = 0; i < 64; i++) { /* then the other interfaces have their turn */
        const ssize_t got = read(taps[network][from], frame.data, sizeof frame.data);
        if (got < 14)
            return;
        frame.bytes = (size_t)got;
        if (cut[from])
            continue;
        const bool to_all = frame.data[0] & 1;
        for (int host = 0; host < hosts; host++)
            if (host != from && !parted[from][host] && (to_all || frame.data[5] == host + 1))
                send_to(network, host, &frame);
    }
}

/* Sends the frames that are due; returns the time until the next, in milliseconds, -1: there is
 * none. */
static int deliver(void)
{
    while (queue_count) {
        const struct frame *first = &queue[queue_first];
        const uint64_t now = now_ns();
        if (first->due_ns > now)
            return (int)((first->due_ns - now) / MS_NS) + 1;
        (void)!write(first->to, first->data, first->bytes);
        queue_first = (queue_first + 1) % QUEUE;
        queue_count--;
    }
    return -1;
}

/* -- Orders --------------------------------------------------------------------------------------
 */

static bool are_hosts(int a, int b)
{
    return a >= 1 && a <= hosts && b >= 1 && b <= hosts;
}

static void obey(const char *line)
{
    int number, other;
    if (sscanf(line, "cut %d", &number) == 1 && number >= 1 && number <= hosts)
        cut[number - 1] = true;
    else if (sscanf(line, "heal %d", &number) == 1 && number >= 1 && number <= hosts)
        cut[number - 1] = false;
    else if (sscanf(line, "part %d %d", &number, &other) == 2 && are_hosts(number, other))
        parted[number - 1][other - 1] = true;
    else if (sscanf(line, "join %d %d", &number, &other) == 2 && are_hosts(number, other))
        parted[number - 1][other - 1] = false;
    else if (sscanf(line, "loss %d", &number) == 1 && number >= 0)
        loss_permille = (unsigned)number;
    else if (sscanf(line, "delay %d", &number) == 1 && number >= 0)
        delay_ns = (uint64_t)number * MS_NS;
    else
        exit(2);
    puts("ok");
    (void)fflush(stdout);
}

/* False at the end of the input; lines arrive complete, since each is answered. */
static bool listen_to_orders(void)
{
    char line[64];
    const ssize_t got = read(STDIN_FILENO, line, sizeof line - 1);
    if (got <= 0)
        return false;
    line[got] = '\0';
    obey(line);
    return true;
}

int main(int argc, char **argv)
{
    struct pollfd fds[NETWORKS_MAX * HOSTS_MAX + 1];
    hosts = argc > 1 ? atoi(argv[1]) : 0;
    networks = argc - 2;
    if (hosts < 1 || hosts > HOSTS_MAX || networks < 1 || networks > NETWORKS_MAX) {
        fputs("usage: network HOSTS INTERFACE...\n", stderr);
        return 2;
    }
    for (int host = 0; host < hosts; host++)
        make_host(host, argv + 2);
    puts("ready");
    (void)fflush(stdout);
    for (;;) {
        nfds_t count = 0;
        fds[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        for (int network = 0; network < networks; network++)
            for (int host = 0; host < hosts; host++)
                fds[count++] = (struct pollfd){.fd = taps[network][host], .events = POLLIN};
        if (poll(fds, count, deliver()) < 0 && errno != EINTR)
            return 1;
        if (fds[0].revents && !listen_to_orders())
            return 0;
        for (int at = 1; at < (int)count; at++)
            if (fds[at].revents)
                forward((at - 1) / hosts, (at - 1) % hosts);
    }
}
