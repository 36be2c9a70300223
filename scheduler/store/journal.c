/* Durable facts, length-prefixed, one after the other. One commit covers all facts of a loop turn.
 */
#include "scheduler/store/journal.h"

#include <assert.h>
#include <stdlib.h>

struct gw_journal {
    uv_timer_t commit;
    struct gw_journal_callbacks callbacks;
    struct gw_buffer facts;
    uint64_t last; /* number of the last fact appended */
};

int gw_journal_open(uv_loop_t *loop, const struct gw_journal_callbacks *callbacks,
                    struct gw_journal **journal)
{
    struct gw_journal *opened = calloc(1, sizeof *opened);
    if (!opened)
        return GW_ENOMEM;
    opened->callbacks = *callbacks;
    opened->commit.data = opened;
    int rc = uv_timer_init(loop, &opened->commit);
    assert(rc == 0);
    *journal = opened;
    return 0;
}

static void journal_on_commit(uv_timer_t *timer)
{
    struct gw_journal *journal = timer->data;
    journal->callbacks.on_committed(journal->last, journal->callbacks.arg);
}

int gw_journal_append(struct gw_journal *journal, uint64_t number, struct gw_bin fact)
{
    assert(number > journal->last);
    int rc = gw_buffer_reserve(&journal->facts, sizeof fact.size + fact.size);
    if (rc < 0)
        return rc;
    (void)gw_buffer_append(&journal->facts, &fact.size, sizeof fact.size);
    (void)gw_buffer_append(&journal->facts, fact.data, fact.size);
    journal->last = number;
    if (!uv_is_active((uv_handle_t *)&journal->commit))
        (void)uv_timer_start(&journal->commit, journal_on_commit, 0, 0);
    return 0;
}

size_t gw_journal_bytes(const struct gw_journal *journal)
{
    return journal->facts.size;
}

static void journal_on_close(uv_handle_t *handle)
{
    struct gw_journal *journal = handle->data;
    gw_buffer_deinit(&journal->facts);
    free(journal);
}

void gw_journal_close(struct gw_journal *journal)
{
    uv_close((uv_handle_t *)&journal->commit, journal_on_close);
}
