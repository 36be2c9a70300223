/* The state of worker/net, which drives the worker's core. All files of worker/net share it.
 *
 * A host holds the connections, which the core sees as peers, and carries out the effects of the
 * core in order. Everything runs on one thread, that of the loop. */
#ifndef GW_NET_STATE_H
#define GW_NET_STATE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/memory_lines.h"
#include "graph/wire/acceptor.h"
#include "graph/wire/backlog.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/greeting.h"
#include "graph/wire/hash.h"
#include "graph/wire/intake.h"
#include "graph/wire/link.h"
#include "graph/wire/tls.h"
#include "graph/wire/tokens.h"
#include "worker/core/node.h"
#include "worker/net/parts/cache.h"
#include "worker/net/parts/complaint.h"
#include "worker/net/parts/disk.h"
#include "worker/net/parts/follow.h"
#include "worker/net/parts/gpus.h"
#include "worker/net/parts/health.h"
#include "worker/net/parts/keyring.h"
#include "worker/net/parts/lease.h"
#include "worker/net/parts/relay.h"
#include "worker/net/parts/usage.h"

#include <stdatomic.h>

struct gw_transfers;
struct gw_transfer;
struct gw_host;
struct gw_host_link;
struct gw_metric_reader;
struct gw_report_socket;
struct gw_serve;
struct gw_survey;
struct gw_sweep;
struct gw_tunnels;
struct gw_user;
struct gw_watches;

struct gw_host_options {
    const char *dir; /* borrowed; absolute path */
    const char *name;
    const char *resources; /* named resources that it offers; NULL: none */
    /* Where other workers connect, by TLS: HOST or HOST:PORT; NULL: this host only */
    const char *peers;
    uint64_t files_bytes_max; /* maximum size of shipped files that no task needs now; 0: default */
    uint64_t transfer_bytes_max; /* maximum size of a checkpoint folder to transfer; 0: default */
    uint64_t retained_bytes_max; /* maximum size of retained folders; 0: none is retained */
    uint32_t slots;
    uint32_t slots_in_all; /* slots of all workers on this host, which share its cores and memory */
    /* This worker uses part `part` of `parts` of the machine's GPUs; 0: all */
    uint32_t part, parts;
    struct gw_memory_lines memory;
    const char *connect; /* HOST:PORT (numeric) of the scheduler, by TLS; NULL: its socket in dir */
    const struct gw_tls_key *key; /* key for that connection; borrowed */
    const char *interface;        /* network interface that reaches other hosts; "": unknown */
    const char *spill_dir; /* parent of the folder for spilled results; NULL: see spillfile.h */
    int ready_fd;          /* gets a line at the first welcome and is then closed; 0: none */
    uint64_t orphan_ms;    /* time that tasks may run on without a scheduler; 0: none */
    /* Time between two runs of the health checks (0: none), the program of the admin (NULL: none),
     * and how long it may run */
    uint64_t health_interval_ms, health_timeout_ms;
    const char *health_check;
    bool private_cluster;
    bool separate_users; /* tasks of each user run as a Unix user of their own, see users.h */
    bool trust_users;    /* tasks of all users run as the user of this process */
    /* File that shows that this worker lives and if it has a scheduler. If set, the worker also
     * ends if it finds no scheduler for orphan_ms. 0: none */
    int alive_fd;
    bool first_in_folder; /* with connect: no other worker uses this folder */
    /* told: the signal that ordered the shutdown, 0: none. times: number of such signals. Borrowed.
     */
    const atomic_int *told, *times;
};

/* A connection. It is freed when its link is closed. */
struct gw_host_link {
    struct gw_host *host;
    struct gw_link *link;
    uint64_t id, process, opened_ns;
    struct gw_greeting greeting;    /* used until hello on an incoming connection */
    struct gw_transport *transport; /* the link's TLS transport; NULL: a unix socket */
    uint32_t role;                  /* enum gw_role; 0: incoming, no hello yet */
    bool told_core;                 /* the core got OPEN for it */
    bool transfers;                 /* opened for a checkpoint transfer, unknown to the core */
    struct gw_transfer *transfer;   /* the transfer of this connection; NULL: it has ended */
    struct gw_serve *serve;         /* checkpoints that the peer has requested; NULL: none */
    bool closed; /* the link is closed; false for the scheduler's while a reconnect is tried */
};

/* A runner whose capture files must be removed after it is both reaped and closed. */
struct gw_host_runner {
    bool reaped, closed;
    char *user; /* folder of the separate user; "": none; owned */
    /* For a runner with an actor: memory file with the call that it began last; -1: none. It is
     * read and never mapped, since the runner may truncate it */
    int began_fd;
};

/* An event that occurred while effects were carried out. It is handled afterwards. */
struct gw_host_pending {
    struct gw_event event;
    struct gw_message message;
    char *text, *user;       /* copies of event.text and event.user; owned */
    struct gw_stand *stands; /* copy of event.stands; owned */
    uint32_t *ports;         /* copy of event.ports; owned */
    uint64_t tokens[2];
    uint8_t hash[GW_HASH_BYTES];
};

