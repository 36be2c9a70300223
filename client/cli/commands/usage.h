/* Questions to the accounting of the cluster: `gangway usage`, and `gangway jobs --ended`. */
#ifndef GW_CLI_USAGE_H
#define GW_CLI_USAGE_H

#include <gangway/gangway.h>
#include <stdbool.h>

/* Conditions for the jobs; 0 or NULL: none. */
struct gw_usage_scope {
    uint64_t since_ns, until_ns; /* since 1970 */
    const char *user, *account, *queue, *state;
};

/* gw_usage_print_jobs prints the jobs that ended in a time, the last end first: at most `limit`, as
 * a table, JSON or CSV. Returns 0 or the error of the query. */
int gw_usage_print_jobs(struct gw_client *client, const struct gw_usage_scope *scope,
                        uint32_t limit, bool json, bool csv, struct gw_error *error);

#endif
