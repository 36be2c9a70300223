/* Reads the metrics that commands print (gw_task_options.metrics, `--metric`). */
#ifndef GW_NET_METRIC_READER_H
#define GW_NET_METRIC_READER_H

#include <stdint.h>

struct gw_host;

/* gw_metric_readers_begin is called when a process is about to start that writes its standard
 * output to the file `path`. metrics: "loss,accuracy"; NULL: nothing is read. While the process
 * runs, its output is read every 100 ms. */
void gw_metric_readers_begin(struct gw_host *host, uint64_t process, const char *path,
                             const char *metrics);

/* gw_metric_readers_end reads the rest. It must be called when no descendant of the process is
 * left, before the core learns it. It does nothing for other processes. */
void gw_metric_readers_end(struct gw_host *host, uint64_t process);

/* gw_metric_readers_deinit frees everything. The driver closes the timer. */
void gw_metric_readers_deinit(struct gw_host *host);

#endif
