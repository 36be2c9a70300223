/* The stacks of processes of this host, as gdb sees them, without waiting for it. */
#ifndef GW_NET_DEBUGGER_H
#define GW_NET_DEBUGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

struct gw_debugger;

enum {
    GW_DEBUGGER_RANKS_MAX = 8,
    GW_DEBUGGER_STACK_BYTES = 64 * 1024, /* of a rank, with its end */
    GW_DEBUGGER_BRIEF_FRAMES = 4,
};

struct gw_debugger_rank {
    uint32_t rank;
    pid_t pid;
    bool stopped; /* it was, before anybody looked */
};

struct gw_debugger_options {
    uv_loop_t *loop;
    const struct gw_debugger_rank *ranks; /* the most interesting one first; the first few count */
    uint32_t count;
    uint64_t limit_ms; /* then it is killed; 0: 5 s */
    /* What gdb said, for gw_debugger_frames; called once, on the loop's thread, within the limit
     * and a second, never before gw_debugger_start returns. */
    void (*on_done)(const char *said, void *arg);
    void *arg;
};

/* gw_debugger_start gives NULL where there is no gdb on PATH; on_done is not called then. The
 * debugger is its own, freed in a turn after on_done. */
struct gw_debugger *gw_debugger_start(const struct gw_debugger_options *options);

/* gw_debugger_cancel ends gdb and the debugger; on_done is not called any more. */
void gw_debugger_cancel(struct gw_debugger *debugger);

/* gw_debugger_frames writes the threads of a rank, a line each for them and their frames, all of
 * them indented and ended by a newline; cut after the last whole line that fits. Of a path through
 * the folder of a program, which its hash names, what is behind that stays; what is no text becomes
 * '?'. Empty where gdb could not look at it. */
void gw_debugger_frames(const char *said, uint32_t rank, char *to, size_t bytes);

/* gw_debugger_brief makes of such threads a line without an end: the innermost
 * GW_DEBUGGER_BRIEF_FRAMES functions of the first thread that is in code of its own, and where they
 * are, "load (data.c:7), train (train.c:30)"; those in which libc waits are left out, and what
 * calls a task. Empty where frames are. */
void gw_debugger_brief(const char *frames, char *to, size_t bytes);

#endif
