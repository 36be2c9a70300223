/* A background thread of a command, which does or prints something from time to time while the
 * command waits. */
#ifndef GW_CLI_BACKGROUND_THREAD_H
#define GW_CLI_BACKGROUND_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct gw_background_thread {
    pthread_t thread;
    pthread_mutex_t lock; /* guards `over` */
    pthread_cond_t changed;
    bool started, over;
};

/* gw_background_thread_init starts a thread that calls run(arg). If `run` is NULL or the thread
 * cannot be started, nothing runs: use it only for things that are not essential. */
void gw_background_thread_init(struct gw_background_thread *later, void *(*run)(void *arg),
                               void *arg);

/* gw_background_thread_deinit sets `over` and waits until the thread has ended. */
void gw_background_thread_deinit(struct gw_background_thread *later);

/* gw_background_thread_sleep sleeps for the given time, or until gw_background_thread_deinit is
 * called. Returns true if it was called. Only the background thread calls it. */
bool gw_background_thread_sleep(struct gw_background_thread *later, long milliseconds);

/* gw_background_thread_is_over returns true if gw_background_thread_deinit was called. It does not
 * block. */
bool gw_background_thread_is_over(struct gw_background_thread *later);

#endif
