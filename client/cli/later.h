/* Something that is looked at or said while a command waits: on a thread of its own, that sleeps
 * until its time or until it is over. */
#ifndef GW_CLI_LATER_H
#define GW_CLI_LATER_H

#include <pthread.h>
#include <stdbool.h>

struct gw_later {
    pthread_t thread;
    pthread_mutex_t lock; /* of over */
    pthread_cond_t changed;
    bool started, over;
};

/* gw_later_init starts a thread that runs `run` with arg; run NULL: none. Where no thread can be
 * had nothing runs: it is for what can be done without. */
void gw_later_init(struct gw_later *later, void *(*run)(void *arg), void *arg);

/* gw_later_deinit says that it is over, and waits until the thread has ended. */
void gw_later_deinit(struct gw_later *later);

/* gw_later_sleep waits for so long, or until it is over: then it gives true. On the thread. */
bool gw_later_sleep(struct gw_later *later, long milliseconds);

/* gw_later_is_over tells whether gw_later_deinit was called; it never waits. */
bool gw_later_is_over(struct gw_later *later);

#endif
