/* A client, as the rooms of this library share it. See ../README.md for who stands on whom.
 *
 * One lock a client (`lock`) guards all of it but what stands as atomic; who reads takes it for
 * each message (see reader_handoff.h), callers for each call. Waiting never holds it. */
#ifndef GW_CLIENT_CLIENT_H
#define GW_CLIENT_CLIENT_H

#include "client/deploy/cluster.h"
#include "client/deploy/program.h"
#include "client/link/io.h"
#include "client/link/waiter.h"
#include "graph/base/map.h"
#include "graph/wire/enums.h"

#include <gangway/gangway.h>
#include <stdatomic.h>

struct gw_actor_batch;
struct gw_reconnect;

struct gw_client {
    pthread_mutex_t lock;
    uint32_t refs; /* the owner's, and one a group */
    _Atomic bool closed;
    struct gw_error down;    /* code not 0: the connection is gone, and why */
    struct gw_error refused; /* what the scheduler said before it closed */
    struct gw_map calls;     /* request -> struct gw_rpc * */
    struct gw_map groups;    /* request -> struct gw_future_group * with futures */
    struct gw_map named;     /* jobs of actors that have names, of which it had handles */
    struct gw_map ranges;    /* request -> struct gw_range_run * */
    struct gw_map tunnels;   /* id -> struct gw_tunnel * */
    struct gw_map streams;   /* request -> struct gw_parts * */
    uint64_t last_request;
    char *name;

    char *home;                     /* where its scheduler listens; NULL: it looks for no other */
    bool home_tcp;                  /* else a unix socket */
    _Atomic bool lost;              /* the connection is gone, and another is looked for */
    struct gw_error unproven;       /* what somebody else answered there; code 0: nothing */
    pthread_cond_t changed;         /* `lost` was set or cleared, or the client closed */
    _Atomic uint32_t life;          /* number of the connection that is in use */
    struct gw_reconnect *reconnect; /* who looks; NULL: nobody had to yet */
    size_t kept_bytes, kept_files;  /* of records */

    struct gw_io_callbacks callbacks; /* of what comes in: gw_incoming_open */
    struct gw_reader_handoff turn;    /* to read what the scheduler sends */

    pthread_mutex_t start_lock; /* one thread starts a private cluster or ships the program */
    struct gw_io *io;           /* NULL: a private cluster that nobody has needed yet */
    _Atomic bool started;
    _Atomic uint32_t
        slots;           /* of a private cluster; UINT32_MAX: somebody else's, not ours to grow */
    int32_t show_output; /* as in the options */
    bool at_terminal;    /* standard output was a terminal when it was opened */
    struct gw_printer *printer; /* NULL: nothing was printed yet */
    struct gw_cluster_options cluster_options;
    struct gw_cluster *cluster; /* private; NULL: somebody else's */
    struct gw_program *program; /* NULL: not shipped yet */
    bool program_ready;
    struct gw_file_upload *upload;    /* files that are being sent; NULL: none */
    _Atomic uint32_t ship_readers;    /* threads that read files which they will send, */
    _Atomic uint64_t ship_read_bytes; /* and how far they are */
    struct gw_buffer env;             /* of what it submits, encoded; empty: this process's */
    struct gw_task *task;             /* that it is inside of; NULL: none */
    pthread_t task_thread;
    bool inlined;                    /* GANGWAY_INLINE: tasks run in this process */
    struct gw_actor_batch *unsent;   /* of actors, to be sent */
    pthread_cond_t answered;         /* a group that was not, was */
    uint32_t plain_life;             /* 1 + the life in which a plain call was accepted, or 0 */
    struct gw_actor_kept *inline_on; /* the actor of the call that runs in this process */
    char *inline_dir;                /* for their checkpoints; NULL: the environment names one */
};

/* gw_client_new makes a client that is not connected; name is copied. NULL when out of memory. */
struct gw_client *gw_client_new(const char *name);

/* gw_client_sleep is gw_waiter_next for whatever waits for the cluster: inside a task, on the
 * task's own thread, its slots are given back while it lasts. client may be NULL. */
int gw_client_sleep(struct gw_client *client, struct gw_waiter *waiter, uint64_t timeout_ns,
                    size_t *item);

/* gw_client_unref gives up a reference; the lock is not held. */
void gw_client_unref(struct gw_client *client);

/* gw_client_down_error writes why the connection is gone; returns its code. */
int gw_client_down_error(struct gw_client *client, struct gw_error *error);

/* gw_client_prompt has the scheduler say now what it held back until it has more to say. Any
 * thread.
 */
void gw_client_prompt(struct gw_client *client);

/* gw_client_await blocks while the connection is lost: 0 and the number of the one that there is,
 * or the error of the client when there will be none. life may be NULL. Never on the loop thread.
 */
int gw_client_await(struct gw_client *client, uint32_t *life, struct gw_error *error);

#endif
