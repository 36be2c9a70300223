/* Programs on their way from clients to workers: whole ones are announced, missing content is asked
 * for. Contents lie in a blob store in the scheduler's folder. */
#ifndef GW_SCHEDULER_NET_PROGRAMS_H
#define GW_SCHEDULER_NET_PROGRAMS_H

#include "graph/wire/blobs.h"
#include "graph/wire/link.h"

struct gw_programs;

/* What programs send; peers are named by their number in the server. fd: borrowed, or -1. */
struct gw_programs_callbacks {
    void (*send)(uint64_t peer, const struct gw_message *message, int fd, void *arg);
    /* Tells whether a job that may still run names these files. */
    bool (*used)(struct gw_bin hash, void *arg);
    /* Tells whether any job names this program or these files. */
    bool (*named)(struct gw_bin hash, void *arg);
    void *arg;
};

struct gw_programs_options {
    const char *dir;          /* borrowed during the call; blobs/ and programs/ are made in it */
    bool keeps;               /* what jobs of earlier lives name is there, and stays */
    uint64_t files_bytes_max; /* of files of tasks, in all; 0: 4 GiB */
    struct gw_programs_callbacks callbacks;
};

int gw_programs_open(uv_loop_t *loop, const struct gw_programs_options *options,
                     struct gw_programs **programs, struct gw_error *error);

/* gw_programs_restore takes up what was kept in earlier lives, but for what no job names now: that
 * is removed. To be called once the jobs are there. */
void gw_programs_restore(struct gw_programs *programs);

/* gw_programs_keep has a whole program, or files, be there in the next life, too: calls `keep` with
 * each file that must be on disk for that, once. Nothing where `keeps` is not set. */
void gw_programs_keep(struct gw_programs *programs, struct gw_bin hash,
                      void (*keep)(const char *path, void *arg), void *arg);

/* gw_programs_close forgets everything; content that is being copied is waited for by the loop. */
void gw_programs_close(struct gw_programs *programs);

/* gw_programs_on_message takes `program` and `blob` from clients and `blob_want` from workers; fd
 * is the blob's descriptor (taken) or -1. 0, or GW_EPROTO with text: close that peer. */
int gw_programs_on_message(struct gw_programs *programs, uint64_t peer,
                           const struct gw_message *message, int fd, struct gw_error *error);

/* gw_programs_announce sends `program` to a worker once, before the first spec that names it. */
void gw_programs_announce(struct gw_programs *programs, uint64_t peer, struct gw_bin hash);

/* gw_programs_has tells whether a program is whole. */
bool gw_programs_has(const struct gw_programs *programs, struct gw_bin hash);

/* gw_programs_forget_peer forgets what was announced to, and asked from, a peer that is gone. */
void gw_programs_forget_peer(struct gw_programs *programs, uint64_t peer);

#endif
