/* One look at a job that may wait. The thread is in a query or asleep, and never holds the lock in
 * a query: whoever ends it waits for an answer of the scheduler at most. */
#include "client/cli/patience.h"

#include "client/cli/selector.h"
#include "client/cli/table.h"
#include "graph/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_S = 2 };

static bool is_over(struct gw_patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    bool over = patience->over;
    pthread_mutex_unlock(&patience->lock);
    return over;
}

static struct gw_value *ask(struct gw_patience *patience, const char *what)
{
    struct gw_value *answer = NULL, *question = gw_selector_question(&(struct gw_selected_task){
                                        .job = patience->job, .whole = true});
    if (question)
        (void)gw_client_query(patience->client, what, question, &answer, NULL);
    gw_value_unref(question);
    return answer;
}

/* Nothing of it runs, and nothing has ended yet. */
static bool waits(const struct gw_value *job)
{
    return job && strcmp(gw_table_text(job, "state"), "queued") == 0 &&
           gw_table_number(job, "done") == 0 && gw_table_number(job, "failed") == 0;
}

static void say(struct gw_patience *patience)
{
    struct gw_value *job = ask(patience, "job");
    struct gw_value *answer = waits(job) ? ask(patience, "explain") : NULL;
    const char *text;
    if (answer && gw_value_get_str(answer, &text, NULL) == 0 && !is_over(patience)) {
        char line[GW_ERROR_TEXT_MAX + 32];
        snprintf(line, sizeof line, "gangway: it waits: %s", text);
        if (patience->raw) {
            gw_table_say(stderr, line);
            fputs("\r\n", stderr);
        } else {
            gw_table_wrap(stderr, 0, line);
        }
    }
    gw_value_unref(answer);
    gw_value_unref(job);
}

static void *run(void *arg)
{
    struct gw_patience *patience = arg;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    int rc = 0;
    pthread_mutex_lock(&patience->lock);
    while (!patience->over && rc == 0)
        rc = pthread_cond_timedwait(&patience->changed, &patience->lock, &until);
    pthread_mutex_unlock(&patience->lock);
    if (!is_over(patience))
        say(patience);
    return NULL;
}

void gw_patience_init(struct gw_patience *patience, struct gw_client *client, uint64_t job,
                      bool raw)
{
    pthread_condattr_t attr;
    *patience = (struct gw_patience){.client = client, .job = job, .raw = raw};
    pthread_mutex_init(&patience->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&patience->changed, &attr);
    pthread_condattr_destroy(&attr);
    patience->started = pthread_create(&patience->thread, NULL, run, patience) == 0;
}

void gw_patience_deinit(struct gw_patience *patience)
{
    pthread_mutex_lock(&patience->lock);
    patience->over = true;
    pthread_cond_signal(&patience->changed);
    pthread_mutex_unlock(&patience->lock);
    if (patience->started)
        pthread_join(patience->thread, NULL);
    pthread_cond_destroy(&patience->changed);
    pthread_mutex_destroy(&patience->lock);
}
