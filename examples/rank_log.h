/* The output of the gang of an example. */
#ifndef GW_EXAMPLES_RANK_LOG_H
#define GW_EXAMPLES_RANK_LOG_H

#include <gangway/gangway.h>
#include <stdbool.h>

/* rank_log_print copies the standard output of rank 0 to that of this program until the task has
 * ended. It begins with the first attempt of the task, or with the latest one if `from_latest` is
 * true, and goes on with every later attempt: after a restart, the loss of a host, a new size. It
 * blocks. An error ends it; gw_future_get then returns the reason. */
void rank_log_print(struct gw_client *client, const struct gw_future *future, bool from_latest);

#endif
