/* The accounting of a scheduler: stores ended jobs, and answers queries about them. A thread does
 * this beside the loop. If the file cannot be written, the reason is logged once, the rows wait in
 * memory, and the thread tries again. Nothing else of the scheduler is affected. */
#ifndef GW_SCHEDULER_ACCOUNTING_H
#define GW_SCHEDULER_ACCOUNTING_H

#include "graph/wire/message.h"
#include "scheduler/core/model/accounting_row.h"

#include <gangway/error.h>
#include <uv.h>

enum {
    GW_ACCOUNTING_WAITING_MAX = 65536, /* rows in memory; further rows are lost, and counted */
    GW_ACCOUNTING_QUERIES_MAX = 1000,  /* further queries are refused with GW_ELIMIT */
};

struct gw_accounting;

struct gw_accounting_answer {
    uint64_t peer, request; /* of the query */
    int code;               /* 0 or a GW_E... code with `text` */
    const char *text;
    struct gw_bin body; /* an encoded value, if code is 0 */
};

struct gw_accounting_options {
    const char *path;      /* of the file, which is created if there is none; copied */
    const char *cluster;   /* id of the cluster that numbers the jobs; copied */
    uint64_t retention_ns; /* rows of jobs that ended longer ago are removed; 0: never */
    /* All rows of this time are stored together (0: a second), or earlier if so many wait (0: 4096,
     * which is the maximum). */
    uint64_t together_ns;
    uint32_t together_max;
    /* Called on the loop's thread. The answer is valid during the call. */
    void (*on_answer)(const struct gw_accounting_answer *answer, void *arg);
    void *arg;
};

/* gw_accounting_open starts the thread, which opens the file. Call all functions on the loop's
 * thread. gw_accounting_close stores the rows that wait, if the file can be written, and drops all
 * queries; the loop must run once more to free the accounting. NULL is allowed. */
struct gw_accounting *gw_accounting_open(uv_loop_t *loop,
                                         const struct gw_accounting_options *options);
void gw_accounting_close(struct gw_accounting *accounting);

/* gw_accounting_retain changes retention_ns, and removes old rows soon. NULL is allowed. */
void gw_accounting_retain(struct gw_accounting *accounting, uint64_t retention_ns);

/* gw_accounting_add stores a copy of the row. A later row of the same job replaces it. A row of a
 * job that runs is not stored: the next query counts it. */
void gw_accounting_add(struct gw_accounting *accounting, const struct gw_accounting_row *row);

/* gw_accounting_ask answers a query by on_answer, after all rows that were added before are
 * stored. `arguments` is an encoded dict, which is copied: see usage_query.h. */
void gw_accounting_ask(struct gw_accounting *accounting, uint64_t peer, uint64_t request,
                       struct gw_bin arguments);

#endif
