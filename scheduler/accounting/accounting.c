/* The thread of the accounting. The mutex protects what the loop and the thread share. Only the
 * thread uses the file. */
#include "scheduler/accounting/accounting.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/codec.h"
#include "scheduler/accounting/usage_query.h"

#include <stdlib.h>
#include <string.h>

#define AGAIN_NS (10 * GW_NS_PER_S)  /* after a failure */
#define TRIM_NS (3600 * GW_NS_PER_S) /* between removals of old rows */
enum { BATCH_MAX = 4096 /* rows of a transaction */ };

struct rows {
    struct gw_accounting_row **items; /* owned, as the rows are */
    size_t count, capacity;
};

struct asked {
    uint64_t peer, request;
    struct gw_bin arguments; /* owned */
    struct rows running;
};

struct answered {
    uint64_t peer, request;
    struct gw_buffer body;
    struct gw_error error; /* code 0: none */
};

struct gw_accounting {
    struct gw_accounting_options options; /* with owned texts */
    struct rows running;                  /* only for the loop: those of the next query */
    uv_async_t wake;
    uv_thread_t thread;
    /* Only the thread uses these. */
    struct gw_accounting_file file;
    uint64_t again_ns, trim_ns;
    bool failing; /* the failure was logged */

    uv_mutex_t mutex; /* protects the fields below */
    uv_cond_t changed;
    struct rows rows;
    GW_ARRAY(struct asked) queries;
    GW_ARRAY(struct answered) answers;
    uint64_t lost; /* rows that were dropped since the file could be written */
    bool closing;
};

/* -- Rows ----------------------------------------------------------------------------------------
 */

static const char *copy_text(char **room, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*room, text, bytes);
    *room += bytes;
    return copy;
}

static struct gw_accounting_row *row_copy(const struct gw_accounting_row *row)
{
    const size_t texts = strlen(row->user) + strlen(row->account) + strlen(row->queue) +
                         strlen(row->name) + strlen(row->state) + 5;
    struct gw_accounting_row *copy = malloc(sizeof *copy + texts);
    GW_MUST_PTR(copy);
    char *room = (char *)(copy + 1);
    *copy = *row;
    copy->user = copy_text(&room, row->user);
    copy->account = copy_text(&room, row->account);
    copy->queue = copy_text(&room, row->queue);
    copy->name = copy_text(&room, row->name);
    copy->state = copy_text(&room, row->state);
    return copy;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free(rows->items[i]);
    gw_array_deinit(rows);
}

static void free_asked(struct asked *asked)
{
    free((void *)(uintptr_t)asked->arguments.data);
    free_rows(&asked->running);
}

/* -- The thread ----------------------------------------------------------------------------------
 */

/* Logs the first failure, and when it is over. The caller holds the mutex. */
static void note_outcome(struct gw_accounting *accounting, int rc, const struct gw_error *error)
{
    if (rc < 0) {
        accounting->again_ns = gw_clock_now_ns() + AGAIN_NS;
        if (!accounting->failing)
            gw_log_error("the accounting cannot be written: %s. The cluster goes on, and up to %d "
                         "ended jobs wait to be stored",
                         error->text, GW_ACCOUNTING_WAITING_MAX);
    } else if (accounting->failing) {
        gw_log_warn("the accounting is written again; %llu ended job%s were lost",
                    (unsigned long long)accounting->lost, accounting->lost == 1 ? "" : "s");
        accounting->lost = 0;
    }
    accounting->failing = rc < 0;
}

static int open_file(struct gw_accounting *accounting, struct gw_error *error)
{
    if (accounting->file.sqlite && gw_accounting_file_moved(&accounting->file)) {
        gw_log_warn("the accounting file %s was removed or replaced: rows go to the file that is "
                    "there now",
                    accounting->options.path);
        gw_accounting_file_close(&accounting->file);
    }
    return accounting->file.sqlite
               ? 0
               : gw_accounting_file_open(accounting->options.path, &accounting->file, error);
}

/* Stores the first rows. The caller holds the mutex, which is released meanwhile: the loop only
 * appends. */
static void store(struct gw_accounting *accounting)
{
    const struct gw_accounting_row *batch[BATCH_MAX];
    struct gw_error error = {0};
    size_t count = accounting->rows.count < BATCH_MAX ? accounting->rows.count : BATCH_MAX;
    for (size_t i = 0; i < count; i++)
        batch[i] = accounting->rows.items[i];
    uv_mutex_unlock(&accounting->mutex);
    int rc = open_file(accounting, &error);
    if (rc == 0)
        rc = gw_accounting_file_store(&accounting->file, accounting->options.cluster, batch, count,
                                      &error);
    if (rc == GW_ECORRUPT) /* an admin may put another file in its place */
        gw_accounting_file_close(&accounting->file);
    uv_mutex_lock(&accounting->mutex);
    note_outcome(accounting, rc, &error);
    if (rc < 0)
        return;
    for (size_t i = 0; i < count; i++)
        free(accounting->rows.items[i]);
    accounting->rows.count -= count;
    memmove(accounting->rows.items, accounting->rows.items + count,
            accounting->rows.count * sizeof *accounting->rows.items);
}

