/* A bare TLS pump over loopback, to hold transfers against. */
#ifndef GW_CLI_BENCH_PUMP_H
#define GW_CLI_BENCH_PUMP_H

#include <gangway/error.h>
#include <stddef.h>

/* gw_bench_pump sends memory to a thread of its own over TLS 1.3, and tells how long that took from
 * the first byte until the reader has said that it has all. 0, GW_ENOMEM or GW_EIO. */
int gw_bench_pump(const void *data, size_t bytes, double *seconds, struct gw_error *error);

#endif
