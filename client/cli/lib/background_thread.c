/* A thread that sleeps on a condition variable, so that it can be ended without waiting for its
 * sleep. */
#include "client/cli/lib/background_thread.h"

#include <time.h>

void gw_background_thread_init(struct gw_background_thread *later, void *(*run)(void *arg),
                               void *arg)
{
    pthread_condattr_t attr;
    *later = (struct gw_background_thread){.over = false};
    pthread_mutex_init(&later->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&later->changed, &attr);
    pthread_condattr_destroy(&attr);
    later->started = run && pthread_create(&later->thread, NULL, run, arg) == 0;
}

void gw_background_thread_deinit(struct gw_background_thread *later)
{
    pthread_mutex_lock(&later->lock);
    later->over = true;
    pthread_cond_signal(&later->changed);
    pthread_mutex_unlock(&later->lock);
    if (later->started)
        pthread_join(later->thread, NULL);
    pthread_cond_destroy(&later->changed);
    pthread_mutex_destroy(&later->lock);
}

bool gw_background_thread_sleep(struct gw_background_thread *later, long milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += milliseconds % 1000 * 1000000;
    until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    int rc = 0;
    pthread_mutex_lock(&later->lock);
    while (!later->over && rc == 0)
        rc = pthread_cond_timedwait(&later->changed, &later->lock, &until);
    const bool over = later->over;
    pthread_mutex_unlock(&later->lock);
    return over;
}

bool gw_background_thread_is_over(struct gw_background_thread *later)
{
    pthread_mutex_lock(&later->lock);
    const bool over = later->over;
    pthread_mutex_unlock(&later->lock);
    return over;
}