/* State of the reconnect to the scheduler. See reconnect.h. */
struct gw_host_reconnect {
    struct gw_host *host;
    /* Messages sent and not confirmed; NULL: reconnect is not possible */
    struct gw_backlog *backlog;
    struct gw_intake intake; /* counts messages received since the welcome, which is the first */
    uint64_t dialled;        /* number of attempts to connect since then */
    uint64_t heard_ns;       /* when the scheduler last sent anything */
    uint32_t worker;         /* number of this worker */
    uint8_t secret[GW_TLS_SECRET_BYTES]; /* secret that proves its identity */
    struct gw_host_link *second; /* the connection that is to replace the first; NULL: none */
    bool broken;                 /* the scheduler's link is closed */
    /* The scheduler seems to have closed the link; the second link will show if this is true */
    bool ended;
    bool silent;         /* the log has reported the silence */
    struct gw_error why; /* why it closed */
    uv_timer_t timer;
    uv_timer_cb give_up; /* stops the reconnect in a later turn, by the timer */
    /* Called when the connection has ended for good. */
    void (*gone)(struct gw_host_link *link, const struct gw_error *error);
};

/* Socket for processes of tasks. See task_socket.h. All zero: not needed yet. */
struct gw_task_socket {
    struct gw_acceptor *acceptor; /* NULL: it shares the socket for other workers */
    char path[GW_ENDPOINT_TEXT_MAX];
    uint8_t secret[GW_TLS_SECRET_BYTES];
    bool refused; /* the socket could not be opened, which was logged */
};

/* Sockets for reports of commands. See report_socket.h. */
struct gw_report_sockets {
    GW_ARRAY(struct gw_report_socket *) all;
    struct gw_report_socket *unused;
    struct gw_map taken; /* process -> struct gw_report_socket */
    bool refused;        /* a socket could not be opened, which was logged */
};

struct gw_host {
    uv_loop_t *loop;
    /* Functions of host.c and effects.c that lower files call. execute carries out the effects of a
     * step of the core. stepped is called after the step. */
    void (*execute)(struct gw_host *host, uint64_t now_ns);
    void (*stepped)(struct gw_host *host);
    /* Callbacks for each link; arg is its struct gw_host_link */
    struct gw_link_callbacks link_callbacks;
    struct gw_host_options options;
    char scheduler_path[PATH_MAX], log_dir[PATH_MAX], binary_dir[PATH_MAX];
    char peers_address[PATH_MAX]; /* an endpoint */
    char checkpoint_dir[PATH_MAX], spill_dir[PATH_MAX];
    uint64_t memory_bytes; /* memory limit */
    struct gw_node_core *core;
    struct gw_effects effects;
    struct gw_tokens tokens;
    uint64_t incarnation, next_peer;
    struct gw_map links;   /* peer id -> struct gw_host_link */
    struct gw_map runners; /* process -> struct gw_host_runner */
    struct gw_map held;    /* see held.h */
    GW_ARRAY(struct gw_user *) users;
    GW_ARRAY(char *) user_folders; /* of separate users that have run here; owned */
    GW_ARRAY(int) user_locks;      /* descriptors: other workers must leave these folders alone */
    char cluster[65];              /* of the last welcome, hexadecimal; "": none */
    struct gw_map user_processes;  /* process -> index of its user and state, see users.c */
    uint64_t launcher_asks_ns;     /* the launcher is not asked before this time */
    struct gw_host_link *scheduler, *supervisor;
    GW_ARRAY(struct gw_host_pending *) pending;
    size_t pending_done;
    bool stepping, exiting, shutting_down, welcomed;
    bool scheduler_slow; /* as last reported to the core */
    bool orphan_said;    /* the log has reported that no scheduler came in time */
    bool was_welcomed;   /* the worker was welcomed at least once; before that nothing runs here */
    struct gw_complaint absent; /* limits log messages about a scheduler that does not answer */
    int exit_code;
    const char *last_words; /* reason of the shutdown for the scheduler; NULL: none to send */
    int times_heeded;       /* number of shutdown signals handled */
    uint64_t set_aside;     /* counts folders of data set aside for removal */
    /* Jobs that are over and whose checkpoints must be removed; NULL: none */
    struct gw_sweep *sweep;
    uv_timer_t sweep_timer;

    uv_timer_t tick, lazy;
    uint64_t room_seen_ns;  /* when the disk of the output last had free space; 0: not checked */
    uint64_t lazy_since_ns; /* when the first message was held back; 0: none is held back */
    uint64_t armed_ns;
    uv_timer_t reconnect_timer;
    uint64_t reconnect_ms;
    uint64_t refused_ns; /* since when connecting is refused; 0: it is not */
    uint64_t alone_ns;   /* since when it has no scheduler; 0: it has one */
    uv_process_t supervisor_process;
    struct gw_acceptor *acceptor;
    struct gw_greetings greetings;
    int gpu_lock_fd;
    struct gw_devices *devices;      /* NULL: this worker has no GPUs */
    struct gw_gpus *gpus;            /* NULL: this worker has no GPUs */
    struct gw_health_checks *health; /* NULL: none */
    uv_timer_t hello_timer;
    uv_timer_t beat; /* sends heartbeats to the supervisor */
    struct gw_cache *cache;
    struct gw_follow *follow;
    struct gw_tunnels *tunnels;
    struct gw_transfers *transfers;
    struct gw_watches *watches;
    struct gw_disk *disk; /* NULL: results cannot be spilled */
    struct gw_usage *usage;
    struct gw_survey *surveys; /* surveys in progress */
    int spill_lock_fd;
    struct gw_leases leases;
    struct gw_keyring keyring;
    struct gw_relays relays;
    struct gw_task_socket task_socket;
    struct gw_report_sockets report_sockets;
    GW_ARRAY(struct gw_metric_reader *) metric_readers; /* see metric_reader.h */
    uv_timer_t metric_timer;                            /* active while there are any */
    struct gw_host_reconnect reconnect;
};

#endif
