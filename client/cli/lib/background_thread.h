/* Something that is looked at or said while a command waits: on a thread of its own, that sleeps
 * until its time or until it is over. */
#ifndef GW_CLI_BACKGROUND_THREAD_H
#define GW_CLI_BACKGROUND_THREAD_H

#include <pthread.h>
#include <stdbool.h>

struct gw_background_thread {
    pthread_t thread;
    pthread_mutex_t lock; /* of over */
    pthread_cond_t changed;
    bool started, over;
};

/* gw_background_thread_init starts a thread that runs `run` with arg; run NULL: none. Where no
 * thread can be had nothing runs: it is for what can be done without. */
void gw_background_thread_init(struct gw_background_thread *later, void *(*run)(void *arg),
                               void *arg);

/* gw_background_thread_deinit says that it is over, and waits until the thread has ended. */
void gw_background_thread_deinit(struct gw_background_thread *later);

/* gw_background_thread_sleep waits for so long, or until it is over: then it gives true. On the
 * thread. */
bool gw_background_thread_sleep(struct gw_background_thread *later, long milliseconds);

/* gw_background_thread_is_over tells whether gw_background_thread_deinit was called; it never
 * waits. */
bool gw_background_thread_is_over(struct gw_background_thread *later);

#endif
