/* Compaction of the journal: drops facts that have no effect any more. These are facts about
 * forgotten jobs, facts about workers that have left, reports of metrics whose points were dropped
 * (metric.h), and all term and job id facts except the last of each kind.
 *
 * Invariant: applying the remaining facts to a new core gives the same state as applying all facts.
 * A forgotten job stays if a job that stays names it, in its content or because it shares a result:
 * its rows are looked up when that job is accepted. Every fact except `term`, `job_ids`,
 * `user_named` and `account_used` begins with the id of its job or of its worker's incarnation. */

#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/strmap.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/sched.h"

#include <stdio.h>
#include <string.h>

/* One fact of the journal in memory. `at` points to the size of the fact; its number and its
 * fields follow. */
struct row {
    const uint8_t *at;
    size_t bytes; /* size of the fact, including its size field */
    uint16_t type;
    uint64_t job;    /* job id; 0: not about a job */
    uint64_t worker; /* incarnation; 0: not about a worker */
};

enum { HEADER_BYTES = 6, FORGOTTEN = 1, RETAINED = 2 };

/* Reads the fact at offset `at`. Returns false at the end of the buffer or if the bytes are not a
 * valid fact. */
static bool row_at(const struct gw_buffer *facts, size_t at, struct row *row)
{
    uint32_t size;
    if (facts->size - at < HEADER_BYTES)
        return false;
    row->at = facts->data + at;
    memcpy(&size, row->at, sizeof size);
    memcpy(&row->type, row->at + sizeof size, sizeof row->type);
    row->bytes = sizeof size + size;
    row->job = row->worker = 0;
    if (size < sizeof row->type || row->bytes > facts->size - at)
        return false;
    bool about_job = row->type != GW_FACT_term && row->type != GW_FACT_job_ids &&
                     row->type != GW_FACT_user_named && row->type != GW_FACT_account_used;
    if (about_job && row->bytes < HEADER_BYTES + sizeof row->job)
        return false;
    bool about_worker = row->type == GW_FACT_worker_joined || row->type == GW_FACT_worker_left;
    if (about_job)
        memcpy(about_worker ? &row->worker : &row->job, row->at + HEADER_BYTES, sizeof row->job);
    return true;
}

#define EACH_ROW(facts, place, row)                                                                \
    for (size_t place = 0; row_at(facts, place, &(row)); place += (row).bytes)

struct compaction {
    struct gw_map workers;    /* connected worker -> offset of its worker_joined fact */
    struct gw_map jobs;       /* forgotten: FORGOTTEN, or RETAINED because another job needs it */
    struct gw_strmap metrics; /* job, task and name of a metric -> offset of its last report */
    struct gw_strmap usages;  /* account and user -> offset of the last usage */
    struct gw_buffer key;
    bool changed;
};

static bool is_dropped(const struct compaction *compaction, uint64_t job)
{
    uint64_t how;
    return job && gw_map_get(&compaction->jobs, job, &how) && how == FORGOTTEN;
}

/* Returns true if the fact is about a connection of a worker that has ended. */
static bool has_left(const struct compaction *compaction, const struct row *row, size_t at)
{
    uint64_t joined;
    return row->worker && (row->type == GW_FACT_worker_left ||
                           !gw_map_get(&compaction->workers, row->worker, &joined) || joined != at);
}

/* Reads a metric_reported fact. `key` becomes the text that names its metric. Returns true if the
 * point of the fact is provisional (metric.h). */
static bool read_report(const struct row *row, struct gw_buffer *key)
{
    const size_t name_at = HEADER_BYTES + 8 + 4, tail_bytes = 8 * sizeof(uint64_t);
    char number[64];
    uint32_t index, name_bytes;
    uint64_t nth, stride;
    key->size = 0;
    GW_MUST(gw_buffer_append(key, "", 1));
    if (row->bytes < name_at + sizeof name_bytes + tail_bytes)
        return false;
    memcpy(&index, row->at + name_at - sizeof index, sizeof index);
    memcpy(&name_bytes, row->at + name_at, sizeof name_bytes);
    if (row->bytes != name_at + sizeof name_bytes + name_bytes + tail_bytes)
        return false;
    (void)snprintf(number, sizeof number, "%llu %u ", (unsigned long long)row->job, index);
    key->size = 0;
    GW_MUST(gw_buffer_append(key, number, strlen(number)));
    GW_MUST(gw_buffer_append(key, row->at + name_at + sizeof name_bytes, name_bytes));
    GW_MUST(gw_buffer_append(key, "", 1));
    memcpy(&nth, row->at + row->bytes - 16, sizeof nth);
    memcpy(&stride, row->at + row->bytes - 8, sizeof stride);
    return stride && nth % stride != 0;
}

/* Reads an account_used fact. `key` becomes the text that names its account and user, "" if the
 * fact is malformed. */
static void read_usage(const struct row *row, struct gw_buffer *key)
{
    const uint8_t *at = row->at + HEADER_BYTES, *end = row->at + row->bytes;
    key->size = 0;
    for (int i = 0; i < 2 && end - at >= 4; i++) {
        uint32_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        at += sizeof bytes;
        if (bytes > (size_t)(end - at))
            break;
        GW_MUST(gw_buffer_append(key, at, bytes));
        GW_MUST(gw_buffer_append(key, "/", 1));
        at += bytes;
    }
    GW_MUST(gw_buffer_append(key, "", 1));
}

