/* struct gw_client, which all folders of this library share. ../README.md lists which folder may
 * use which.
 *
 * The client's lock guards all fields except the atomic ones. The thread that reads messages takes
 * the lock for each message (see reader_handoff.h), and a caller takes it for each call. No thread
 * holds the lock while it waits. */
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
    uint32_t refs; /* number of references to the client: one of its owner, and one for each group
                      of futures, actor handle, range and stream */
    _Atomic bool closed;
    bool forked;                    /* this is the child's copy after a fork; `closed` is set too */
    struct gw_client *next_watched; /* list of client/fork.c */
    struct gw_error down;           /* code not 0: the connection has ended, and why */
    struct gw_error refused; /* the error that the scheduler sent before it closed the connection;
                                code 0: none */
    struct gw_map calls;     /* request -> struct gw_rpc * */
    struct gw_map groups;    /* request -> struct gw_future_group * with futures */
    struct gw_map named;     /* jobs of named actors of which this client had handles */
    struct gw_map ranges;    /* request -> struct gw_range_run * */
    struct gw_map tunnels;   /* id -> struct gw_tunnel * */
    struct gw_map streams;   /* request -> struct gw_parts * */
    uint64_t last_request;
    char *name;

    char *home;               /* address of the scheduler, to which the client reconnects; NULL: it
                                 does not reconnect */
    bool home_tcp;            /* `home` is a TCP address; else a unix socket */
    _Atomic bool lost;        /* the connection has ended, and the client is reconnecting */
    struct gw_error unproven; /* error if something that is not the scheduler answered at `home`;
                                 code 0: none */
    pthread_cond_t
        changed; /* signals that `lost` was set or cleared, or that the client was closed */
    _Atomic uint32_t life;                 /* number of the present connection */
    struct gw_reconnect *reconnect;        /* reconnect thread; NULL: does not reconnect */
    size_t recorded_bytes, recorded_files; /* bytes and files in all resubmit logs */

    struct gw_io_callbacks callbacks; /* callbacks for messages and for the end of the connection,
                                         set by gw_incoming_open */
    struct gw_reader_handoff turn;    /* decides which thread reads the scheduler's messages */
    int descriptor; /* the eventfd that an event loop of the program watches (see descriptor.h);
                       -1: the program has not asked for one */
    bool descriptor_signalled; /* it may be readable */

    pthread_mutex_t start_lock; /* a thread holds this lock while it starts the private cluster or
                                   sends the program, so only one thread does this at a time */
    struct gw_io *io;           /* NULL: the private cluster is not started yet */
    _Atomic bool started;
    _Atomic uint32_t slots; /* slots of a private cluster; UINT32_MAX: a shared cluster, which the
                               client cannot extend */
    int32_t show_output;    /* as in struct gw_client_options */
    bool at_terminal;       /* standard output was a terminal when the client was opened */
    struct gw_printer *printer; /* NULL: no output was printed yet */
    struct gw_cluster_options cluster_options;
    struct gw_cluster *cluster; /* NULL: a shared cluster, or not started yet */
    struct gw_program *program; /* NULL: not hashed and sent yet */
    bool program_ready;
    struct gw_file_upload *upload;    /* files that are being sent; NULL: none */
    _Atomic uint32_t ship_readers;    /* number of threads that read files for an upload */
    _Atomic uint64_t ship_read_bytes; /* number of bytes that these threads have read */
    struct gw_buffer env; /* the encoded environment of the tasks that this client submits; empty:
                             they get the environment of this process */
    struct gw_task *task; /* task in which this client runs; NULL: none */
    pthread_t task_thread;
    bool inlined;                  /* GANGWAY_INLINE=1: tasks run in this process */
    struct gw_actor_batch *unsent; /* list of actors with calls that are not sent yet */
    uint64_t closed_streams[8];    /* the jobs of the streams that were closed last, as a ring */
    uint32_t closed_count;         /* streams that were closed */
    uint64_t actor_slots;          /* slots of the actors that this client has made and not freed */
    int64_t slots_known;           /* slots of the cluster when the client asked; 0: not asked */
    bool full_told;                /* the program was warned that its actors hold all slots */
    pthread_cond_t answered;       /* signals that an awaited answer has arrived */
    uint32_t plain_life;           /* 1 + the connection on which a plain call was accepted, or 0 */
    struct gw_actor_instance *inline_on; /* actor whose call runs in this process */
    char *inline_dir; /* checkpoint folder of inline tasks; NULL: the environment names a folder */
};

/* gw_client_new makes a client that is not connected. `name` is copied. Returns NULL if out of
 * memory. */
struct gw_client *gw_client_new(const char *name);

/* gw_client_sleep is gw_waiter_next for everything that waits for the cluster. If the calling
 * thread is the thread of a task, the task yields its slots during the wait. client may be NULL. */
int gw_client_sleep(struct gw_client *client, struct gw_waiter *waiter, uint64_t timeout_ns,
                    size_t *item);

/* gw_client_unref drops a reference. The client's lock is not held. */
void gw_client_unref(struct gw_client *client);

/* gw_client_closed_error sets *error to the reason why the client is closed. Returns GW_ECLOSED. */
#define GW_CLIENT_FORKED_TEXT                                                                      \
    "the client belongs to the parent of this process: after a fork, open a client in a program "  \
    "that exec starts"
int gw_client_closed_error(const struct gw_client *client, struct gw_error *error);

/* gw_client_down_error sets *error to the reason why the connection has ended, and returns its
 * code. */
int gw_client_down_error(struct gw_client *client, struct gw_error *error);

/* gw_client_prompt asks the scheduler to send now all answers that it has delayed. Any thread may
 * call it. */
void gw_client_prompt(struct gw_client *client);

/* gw_client_await blocks while the connection is lost. It returns 0, and in *life the number of the
 * new connection, or the client's error if the reconnect has failed. life may be NULL. The loop
 * thread must not call it. */
int gw_client_await(struct gw_client *client, uint32_t *life, struct gw_error *error);

/* gw_client_await_until does the same until deadline_ns: then it returns GW_ETIMEDOUT. */
int gw_client_await_until(struct gw_client *client, uint64_t deadline_ns, uint32_t *life,
                          struct gw_error *error);

#endif
