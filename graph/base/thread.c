/* A new thread inherits the signals that its creator blocks. */
#include "graph/base/thread.h"

#include <signal.h>

int gw_thread_start(pthread_t *thread, void *(*function)(void *), void *arg)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(thread, NULL, function, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