static bool is_older_usage(struct compaction *compaction, const struct row *row, size_t at)
{
    uint64_t last;
    if (row->type != GW_FACT_account_used)
        return false;
    read_usage(row, &compaction->key);
    return gw_strmap_get(&compaction->usages, (const char *)compaction->key.data, &last) &&
           last != at;
}

/* Returns true if the fact is a report whose point was dropped. */
static bool is_thinned(struct compaction *compaction, const struct row *row, size_t at)
{
    uint64_t last;
    return row->type == GW_FACT_metric_reported && read_report(row, &compaction->key) &&
           gw_strmap_get(&compaction->metrics, (const char *)compaction->key.data, &last) &&
           last != at;
}

static void retain_named(uint64_t job, void *arg)
{
    struct compaction *compaction = arg;
    if (!is_dropped(compaction, job))
        return;
    GW_MUST(gw_map_put(&compaction->jobs, job, RETAINED));
    compaction->changed = true;
}

/* Returns the content of a job_accepted fact, which is its last field. */
static struct gw_bin content_of(const struct row *row)
{
    const size_t user_at = HEADER_BYTES + 8 + 4 + 8; /* offset after the fields job, uid, wall_ns */
    uint32_t user_bytes, bytes;
    struct gw_bin none = {"", 0};
    if (row->bytes < user_at + 8)
        return none;
    memcpy(&user_bytes, row->at + user_at, sizeof user_bytes);
    if (row->bytes - user_at - 8 < user_bytes)
        return none;
    const uint8_t *at = row->at + user_at + 4 + user_bytes;
    memcpy(&bytes, at, sizeof bytes);
    at += sizeof bytes;
    return bytes <= (size_t)(row->at + row->bytes - at) ? (struct gw_bin){at, bytes} : none;
}

/* Returns the job whose result a pure_shared fact shares. */
static uint64_t original_of(const struct row *row)
{
    const size_t at = HEADER_BYTES + sizeof(uint64_t) + sizeof(uint32_t);
    uint64_t job = 0;
    if (row->bytes >= at + sizeof job)
        memcpy(&job, row->at + at, sizeof job);
    return job;
}

/* Mark phase: every job that stays in the journal keeps the jobs that it names, transitively. */
static void retain_needed(struct compaction *compaction, const struct gw_buffer *facts)
{
    struct row row;
    do {
        compaction->changed = false;
        EACH_ROW(facts, at, row)
        if (row.type == GW_FACT_job_accepted && !is_dropped(compaction, row.job))
            gw_sched_content_jobs(content_of(&row), retain_named, compaction);
        else if (row.type == GW_FACT_pure_shared && !is_dropped(compaction, row.job))
            retain_named(original_of(&row), compaction);
    } while (compaction->changed);
}

int gw_sched_compact(const struct gw_buffer *facts, struct gw_buffer *out)
{
    struct compaction compaction = {0};
    struct row row;
    size_t end = 0, term = SIZE_MAX, ids = SIZE_MAX;
    EACH_ROW(facts, at, row)
    {
        if (row.type == GW_FACT_term)
            term = at;
        else if (row.type == GW_FACT_job_ids)
            ids = at;
        else if (row.type == GW_FACT_metric_reported) {
            (void)read_report(&row, &compaction.key);
            GW_MUST(gw_strmap_put(&compaction.metrics, (const char *)compaction.key.data, at));
        } else if (row.type == GW_FACT_account_used) {
            read_usage(&row, &compaction.key);
            GW_MUST(gw_strmap_put(&compaction.usages, (const char *)compaction.key.data, at));
        } else if (row.type == GW_FACT_job_forgotten)
            GW_MUST(gw_map_put(&compaction.jobs, row.job, FORGOTTEN));
        else if (row.type == GW_FACT_worker_joined)
            GW_MUST(gw_map_put(&compaction.workers, row.worker, at));
        else if (row.type == GW_FACT_worker_left)
            (void)gw_map_remove(&compaction.workers, row.worker);
        end = at + row.bytes;
    }
    int rc = end == facts->size ? 0 : GW_ECORRUPT;
    if (rc == 0)
        retain_needed(&compaction, facts);
    for (size_t at = 0; rc == 0 && row_at(facts, at, &row); at += row.bytes) {
        bool old = (row.type == GW_FACT_term && at != term) ||
                   (row.type == GW_FACT_job_ids && at != ids) || is_dropped(&compaction, row.job) ||
                   has_left(&compaction, &row, at) || is_thinned(&compaction, &row, at) ||
                   is_older_usage(&compaction, &row, at);
        if (!old)
            GW_MUST(gw_buffer_append(out, row.at, row.bytes));
    }
    gw_map_deinit(&compaction.jobs);
    gw_strmap_deinit(&compaction.metrics);
    gw_strmap_deinit(&compaction.usages);
    gw_buffer_deinit(&compaction.key);
    gw_map_deinit(&compaction.workers);
    return rc;
}
