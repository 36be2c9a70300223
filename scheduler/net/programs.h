/* Transfers programs from clients to workers. Complete programs are announced to workers, and
 * missing files are requested from clients. The files are in a blob store in the scheduler's
 * folder. */
#ifndef GW_SCHEDULER_NET_PROGRAMS_H
#define GW_SCHEDULER_NET_PROGRAMS_H

#include "graph/wire/blobs.h"
#include "graph/wire/link.h"

struct gw_programs;

/* How the programs send messages. `peer` is the id of a connection of the server. `fd` is borrowed,
 * or -1. */
struct gw_programs_callbacks {
    void (*send)(uint64_t peer, const struct gw_message *message, int fd, void *arg);
    /* Returns true if a job that may still run names these files. */
    bool (*used)(struct gw_bin hash, void *arg);
    /* Returns true if any job names this program or these files. */
    bool (*named)(struct gw_bin hash, void *arg);
    void *arg;
};

struct gw_programs_options {
    /* Borrowed during the call. The folders blobs/ and programs/ are in it. */
    const char *dir;
    bool keeps;               /* keep on disk what jobs name, also for later terms */
    uint64_t files_bytes_max; /* limit of all task files; 0: 4 GiB */
    struct gw_programs_callbacks callbacks;
};

int gw_programs_open(uv_loop_t *loop, const struct gw_programs_options *options,
                     struct gw_programs **programs, struct gw_error *error);

/* gw_programs_restore loads what earlier terms kept on disk, and removes what no job names now.
 * Call it after the jobs were restored. */
void gw_programs_restore(struct gw_programs *programs);

/* gw_programs_store keeps a complete program or bundle of files for later terms, if `keeps` is set.
 * It calls `keep` once for each file that must be on disk for this. */
void gw_programs_store(struct gw_programs *programs, struct gw_bin hash,
                       void (*store)(const char *path, void *arg), void *arg);

/* gw_programs_close frees everything. The loop waits for running copies. */
void gw_programs_close(struct gw_programs *programs);

/* gw_programs_on_message handles `program` and `blob` of clients and `blob_want` of workers. `fd`
 * is the descriptor of a blob (ownership moves to this function), or -1. Returns 0, or GW_EPROTO
 * with a text: the caller must close this peer. */
int gw_programs_on_message(struct gw_programs *programs, uint64_t peer,
                           const struct gw_message *message, int fd, struct gw_error *error);

/* gw_programs_announce sends `program` to a worker, once, before the first spec that names the
 * program. */
void gw_programs_announce(struct gw_programs *programs, uint64_t peer, struct gw_bin hash);

/* gw_programs_has returns true if a program is complete. */
bool gw_programs_has(const struct gw_programs *programs, struct gw_bin hash);

/* gw_programs_forget_peer forgets what was announced to a peer that is gone, and what was requested
 * from it. */
void gw_programs_forget_peer(struct gw_programs *programs, uint64_t peer);

#endif
