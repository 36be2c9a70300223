/* Prints once why a job waits. The thread does not hold its lock during a query, so
 * gw_patience_deinit waits at most for one answer of the scheduler. */
#include "client/cli/launch/patience.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 2000 };

static struct gw_value *ask(struct gw_patience *patience, const char *what)
{
    struct gw_value *answer = NULL, *filter = gw_selector_query(&(struct gw_selected_task){
                                        .job = patience->job, .whole = true});
    if (filter)
        (void)gw_client_query(patience->client, what, filter, &answer, NULL);
    gw_value_unref(filter);
    return answer;
}

/* Whether no task of the job runs or has ended yet. */
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
    if (answer && gw_value_get_str(answer, &text, NULL) == 0 &&
        !gw_background_thread_is_over(&patience->later)) {
        char line[GW_ERROR_TEXT_MAX + 32];
        snprintf(line, sizeof line, "gangway: the job waits: %s", text);
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
    if (!gw_background_thread_sleep(&patience->later, PATIENCE_MS))
        say(patience);
    return NULL;
}

void gw_patience_init(struct gw_patience *patience, struct gw_client *client, uint64_t job,
                      bool raw)
{
    *patience = (struct gw_patience){.client = client, .job = job, .raw = raw};
    gw_background_thread_init(&patience->later, run, patience);
}

void gw_patience_deinit(struct gw_patience *patience)
{
    gw_background_thread_deinit(&patience->later);
}
