/* The state of worker/net, which drives the worker's core, shared by its files.
 *
 * A host holds the connections, named as peers to the core, and carries out the core's effects in
 * order. All on one thread, the loop's. */
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
#include "worker/net/parts/keyring.h"
#include "worker/net/parts/lease.h"
#include "worker/net/parts/relay.h"
#include "worker/net/parts/usage.h"

#include <stdatomic.h>

struct gw_transfers;
struct gw_transfer;
struct gw_host;
struct gw_host_link;
struct gw_serve;
struct gw_survey;
struct gw_sweep;
struct gw_tunnels;
struct gw_watches;

struct gw_host_options {
    const char *dir; /* borrowed; absolute */
    const char *name;
    const char *resources; /* what it offers by name; NULL: nothing */
    const char *peers; /* where others reach it: HOST or HOST:PORT, by TLS; NULL: on this host */
    uint64_t files_bytes_max;    /* of shipped files that no task needs now; 0: the default */
    uint64_t transfer_bytes_max; /* of a folder of checkpoints; 0: the default */
    uint64_t kept_bytes_max;     /* of folders that commands with files left; 0: none is kept */
    uint32_t slots;
    uint32_t slots_in_all; /* of this host's workers, which share its cores and memory */
    uint32_t part, parts;  /* of this machine's GPUs: which part it offers of how many; 0: all */
    struct gw_memory_lines memory;
    const char *connect; /* numeric HOST:PORT of the scheduler, by TLS; NULL: its socket in dir */
    const struct gw_tls_key *key; /* to show there; borrowed */
    const char *interface;        /* by which others are reached; "": unknown */
    const char *spill_dir;        /* parent of the folder for results; NULL: see spillfile.h */
    int ready_fd; /* gets a line when the scheduler has this worker first, and is closed; 0: none */
    uint64_t orphan_ms; /* how long what runs lives on while no scheduler is there; 0: not at all */
    bool private_cluster;
    int alive_fd; /* says that it lives, and whether its scheduler has it; it then ends when none
                   * was found for orphan_ms; 0: none */
    bool first_in_folder; /* with connect: no other worker lives in it */
    /* The signal that told us to end, 0: none yet; and how often one has. Borrowed. */
    const atomic_int *told, *times;
};

/* A connection. It is freed when its link is closed. */
struct gw_host_link {
    struct gw_host *host;
    struct gw_link *link;
    uint64_t id, process, opened_ns;
    struct gw_greeting greeting;    /* of one that connected to us, until hello */
    struct gw_transport *transport; /* the link's; NULL: a unix socket */
    uint32_t role;                  /* enum gw_role; 0: it connected to us and has not said hello */
    bool told_core;                 /* OPEN was raised */
    bool transfers;                 /* opened here for a transfer: the core knows nothing of it, */
    struct gw_transfer *transfer;   /* which is this one; NULL: it is over */
    struct gw_serve *serve;         /* what the other side has asked for; NULL: nothing */
    bool closed; /* its link is; the scheduler's, while that may be mended, is not */
};

/* A runner whose files are still to be tidied: both must have come. */
struct gw_host_runner {
    bool buried, closed;
    const uint64_t *began; /* of one with an actor: the call that it began last, as it says */
};

/* An event that arose while effects were carried out. */
struct gw_host_pending {
    struct gw_event event;
    struct gw_message message;
    char *text;              /* owned; event.text */
    struct gw_stand *stands; /* likewise */
    uint32_t *ports;         /* likewise */
    uint64_t tokens[2];
    uint8_t hash[GW_HASH_BYTES];
};

