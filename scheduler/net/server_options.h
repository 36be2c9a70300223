/* What a server (server.h) is opened with. */
#ifndef GW_SCHEDULER_NET_SERVER_OPTIONS_H
#define GW_SCHEDULER_NET_SERVER_OPTIONS_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_server_options {
    const char *dir;              /* borrowed during the call; scheduler.sock is made in it */
    const char *sockets;          /* likewise: where the socket lies, and a link in dir; or NULL */
    const char *state;            /* likewise: the folder of what outlives it; NULL: nothing does */
    bool accept_loss;             /* a damaged state is set aside, and a new one begins */
    uint64_t files_bytes_max;     /* of files that clients ship; 0: the default */
    uint64_t pure_keep_bytes;     /* results of pure tasks that are kept for a while; 0: default */
    uint64_t scattered_bytes_max; /* of values that clients scattered; 0: no limit */
    const char *listen;           /* HOST:PORT, by TLS; NULL: the socket alone. As `dir`: */
    const char *tokens;           /* the token file, where it listens */
    /* Called on the loop's thread, each with arg: */
    void (*on_worker)(uint32_t workers, void *arg); /* so many take part */
    void (*on_exit)(void *arg);                     /* the core has ended all work */
    /* The state turns out to lack what workers know of: close, and nothing else. */
    void (*on_damaged)(const struct gw_error *error, void *arg);
    void *arg;
};

#endif
