/* The inside of the client library: client, calls, bundles, futures. See README.md.
 *
 * One lock a client (`lock`) guards all of it but what stands as atomic; who reads takes it for
 * each message (see turn.h), callers for each call. Waiting never holds it. */
#ifndef GW_CLIENT_CLIENT_H
#define GW_CLIENT_CLIENT_H

#include "client/cluster.h"
#include "client/io.h"
#include "client/program.h"
#include "client/waiter.h"
#include "graph/base/map.h"
#include "graph/wire/enums.h"

#include <gangway/gangway.h>
#include <stdatomic.h>

/* Requests that no counter gives out. */
#define GW_REQUEST_HELLO UINT64_C(0)
#define GW_REQUEST_PROGRAM UINT64_MAX

/* A question that a thread of the caller's waits on; it lies on that thread's stack. The answer is
 * an accepted, rejected, reply, object, log_data or program_ready message, copied in here. */
struct gw_call {
    struct gw_waiter waiter;
    uint64_t request;
    struct gw_error error; /* code 0: answered well, and the text is what log_data adds */
    uint64_t number;       /* accepted: job; object: bytes; log_data: attempt */
    uint64_t offset;       /* log_data */
    bool end;              /* log_data */
    uint8_t *body;         /* the blob of the answer, owned; NULL when it is empty */
    size_t body_bytes;
    int fd; /* of the answer, or -1 */
    /* Called with the lock held when it is answered, and when the connection ends; or NULL. */
    void (*on_answer)(struct gw_call *call, void *arg);
    void *arg;
};

struct gw_reconnect;

struct gw_client {
    pthread_mutex_t lock;
    uint32_t refs; /* the owner's, and one a bundle */
    _Atomic bool closed;
    struct gw_error down;    /* code not 0: the connection is gone, and why */
    struct gw_error refused; /* what the scheduler said before it closed */
    struct gw_map calls;     /* request -> struct gw_call * */
    struct gw_map bundles;   /* request -> struct gw_bundle * with futures */
    struct gw_map ranges;    /* request -> struct gw_range_run * */
    struct gw_map tunnels;   /* id -> struct gw_tunnel * */
    struct gw_map streams;   /* request -> struct gw_stream * */
    uint64_t last_request;
    char *name;

    char *home;                     /* where its scheduler listens; NULL: it looks for no other */
    bool home_tcp;                  /* else a unix socket */
    _Atomic bool lost;              /* the connection is gone, and another is looked for */
    _Atomic uint32_t life;          /* number of the connection that is in use */
    struct gw_reconnect *reconnect; /* who looks; NULL: nobody had to yet */
    size_t kept_bytes, kept_files;  /* of records */

    struct gw_turn turn; /* to read what the scheduler sends */

    pthread_mutex_t start_lock; /* one thread starts a private cluster or ships the program */
    struct gw_io *io;           /* NULL: a private cluster that nobody has needed yet */
    _Atomic bool started;
    _Atomic uint32_t
        slots; /* of a private cluster; UINT32_MAX: somebody else's, not ours to grow */
    struct gw_cluster_options cluster_options;
    struct gw_cluster *cluster; /* private; NULL: somebody else's */
    struct gw_program *program; /* NULL: not shipped yet */
    bool program_ready;
    struct gw_shipment *shipment;     /* files that are being sent; NULL: none */
    _Atomic uint32_t ship_readers;    /* threads that read files which they will send, */
    _Atomic uint64_t ship_read_bytes; /* and how far they are */
    struct gw_buffer env;             /* of what it submits, encoded; empty: this process's */
    struct gw_task *task;             /* that it is inside of; NULL: none */
    pthread_t task_thread;
    bool inlined;                    /* GANGWAY_INLINE: tasks run in this process */
    struct gw_actor *unsent;         /* actors with calls to send */
    pthread_cond_t answered;         /* a bundle that was not, was */
    uint32_t plain_life;             /* 1 + the life in which a plain call was accepted, or 0 */
    struct gw_actor_kept *inline_on; /* the actor of the call that runs in this process */
    char *inline_dir;                /* for their checkpoints; NULL: the environment names one */
};

/* gw_client_start makes sure that there is a connection: starts the private cluster at the first
 * need. One of its own has at least `slots` slots afterwards. Blocks for at most 10 s. */
int gw_client_start(struct gw_client *client, uint32_t slots, struct gw_error *error);

/* gw_client_ship makes sure that the cluster has this program: hashes and sends it once. */
int gw_client_ship(struct gw_client *client, struct gw_error *error);

/* gw_client_new makes a client that is not connected; name is copied. NULL when out of memory. */
struct gw_client *gw_client_new(const char *name);

