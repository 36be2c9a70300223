/* A queue of reductions and the thread that runs them in order. After a failed reduction the
 * communicator is broken, so the thread drops those that follow. */
#include "gpu/train/ddp_thread.h"

#include "graph/base/thread.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct gw_ddp_thread {
    struct gw_comm *comm;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    size_t queued, done; /* since the last wait */
    int rc;              /* the first error, with its text in `error` */
    struct gw_error error;
    bool ends;
    struct gw_comm_args queue[]; /* [room] */
};

static void *thread_main(void *arg)
{
    struct gw_ddp_thread *self = arg;
    struct gw_error error = {.code = 0};
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while (self->done == self->queued && !self->ends)
            pthread_cond_wait(&self->changed, &self->mutex);
        if (self->done == self->queued)
            break;
        const struct gw_comm_args args = self->queue[self->done];
        int rc = self->rc;
        pthread_mutex_unlock(&self->mutex);
        if (rc == 0)
            rc = gw_comm_all_reduce(self->comm, &args, &error);
        pthread_mutex_lock(&self->mutex);
        if (rc < 0 && self->rc == 0) {
            self->rc = rc;
            self->error = error;
        }
        self->done++;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

struct gw_ddp_thread *gw_ddp_thread_open(struct gw_comm *comm, size_t room)
{
    struct gw_ddp_thread *self = calloc(1, sizeof *self + room * sizeof self->queue[0]);
    if (!self)
        return NULL;
    self->comm = comm;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (gw_thread_start(&self->thread, thread_main, self) == 0)
        return self;
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    return NULL;
}

void gw_ddp_thread_close(struct gw_ddp_thread *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->ends = true;
    pthread_cond_broadcast(&self->changed);
    const bool busy = self->done < self->queued;
    pthread_mutex_unlock(&self->mutex);
    if (busy) /* a pass that was not finished: other ranks may never start this reduction */
        gw_comm_abort(self->comm, GW_ECANCELLED, gw_comm_rank(self->comm));
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static int error_of(const struct gw_ddp_thread *self, struct gw_error *error)
{
    return self->rc < 0 ? gw_error_set(error, self->rc, "%s", self->error.text) : 0;
}

int gw_ddp_thread_reduce(struct gw_ddp_thread *self, const struct gw_comm_args *args,
                         struct gw_error *error)
{
    pthread_mutex_lock(&self->mutex);
    int rc = error_of(self, error);
    if (rc == 0) {
        self->queue[self->queued++] = *args;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    return rc;
}

int gw_ddp_thread_wait(struct gw_ddp_thread *self, struct gw_error *error)
{
    pthread_mutex_lock(&self->mutex);
    while (self->done < self->queued)
        pthread_cond_wait(&self->changed, &self->mutex);
    self->done = self->queued = 0;
    int rc = error_of(self, error);
    pthread_mutex_unlock(&self->mutex);
    return rc;
}