/* Removes old rows in the file, which is open. The caller does not hold the mutex. */
static int remove_old(struct gw_accounting *accounting, struct gw_error *error)
{
    const uint64_t wall_ns = gw_clock_wall_ns(), retention_ns = accounting->options.retention_ns;
    return retention_ns && retention_ns < wall_ns
               ? gw_accounting_file_trim(&accounting->file, wall_ns - retention_ns, error)
               : 0;
}

static int answer_from_file(struct gw_accounting *accounting, const struct asked *asked,
                            uint64_t lost, struct gw_buffer *body, struct gw_error *error)
{
    struct gw_value *arguments = NULL, *answer = NULL;
    struct gw_error old;
    int rc = open_file(accounting, error);
    if (rc == 0)
        (void)remove_old(accounting, &old); /* `trim` reports a failure */
    if (rc == 0)
        rc = gw_codec_decode(asked->arguments.data, asked->arguments.size, NULL, &arguments, error);
    if (rc == 0)
        rc = gw_accounting_file_show(&accounting->file, accounting->options.cluster,
                                     (const struct gw_accounting_row *const *)asked->running.items,
                                     asked->running.count, error);
    if (rc == 0)
        rc = gw_usage_query_answer(&accounting->file, arguments, &answer, error);
    if (rc == 0 && lost)
        rc = gw_dict_set(answer, "lost", gw_i64((int64_t)lost));
    if (rc == 0)
        rc = gw_codec_encode(answer, NULL, body);
    if (rc == GW_ECORRUPT) /* as in `store` */
        gw_accounting_file_close(&accounting->file);
    gw_value_unref(answer);
    gw_value_unref(arguments);
    return rc;
}

/* Answers the first query. The caller holds the mutex, which is released meanwhile. */
static void answer(struct gw_accounting *accounting)
{
    struct asked asked = accounting->queries.items[0];
    const uint64_t lost = accounting->lost + accounting->rows.count; /* these could not be stored */
    accounting->queries.count--;
    memmove(accounting->queries.items, accounting->queries.items + 1,
            accounting->queries.count * sizeof asked);
    uv_mutex_unlock(&accounting->mutex);
    struct answered answered = {.peer = asked.peer, .request = asked.request};
    int rc = answer_from_file(accounting, &asked, lost, &answered.body, &answered.error);
    if (rc < 0 && !answered.error.code)
        (void)gw_error_set(&answered.error, rc, "%s", gw_error_text(rc));
    free_asked(&asked);
    uv_mutex_lock(&accounting->mutex);
    GW_MUST(gw_array_push(&accounting->answers, answered));
    (void)uv_async_send(&accounting->wake);
}

/* Removes old rows. The caller holds the mutex, which is released meanwhile. */
static void trim(struct gw_accounting *accounting, uint64_t now_ns)
{
    struct gw_error error;
    accounting->trim_ns = now_ns + TRIM_NS;
    if (!accounting->options.retention_ns)
        return;
    uv_mutex_unlock(&accounting->mutex);
    if (open_file(accounting, &error) < 0 || remove_old(accounting, &error) < 0)
        gw_log_warn("old rows of the accounting are not removed: %s", error.text);
    uv_mutex_lock(&accounting->mutex);
}

/* Queries come after the rows that were added before them, if those can be stored. */
static void run_thread(void *arg)
{
    struct gw_accounting *accounting = arg;
    uint64_t collects_ns = 0;
    uv_mutex_lock(&accounting->mutex);
    for (;;) {
        const uint64_t now_ns = gw_clock_now_ns();
        const bool asked = accounting->queries.count > 0;
        const bool waits = accounting->rows.count > 0 && now_ns >= accounting->again_ns;
        if (waits && (asked || accounting->closing || now_ns >= collects_ns ||
                      accounting->rows.count >= accounting->options.together_max)) {
            collects_ns = now_ns + accounting->options.together_ns;
            store(accounting);
            if (accounting->closing && accounting->failing)
                break;
        } else if (asked && !accounting->closing) {
            answer(accounting);
        } else if (accounting->closing) {
            break;
        } else if (now_ns >= accounting->trim_ns) {
            trim(accounting, now_ns);
        } else if (accounting->rows.count == 0) {
            (void)uv_cond_timedwait(&accounting->changed, &accounting->mutex, TRIM_NS);
        } else {
            const uint64_t due_ns =
                collects_ns > accounting->again_ns ? collects_ns : accounting->again_ns;
            (void)uv_cond_timedwait(&accounting->changed, &accounting->mutex, due_ns - now_ns);
        }
    }
    uv_mutex_unlock(&accounting->mutex);
    gw_accounting_file_close(&accounting->file);
}

/* -- The loop ------------------------------------------------------------------------------------
 */