/* gw_client_connect takes what it speaks over and waits for the scheduler's welcome; hello: says
 * hello first, as a client. GW_ENOSCHEDULER, GW_ECLOSED, GW_EVERSION, GW_EPERM, GW_ENOMEM. */
int gw_client_connect(struct gw_client *client, const struct gw_io_socket *socket, bool hello,
                      struct gw_error *error);

/* gw_client_end closes the connection and gives up the owner's reference; what it submitted is for
 * the scheduler to end. */
void gw_client_end(struct gw_client *client);

/* gw_client_is_actor tells whether a client is inside of a call of the actor that a job made, or of
 * the task that makes it: what calls it makes of that come after its own end. */
bool gw_client_is_actor(const struct gw_client *client, uint64_t job);

/* gw_client_sleep is gw_waiter_next for whatever waits for the cluster: inside a task, on the
 * task's own thread, its slots are given back while it lasts. client may be NULL. */
int gw_client_sleep(struct gw_client *client, struct gw_waiter *waiter, uint64_t timeout_ns,
                    size_t *item);

/* gw_client_unref gives up a reference; the lock is not held. */
void gw_client_unref(struct gw_client *client);

/* gw_client_down_error writes why the connection is gone; returns its code. */
int gw_client_down_error(struct gw_client *client, struct gw_error *error);

/* gw_call_expect registers a call whose question somebody else has asked, or will. */
int gw_call_expect(struct gw_call *call, struct gw_client *client);

/* gw_call_open prepares a call, gives it a request number and registers it; gw_call_send puts the
 * message (with its descriptor, taken, or -1); gw_call_wait blocks for the answer and gives its
 * code, GW_ETIMEDOUT, or GW_ECLOSED; gw_call_close unregisters and frees what the answer brought
 * (set body to NULL or fd to -1 to keep them). gw_call_exchange sends, without a descriptor, and
 * waits: it writes into error, too, why a message could not be sent. */
void gw_call_open(struct gw_call *call, struct gw_client *client);
int gw_call_send(struct gw_call *call, struct gw_client *client, struct gw_message *message,
                 int fd);
int gw_call_exchange(struct gw_call *call, struct gw_client *client, struct gw_message *message,
                     uint64_t timeout_ns, struct gw_error *error);
int gw_call_wait(struct gw_call *call, struct gw_client *client, uint64_t timeout_ns,
                 struct gw_error *error);
void gw_call_close(struct gw_call *call, struct gw_client *client);

/* gw_call_make is all of that but the end: starts the client where it must (GW_ENOTSUP without a
 * cluster), opens the call, writes its number to *request (a field of the message), sends, and
 * waits. gw_call_close follows in any case. */
int gw_call_make(struct gw_call *call, struct gw_client *client, struct gw_message *message,
                 uint64_t *request, uint64_t timeout_ns, struct gw_error *error);

/* gw_call_read_end reads the answer to a wait: the job's code and text, and its exit code. */
int gw_call_read_end(const struct gw_call *call, int *exit_code, struct gw_error *error);

/* gw_fetch_value gets a result from the cluster, to be unref'd; blocks. */
int gw_fetch_value(struct gw_client *client, uint64_t job, uint32_t index, uint32_t rank,
                   struct gw_value **value, struct gw_error *error);

/* gw_call_answer completes the call that a message answers (fds: taken); false when nobody waits
 * for it. gw_call_fail_all ends all calls. The lock is held. */
bool gw_call_answer(struct gw_client *client, const struct gw_message *message, const int *fds,
                    uint8_t fd_count);
void gw_call_fail_all(struct gw_client *client);

/* Where a future's values lie. */
enum gw_parcel_kind {
    GW_PARCEL_NONE = 0,
    GW_PARCEL_SMALL,  /* in the future itself */
    GW_PARCEL_HEAP,   /* encoded bytes in an allocation */
    GW_PARCEL_REMOTE, /* in the cluster: to be fetched */
    GW_PARCEL_VALUE,  /* fetched: a value */
    GW_PARCEL_RANKS,  /* a gang: one result a rank */
    GW_PARCEL_ERROR,  /* failed: struct gw_failure */
    GW_PARCEL_CLOSED, /* failed with the connection */
};

struct gw_parcel {
    union {
        uint8_t small[16];
        uint8_t *heap;
        struct gw_value *value;
        struct gw_rank_parcels *ranks;
        struct gw_failure *failure;
    };
    uint32_t size; /* SMALL, HEAP */
    uint8_t kind;  /* enum gw_parcel_kind */
};

struct gw_rank_parcels {
    uint32_t missing;
    struct gw_parcel items[];
};

struct gw_failure {
    int code, exit_code;
    uint64_t attempt;
    char text[];
};