/* See mend.h. */
struct gw_mend {
    struct gw_host *host;
    struct gw_backlog *backlog;          /* NULL: there is nothing to mend */
    struct gw_intake intake;             /* since the welcome, which is the first */
    uint64_t dialled;                    /* how often, since then */
    uint64_t heard_ns;                   /* when the scheduler last said anything */
    uint32_t worker;                     /* this one's number, ... */
    uint8_t secret[GW_TLS_SECRET_BYTES]; /* ... and its secret */
    struct gw_host_link *second;         /* that is to mend it; NULL: none is under way */
    bool broken;                         /* the scheduler's link is closed, ... */
    bool ended;                          /* ... as if by the scheduler: the second knows better */
    bool silent;                         /* the log says that it is being mended */
    struct gw_error why;                 /* it closed */
    uv_timer_t timer;
    uv_timer_cb give_up; /* ends it in a later turn, by that timer */
    /* Tells all that the connection is over. */
    void (*gone)(struct gw_host_link *link, const struct gw_error *error);
};

/* See task_socket.h. Zeroed: nobody needed one yet. */
struct gw_task_socket {
    struct gw_acceptor *acceptor; /* NULL: other workers reach this one at the same socket */
    char path[GW_ENDPOINT_TEXT_MAX];
    uint8_t secret[GW_TLS_SECRET_BYTES];
    bool refused; /* it could not be had, which the log has said */
};

struct gw_host {
    uv_loop_t *loop;
    /* What the host gives its parts, which stand below it: what follows a step of the core, first
     * its effects; and what comes by a link. */
    void (*execute)(struct gw_host *host, uint64_t now_ns);
    void (*stepped)(struct gw_host *host);
    struct gw_link_callbacks link_callbacks; /* with the struct gw_host_link as arg */
    struct gw_host_options options;
    char scheduler_path[PATH_MAX], log_dir[PATH_MAX], binary_dir[PATH_MAX];
    char peers_address[PATH_MAX]; /* an endpoint */
    char checkpoint_dir[PATH_MAX], spill_dir[PATH_MAX];
    uint64_t memory_bytes; /* limit */
    struct gw_node_core *core;
    struct gw_effects effects;
    struct gw_tokens tokens;
    uint64_t incarnation, next_peer;
    struct gw_map links;   /* peer id -> struct gw_host_link */
    struct gw_map runners; /* process -> struct gw_host_runner */
    struct gw_map held;    /* see held.h */
    struct gw_host_link *scheduler, *supervisor;
    GW_ARRAY(struct gw_host_pending *) pending;
    size_t pending_done;
    bool stepping, exiting, shutting_down, welcomed;
    bool scheduler_slow;        /* as the core was told last */
    bool orphan_said;           /* that nobody came in time */
    bool was_welcomed;          /* ever: before that nothing runs here */
    struct gw_complaint absent; /* no scheduler answers */
    int exit_code;
    const char *last_words; /* to the scheduler; NULL: it knows */
    int times_heeded;       /* signals to end that were */
    uint64_t set_aside;     /* folders with what was to go */
    struct gw_sweep *sweep; /* jobs that are over, whose checkpoints are to go; NULL: none */
    uv_timer_t sweep_timer;

    uv_timer_t tick, lazy;
    uint64_t room_seen_ns;  /* when the disk of output had room; 0: never asked */
    uint64_t lazy_since_ns; /* the first of what was told the scheduler lazily; 0: it has left */
    uint64_t armed_ns;
    uv_timer_t reconnect;
    uint64_t reconnect_ms;
    uint64_t refused_ns; /* since when connecting is; 0: it is not */
    uint64_t alone_ns;   /* since when no scheduler has it; 0: one has */
    uv_process_t supervisor_process;
    struct gw_acceptor *acceptor;
    struct gw_greetings greetings;
    int gpu_lock_fd;
    struct gw_devices *devices; /* NULL: this worker has none, */
    struct gw_gpus *gpus;       /* likewise */
    uv_timer_t hello_timer;
    uv_timer_t beat; /* for the supervisor */
    struct gw_cache *cache;
    struct gw_follow *follow;
    struct gw_tunnels *tunnels;
    struct gw_transfers *transfers;
    struct gw_watches *watches;
    struct gw_disk *disk; /* NULL: results cannot go to disk */
    struct gw_usage *usage;
    struct gw_survey *surveys; /* under way */
    int spill_lock_fd;
    struct gw_leases leases;
    struct gw_keyring keyring;
    struct gw_relays relays;
    struct gw_task_socket task_socket;
    struct gw_mend mend;
};

#endif