static void accounting_on_wake(uv_async_t *async)
{
    struct gw_accounting *accounting = async->data;
    for (;;) {
        struct answered answered;
        uv_mutex_lock(&accounting->mutex);
        const bool any = accounting->answers.count > 0;
        if (any)
            answered = accounting->answers.items[--accounting->answers.count];
        uv_mutex_unlock(&accounting->mutex);
        if (!any)
            return;
        const struct gw_accounting_answer told = {
            .peer = answered.peer,
            .request = answered.request,
            .code = answered.error.code,
            .text = answered.error.code ? answered.error.text : "",
            .body = {answered.body.data, (uint32_t)answered.body.size},
        };
        accounting->options.on_answer(&told, accounting->options.arg);
        gw_buffer_deinit(&answered.body);
    }
}

static void accounting_on_close(uv_handle_t *handle)
{
    struct gw_accounting *accounting = handle->data;
    for (size_t i = 0; i < accounting->queries.count; i++)
        free_asked(&accounting->queries.items[i]);
    for (size_t i = 0; i < accounting->answers.count; i++)
        gw_buffer_deinit(&accounting->answers.items[i].body);
    free_rows(&accounting->rows);
    free_rows(&accounting->running);
    gw_array_deinit(&accounting->queries);
    gw_array_deinit(&accounting->answers);
    uv_mutex_destroy(&accounting->mutex);
    uv_cond_destroy(&accounting->changed);
    free((void *)(uintptr_t)accounting->options.path);
    free((void *)(uintptr_t)accounting->options.cluster);
    free(accounting);
}

struct gw_accounting *gw_accounting_open(uv_loop_t *loop,
                                         const struct gw_accounting_options *options)
{
    struct gw_accounting *accounting = calloc(1, sizeof *accounting);
    GW_MUST_PTR(accounting);
    accounting->options = *options;
    if (!options->together_max || options->together_max > BATCH_MAX)
        accounting->options.together_max = BATCH_MAX;
    if (!options->together_ns)
        accounting->options.together_ns = GW_NS_PER_S;
    GW_MUST_PTR(accounting->options.path = strdup(options->path));
    GW_MUST_PTR(accounting->options.cluster = strdup(options->cluster));
    GW_MUST(uv_async_init(loop, &accounting->wake, accounting_on_wake));
    accounting->wake.data = accounting;
    uv_unref((uv_handle_t *)&accounting->wake);
    GW_MUST(uv_mutex_init(&accounting->mutex));
    GW_MUST(uv_cond_init(&accounting->changed));
    GW_MUST(uv_thread_create(&accounting->thread, run_thread, accounting));
    return accounting;
}

void gw_accounting_close(struct gw_accounting *accounting)
{
    if (!accounting)
        return;
    uv_mutex_lock(&accounting->mutex);
    accounting->closing = true;
    accounting->again_ns = 0; /* the last chance */
    uv_cond_signal(&accounting->changed);
    uv_mutex_unlock(&accounting->mutex);
    GW_MUST(uv_thread_join(&accounting->thread));
    uv_close((uv_handle_t *)&accounting->wake, accounting_on_close);
}

void gw_accounting_retain(struct gw_accounting *accounting, uint64_t retention_ns)
{
    if (!accounting)
        return;
    uv_mutex_lock(&accounting->mutex);
    accounting->options.retention_ns = retention_ns;
    accounting->trim_ns = 0;
    uv_cond_signal(&accounting->changed);
    uv_mutex_unlock(&accounting->mutex);
}

void gw_accounting_add(struct gw_accounting *accounting, const struct gw_accounting_row *row)
{
    if (row->runs) {
        GW_MUST(gw_array_push(&accounting->running, row_copy(row)));
        return;
    }
    uv_mutex_lock(&accounting->mutex);
    if (accounting->rows.count < GW_ACCOUNTING_WAITING_MAX) {
        GW_MUST(gw_array_push(&accounting->rows, row_copy(row)));
        if (accounting->rows.count == 1 ||
            accounting->rows.count == accounting->options.together_max)
            uv_cond_signal(&accounting->changed);
    } else {
        accounting->lost++;
    }
    uv_mutex_unlock(&accounting->mutex);
}

void gw_accounting_ask(struct gw_accounting *accounting, uint64_t peer, uint64_t request,
                       struct gw_bin arguments)
{
    struct asked asked = {
        peer, request, {malloc(arguments.size + 1), arguments.size}, accounting->running};
    accounting->running = (struct rows){0};
    GW_MUST_PTR(asked.arguments.data);
    memcpy((void *)(uintptr_t)asked.arguments.data, arguments.data, arguments.size);
    uv_mutex_lock(&accounting->mutex);
    if (accounting->queries.count < GW_ACCOUNTING_QUERIES_MAX) {
        GW_MUST(gw_array_push(&accounting->queries, asked));
        uv_cond_signal(&accounting->changed);
    } else {
        struct answered refused = {.peer = peer, .request = request};
        (void)gw_error_set(&refused.error, GW_ELIMIT,
                           "too many queries about ended jobs wait: ask again later");
        GW_MUST(gw_array_push(&accounting->answers, refused));
        (void)uv_async_send(&accounting->wake);
        free_asked(&asked);
    }
    uv_mutex_unlock(&accounting->mutex);
}
