/* The inside of worker/net: the driver of the worker's core, shared by its files.
 *
 * A host holds the connections, named as peers to the core, and carries out the core's effects in
 * order. All on one thread, the loop's. */
#ifndef GW_NET_HOST_H
#define GW_NET_HOST_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/memory_lines.h"
#include "graph/wire/acceptor.h"
#include "graph/wire/greeting.h"
#include "graph/wire/hash.h"
#include "graph/wire/link.h"
#include "graph/wire/tokens.h"
#include "worker/core/node.h"
#include "worker/net/cache.h"
#include "worker/net/carry.h"
#include "worker/net/complaint.h"
#include "worker/net/disk.h"
#include "worker/net/follow.h"
#include "worker/net/gpus.h"
#include "worker/net/keyring.h"
#include "worker/net/lease.h"
#include "worker/net/mend.h"
#include "worker/net/relay.h"
#include "worker/net/tunnels.h"
#include "worker/net/usage.h"
#include "worker/net/watch.h"

#include <stdatomic.h>

struct gw_host_options {
    const char *dir; /* borrowed; absolute */
    const char *name;
    const char *resources; /* what it offers by name; NULL: nothing */
    const char *peers; /* where others reach it: HOST or HOST:PORT, by TLS; NULL: on this host */
    uint64_t files_bytes_max; /* of shipped files that no task needs now; 0: the default */
    uint64_t carry_bytes_max; /* of a folder of checkpoints; 0: the default */
    uint64_t kept_bytes_max;  /* of folders that commands with files left; 0: none is kept */
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
    bool carries;                   /* opened here for a carry: the core knows nothing of it, */
    struct gw_carry *carry;         /* which is this one; NULL: it is over */
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

struct gw_host {
    uv_loop_t *loop;
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
    struct gw_host_link *scheduler, *guardian;
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

