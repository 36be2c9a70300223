/* Which jobs a command means: numbers and ranges "1,3,5-8", "last", "all". */
#ifndef GW_CLI_SELECTOR_H
#define GW_CLI_SELECTOR_H

#include <gangway/gangway.h>

struct gw_selected {
    uint64_t job;
    bool ended; /* when it was looked up */
};

struct gw_selector {
    struct gw_selected *items; /* ascending */
    size_t count;
};

/* gw_selector_init resolves a text; `unfinished`: "all" means those that have not ended. Ranges
 * take what is there of them; a single number that is not there is kept, for the scheduler to say
 * so. Where "all" means none, it says that on stderr. 0; GW_EINVAL (not a selector), GW_ENOENT
 * ("last" without a job), or the query's error. */
int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     bool unfinished, struct gw_error *error);
void gw_selector_deinit(struct gw_selector *selector);

/* gw_selector_check tells whether the text can be one, before anybody is asked. 0 or GW_EINVAL. */
int gw_selector_check(const char *text, struct gw_error *error);

#endif