/* A sleeping thread's interest in a future. */
struct gw_watch {
    struct gw_watch *next;
    struct gw_waiter *waiter;
    size_t item;
};

struct gw_future {
    struct gw_bundle *bundle;
    struct gw_watch *watches;
    struct gw_parcel result;
    uint32_t ranks;        /* 0: an ordinary task */
    _Atomic uint8_t state; /* enum gw_future_state; released to readers without the lock */
    bool released;
};

/* The futures of one submission, in one block, by row. Freed with its last future. */
struct gw_record;
struct gw_bundle {
    struct gw_client *client; /* referenced */
    uint64_t request;
    _Atomic uint64_t job;     /* as the scheduler of the day calls it */
    struct gw_record *record; /* of how to submit it again, referenced; or NULL */
    bool detached;
    struct gw_stream *stream; /* that it is a part of, referenced; or NULL */
    bool shared;              /* one future, of a task that was looked up */
    uint32_t shared_index;    /* of that task */
    bool own;                 /* it cannot end before the task that this client is inside of has */
    uint32_t live;            /* futures not released */
    uint32_t pending;         /* futures not ended */
    const uint32_t *rows;     /* ascending, one a future; NULL: future i is row i */
    uint64_t *scattered;      /* names of what holds its large arguments, owned */
    _Atomic bool unanswered;  /* its job is not known yet, and it counts itself in `live` */
    bool quiet;               /* and will not be, until it is asked for */
    bool gathering;           /* of calls: it was not sent yet */
    uint32_t scattered_count;
    uint32_t count;
    struct gw_future futures[];
};

/* gw_bundle_new makes a bundle of `count` pending futures and registers it under `request`; rows
 * (or NULL) is copied. NULL when out of memory. gw_bundle_drop frees one whose submission failed.
 */
struct gw_bundle *gw_bundle_new(struct gw_client *client, uint64_t request, const uint32_t *rows,
                                uint32_t count);
void gw_bundle_drop(struct gw_bundle *bundle);

/* gw_bundle_set_rows tells it rows (as many as it has futures) that were not known, and so
 * UINT32_MAX, when it was made. The lock is not held. */
void gw_bundle_set_rows(struct gw_bundle *bundle, const uint32_t *rows);

/* gw_bundle_done and gw_bundle_failed bring in results; the client's lock is held. Rows that name
 * nothing of this client are skipped. gw_bundle_fail_all fails pending futures with the connection:
 * all, or those that can't be submitted again. gw_bundle_fail_pending fails those of one bundle
 * with an error. */
void gw_bundle_done(struct gw_client *client, const struct gw_msg_done *done);
void gw_bundle_failed(struct gw_client *client, const struct gw_msg_failed *failed);
void gw_bundle_fail_all(struct gw_client *client, bool all);
void gw_bundle_fail_pending(struct gw_bundle *bundle, const struct gw_error *error);

/* gw_bundle_waits tells whether results of a bundle are awaited, or may be fetched; gw_bundle_holds
 * whether a future of this row is held. The lock is held. */
bool gw_bundle_waits(const struct gw_bundle *bundle);
bool gw_bundle_holds(struct gw_bundle *bundle, uint32_t row);

/* gw_bundle_held brings in what a lookup found; the client's lock is held. */
void gw_bundle_held(struct gw_client *client, const struct gw_msg_held *held);

/* A value that came in: an object; or encoded bytes; or neither, and it lies in the cluster. */
struct gw_landing {
    struct gw_value *value; /* borrowed */
    const void *encoded;    /* borrowed */
    uint32_t bytes;
};

/* gw_bundle_set_value gives a future its value of one rank; gw_bundle_set_failure ends it badly
 * (takes failure). The client's lock is held. */
void gw_bundle_set_value(struct gw_future *future, uint32_t rank, const struct gw_landing *value);
void gw_bundle_set_failure(struct gw_future *future, struct gw_failure *failure);

/* gw_failure_new copies a text; NULL when out of memory (set_failure accepts it). */
struct gw_failure *gw_failure_new(int code, int exit_code, uint64_t attempt, const char *text);

/* gw_parcel_set copies a value in; false when out of memory. gw_parcel_clear frees what a result
 * holds and makes it NONE. */
bool gw_parcel_set(struct gw_parcel *result, const struct gw_landing *from);
void gw_parcel_clear(struct gw_parcel *result, uint32_t ranks);

/* gw_submit_scatter puts encoded bytes into the cluster as a job of one finished task; *name is the
 * job's number, or its record's name: gw_submit_let_go gives that up. The lock is held there. */
int gw_submit_scatter(struct gw_client *client, const void *encoded, size_t bytes, uint64_t *name,
                      struct gw_error *error);
void gw_submit_let_go(struct gw_client *client, uint64_t name);

#endif
