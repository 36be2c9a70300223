/* One rank of a gang of commands. The ranks sum a number over TCP, at MASTER_ADDR and MASTER_PORT,
 * and rank 0 prints the time at which it had the sum (seconds of the monotonic clock). compare.py
 * builds this program. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 1024, COME_MS_MAX = 10000 };

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int number(const char *name)
{
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

/* Opens a FIFO. Rank 0 writes a byte into it to tell the other ranks of the gang that it listens at
 * this port. */
static int open_door(void)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/door-%d", folder ? folder : "/tmp", number("MASTER_PORT"));
    (void)mkfifo(path, 0600); /* the first rank creates the FIFO */
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Rank 0: receives a number from each rank and sends the sum to all of them. */
static int lead(int listener, int ranks, double *sum)
{
    int peers[RANKS_MAX];
    for (int i = 1; i < ranks; i++) {
        double value;
        peers[i] = accept(listener, NULL, NULL);
        if (peers[i] < 0 || read(peers[i], &value, sizeof value) != sizeof value)
            return fail("accept");
        *sum += value;
    }
    for (int i = 1; i < ranks; i++)
        if (write(peers[i], sum, sizeof *sum) != sizeof *sum)
            return fail("write");
    return 0;
}

static int follow(const struct sockaddr_in *address, double *sum)
{
    struct pollfd door = {.fd = open_door(), .events = POLLIN};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (poll(&door, 1, COME_MS_MAX) != 1)
        return fail("rank 0 does not come");
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return fail("connect");
    return write(fd, sum, sizeof *sum) != sizeof *sum || read(fd, sum, sizeof *sum) != sizeof *sum
               ? fail("rank 0")
               : 0;
}

int main(void)
{
    const int rank = number("RANK"), ranks = number("WORLD_SIZE");
    const char *host = getenv("MASTER_ADDR");
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)number("MASTER_PORT"))};
    double sum = rank + 1;
    struct timespec now;
    int one = 1, rc;
    if (ranks < 1 || ranks > RANKS_MAX || !host || inet_pton(AF_INET, host, &address.sin_addr) != 1)
        return fail("no gang");
    if (rank == 0) {
        int listener = socket(AF_INET, SOCK_STREAM, 0);
        if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
            bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
            listen(listener, ranks) < 0 || write(open_door(), "", 1) != 1)
            return fail("MASTER_PORT");
        rc = lead(listener, ranks, &sum);
    } else {
        rc = follow(&address, &sum);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (rc == 0 && sum != ranks * (ranks + 1) / 2.)
        rc = fail("the sum is wrong");
    if (rc == 0 && rank == 0)
        printf("reduced %.9f\n", (double)now.tv_sec + (double)now.tv_nsec / 1e9);
    return rc;
}
