/* Threads that a library starts in a program that is not its own. */
#ifndef GW_BASE_THREAD_H
#define GW_BASE_THREAD_H

#include <pthread.h>

/* gw_thread_start starts function(arg) in a thread that blocks all signals: signals go to the
 * program's own threads. The caller joins or detaches the thread. Returns 0, or an errno value if
 * there is no thread. */
int gw_thread_start(pthread_t *thread, void *(*function)(void *), void *arg);

#endif
