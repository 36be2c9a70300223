/* How far tasks say that they are. */
#ifndef GW_WORKER_CORE_LINK_NEWS_H
#define GW_WORKER_CORE_LINK_NEWS_H

#include "worker/core/model/state.h"

/* gw_news_tell passes a task's `progress` or `metric` on, or keeps it while the scheduler is slow;
 * gw_news_end: the end of that run is told next. gw_news_on_queued takes QUEUED. */
void gw_news_tell(struct gw_node_core *core, const struct gw_run *run,
                  const struct gw_message *message);
/* gw_news_printed passes on what the task has printed; while the scheduler is slow only how much.
 */
void gw_news_printed(struct gw_node_core *core, struct gw_run *run,
                     const struct gw_msg_printed *printed);
void gw_news_end(struct gw_node_core *core, const struct gw_run *run);
void gw_news_on_queued(struct gw_node_core *core, uint64_t bytes);

#endif
