/* Reads the stacks of processes on this host with gdb, without blocking. */
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
    /* Maximum size of a rank's stacks, including the terminating zero */
    GW_DEBUGGER_STACK_BYTES = 64 * 1024,
    GW_DEBUGGER_BRIEF_FRAMES = 4,
};

struct gw_debugger_rank {
    uint32_t rank;
    pid_t pid;
    bool stopped; /* the process was stopped before gdb attached */
};

struct gw_debugger_options {
    uv_loop_t *loop;
    /* In order of importance: only the first GW_DEBUGGER_RANKS_MAX are examined */
    const struct gw_debugger_rank *ranks;
    uint32_t count;
    uint64_t limit_ms; /* gdb is killed after this time; 0: 5 s */
    /* Receives the output of gdb, to be parsed by gw_debugger_frames. It is called once, on the
     * loop's thread, at most a second after the limit, and never before gw_debugger_start has
     * returned. */
    void (*on_done)(const char *said, void *arg);
    void *arg;
};

/* gw_debugger_start returns NULL if gdb is not on PATH. on_done is not called then. The debugger
 * frees itself in a turn of the loop after on_done. */
struct gw_debugger *gw_debugger_start(const struct gw_debugger_options *options);

/* gw_debugger_cancel kills gdb and frees the debugger. on_done is not called any more. */
void gw_debugger_cancel(struct gw_debugger *debugger);

/* gw_debugger_frames extracts the threads of a rank from the output of gdb: one line per thread and
 * per frame, each indented and ended by a newline. The text is cut after the last whole line that
 * fits. Of a path through the folder of a program, which is named by a hash, only the rest behind
 * that folder is kept. Control characters become '?'. The result is empty if gdb could not examine
 * the rank. */
void gw_debugger_frames(const char *said, uint32_t rank, char *to, size_t bytes);

/* gw_debugger_brief makes one line without a newline from such frames: the innermost
 * GW_DEBUGGER_BRIEF_FRAMES functions of the first thread that executes the task's own code, with
 * their places, as in "load (data.c:7), train (train.c:30)". Functions of libc in which a thread
 * waits, and the callers of the task, are left out. The result is empty if `frames` is empty. */
void gw_debugger_brief(const char *frames, char *to, size_t bytes);

#endif
