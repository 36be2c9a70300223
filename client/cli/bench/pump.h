/* A plain TLS connection over loopback, for comparison with transfers between workers. */
#ifndef GW_CLI_BENCH_PUMP_H
#define GW_CLI_BENCH_PUMP_H

#include <gangway/error.h>
#include <stddef.h>

/* gw_bench_pump sends bytes over TLS 1.3 to a thread of this process. *seconds is the time from the
 * first byte until the reader has confirmed the last byte. Returns 0, GW_ENOMEM or GW_EIO. */
int gw_bench_pump(const void *data, size_t bytes, double *seconds, struct gw_error *error);

#endif