    uv_timer_t tick, lazy;
    uint64_t room_seen_ns;  /* when the disk of output had room; 0: never asked */
    uint64_t lazy_since_ns; /* the first of what was told the scheduler lazily; 0: it has left */
    uint64_t armed_ns;
    uv_timer_t reconnect;
    uint64_t reconnect_ms;
    uint64_t refused_ns; /* since when connecting is; 0: it is not */
    uint64_t alone_ns;   /* since when no scheduler has it; 0: one has */
    uv_process_t guardian_process;
    struct gw_acceptor *acceptor;
    struct gw_greetings greetings;
    int gpu_lock_fd;
    struct gw_devices *devices; /* NULL: this worker has none, */
    struct gw_gpus *gpus;       /* likewise */
    uv_timer_t hello_timer;
    uv_timer_t beat; /* for the guardian */
    struct gw_cache *cache;
    struct gw_follow *follow;
    struct gw_tunnels *tunnels;
    struct gw_carries *carries;
    struct gw_watches *watches;
    struct gw_disk *disk; /* NULL: results cannot go to disk */
    struct gw_usage *usage;
    struct gw_survey *surveys; /* under way */
    int spill_lock_fd;
    struct gw_leases leases;
    struct gw_keyring keyring;
    struct gw_relays relays;
    int board_fd; /* what runners leave for each other; -1: there is none yet */
    struct gw_mend mend;
};

/* -- host.c */
int gw_host_open(uv_loop_t *loop, const struct gw_host_options *options, struct gw_host **host,
                 struct gw_error *error);
/* gw_host_shut_down ends all work, then everything; the loop runs empty. gw_host_end does so too,
 * as it was told to by a signal, says so to the scheduler, and stays until that has seen to what
 * only this host has; told by a second signal, it stays for nothing. */
void gw_host_shut_down(struct gw_host *host);
void gw_host_end(struct gw_host *host, int signal);

/* gw_host_heed ends it where a signal has come that the loop has not: for who is about to hear of
 * what may have had the same one. */
void gw_host_heed(struct gw_host *host);
/* gw_host_free is for a host whose loop has run empty. */
void gw_host_free(struct gw_host *host);

/* gw_host_step lets the core take an event and carries out what follows. gw_host_later does so
 * after the step that is under way (text and hash are copied). */
int gw_host_step(struct gw_host *host, const struct gw_event *event);
void gw_host_later(struct gw_host *host, const struct gw_event *event);

/* gw_host_tell_scheduler sends what is not the core's (host: a struct gw_host), while welcomed. */
void gw_host_tell_scheduler(const struct gw_message *message, void *host);

/* gw_host_message gives a message to the core; descriptors become its tokens. */
int gw_host_message(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                    uint8_t fd_count);

/* -- effects.c */
void gw_host_carry_out(struct gw_host *host);
void gw_host_look_at_lazy(struct gw_host *host, uint64_t now_ns);
/* gw_host_send sends with duplicates of descriptors. */
void gw_host_send(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                  uint8_t count);
/* gw_host_send_frame sends what a backlog keeps: 0 or a negative code. */
int gw_host_send_frame(struct gw_host_link *link, const struct gw_backlog_item *item);

/* -- runners.c: what is to be done around the core when processes come and go */
void gw_host_spawn(struct gw_host *host, const struct gw_message *message);
/* gw_host_on_guardian_message gives the message for the core: itself, or `filled`. */
const struct gw_message *gw_host_on_guardian_message(struct gw_host *host,
                                                     const struct gw_message *message,
                                                     struct gw_message *filled);
/* gw_host_on_actor_ready takes the page of a runner (fds: taken). */
void gw_host_on_actor_ready(struct gw_host *host, uint64_t process, const int *fds,
                            uint8_t fd_count);
void gw_host_runner_free(struct gw_host_runner *runner);
void gw_host_on_runner_closed(struct gw_host *host, uint64_t process);
/* gw_host_output_bytes is how much what a process executes has written, both streams. */
uint64_t gw_host_output_bytes(const struct gw_host *host, uint64_t process);
void gw_host_tidy_runner(struct gw_host *host, uint64_t process);

/* -- peers.c: connections of all roles */
struct gw_host_link *gw_host_link_new(struct gw_host *host, int fd, uint32_t role);
struct gw_host_link *gw_host_link_find(const struct gw_host *host, uint64_t id);
int gw_host_listen(struct gw_host *host, struct gw_error *error);
void gw_host_connect_scheduler(struct gw_host *host);
/* gw_host_dial_scheduler opens one more link to the scheduler, by TLS; NULL where it cannot. */
struct gw_host_link *gw_host_dial_scheduler(struct gw_host *host);
/* gw_host_link_take_over has a connection go on by the link of another, which is no more; the old
 * link, where it is not broken, is closed, and what it still brings is dropped. */
void gw_host_link_take_over(struct gw_host_link *link, struct gw_host_link *other, bool broken);
/* gw_host_link_gone tells all whom it concerns that a connection is over, and frees it. */
void gw_host_link_gone(struct gw_host_link *link, const struct gw_error *error);
/* gw_host_connect_task gives a connection to the scheduler (the caller's) on which hello was said
 * for a rank of an attempt. GW_EAGAIN where the scheduler has no room for it at the moment, GW_EIO.
 */
int gw_host_connect_task(struct gw_host *host, uint64_t attempt, uint32_t rank, int *fd,
                         struct gw_error *error);
void gw_host_connect_peer(struct gw_host *host, uint32_t worker, const char *address);
/* gw_host_dial_peer opens a connection to another worker for a carry; NULL, with a text. */
struct gw_host_link *gw_host_dial_peer(struct gw_host *host, uint32_t worker, const char *address,
                                       struct gw_error *error);
int gw_host_start_guardian(struct gw_host *host, struct gw_error *error);
void gw_host_close_links(struct gw_host *host);

#endif
