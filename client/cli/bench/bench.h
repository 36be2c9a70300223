/* `gangway bench`: one file for each group of figures. The table in ../commands/bench.c lists them.
 *
 * A group measures on private clusters, and fetches and checks every result. It writes its figures
 * in the order of its rows in that table; a figure that cannot be measured on this machine is NAN.
 * A group returns 0, or a negative GW_E... with bench->error set. */
#ifndef GW_CLI_BENCH_H
#define GW_CLI_BENCH_H

#include <gangway/gangway.h>
#include <sys/types.h>

enum { GW_BENCH_FIGURES_MAX = 4, GW_BENCH_ROUNDS = 5 };

struct gw_bench {
    bool quick; /* do a hundredth of the work, for tests */
    struct gw_error error;
};

int gw_bench_bag(struct gw_bench *bench, double *figures);
int gw_bench_graphs(struct gw_bench *bench, double *figures);
int gw_bench_submit(struct gw_bench *bench, double *figures);
int gw_bench_latency(struct gw_bench *bench, double *figures);
int gw_bench_latency_ratio(struct gw_bench *bench, double *figures);
int gw_bench_latency_trickle(struct gw_bench *bench, double *figures);
int gw_bench_chain(struct gw_bench *bench, double *figures);
int gw_bench_chain_kinds(struct gw_bench *bench, double *figures);
int gw_bench_metg(struct gw_bench *bench, double *figures);
int gw_bench_handoff(struct gw_bench *bench, double *figures);
int gw_bench_peers(struct gw_bench *bench, double *figures);
int gw_bench_memory(struct gw_bench *bench, double *figures);
int gw_bench_alone(struct gw_bench *bench, double *figures);
int gw_bench_gang(struct gw_bench *bench, double *figures);
int gw_bench_gang_all_reduce(struct gw_bench *bench, double *figures);
int gw_bench_commands(struct gw_bench *bench, double *figures);

/* -- bench.c: shared functions */

/* gw_bench_open starts a private cluster with `workers` workers and `slots` slots in all. When it
 * returns, the scheduler has started. gw_client_close ends the cluster. */
int gw_bench_open(struct gw_bench *bench, uint32_t slots, uint32_t workers,
                  struct gw_client **client);

/* gw_bench_handoff_once passes 64 MiB from one task to the next (handoff.c). out[0]: microseconds
 * until the second task runs. out[1]: the time to read the bytes once, divided by the time of a
 * memcpy. */
enum { GW_BENCH_HANDOFF_BYTES = 64 << 20 };
struct gw_bench_ends {
    int clock;                               /* memfd into which the first task writes its time */
    const struct gw_task_options *from, *to; /* options of the two tasks */
};
int gw_bench_handoff_once(struct gw_bench *bench, struct gw_client *client,
                          const struct gw_bench_ends *ends, int64_t seed, double out[2]);

/* gw_bench_count returns the size of a measurement: `full`, or a hundredth of it in a quick run,
 * but at least `least`. */
size_t gw_bench_count(const struct gw_bench *bench, size_t full, size_t least);

double gw_bench_seconds_since(uint64_t begin_ns);
double gw_bench_median(double *items, size_t count); /* sorts them */
int gw_bench_wrong(struct gw_bench *bench, size_t task);
int gw_bench_no_memory(struct gw_bench *bench);

/* gw_bench_get_i64 and gw_bench_get_f64 wait for a future and read its value. They do not release
 * the future. */
int gw_bench_get_i64(struct gw_bench *bench, struct gw_future *future, int64_t *result);
int gw_bench_get_f64(struct gw_bench *bench, struct gw_future *future, double *result);

/* The runners whose process numbers were found in results (tasks.h says which results contain one).
 */
struct gw_bench_runners {
    uint32_t count;
    pid_t pids[16];
};
/* gw_bench_runners_see stores the process number in a result, if it contains one, and returns the
 * result without it. gw_bench_runners_check fails if fewer than two runners were seen (in a quick
 * run: one), or if one of them is this process. */
int64_t gw_bench_runners_see(struct gw_bench_runners *runners, int64_t result);
int gw_bench_runners_check(struct gw_bench *bench, const struct gw_bench_runners *runners);

/* -- process.c: what the kernel knows about the cluster's processes */

/* gw_bench_process_of_scheduler returns the process id of the scheduler, or 0 if there is none. */
pid_t gw_bench_process_of_scheduler(const struct gw_client *client);

/* CPU time and context switches of a process so far, of all its threads together. */
struct gw_bench_usage {
    uint64_t cpu_ns, switches; /* switches: voluntary context switches */
};
int gw_bench_process_usage(struct gw_bench *bench, pid_t pid, struct gw_bench_usage *usage);

/* gw_bench_process_bytes returns the memory that a process uses now. It does not count pages of
 * files, whose number depends on the kernel's read-ahead. */
int gw_bench_process_bytes(struct gw_bench *bench, pid_t pid, uint64_t *bytes);

/* gw_bench_process_trace_open starts to count the system calls of a process by ptrace, on a
 * separate thread. The process is slower meanwhile. GW_EPERM: ptrace is not allowed.
 * gw_bench_process_trace_close ends the tracing; `client` is a client of the traced scheduler. */
struct gw_bench_trace;
int gw_bench_process_trace_open(pid_t pid, struct gw_bench_trace **trace, struct gw_error *error);
uint64_t gw_bench_process_trace_count(const struct gw_bench_trace *trace);
void gw_bench_process_trace_close(struct gw_bench_trace *trace, struct gw_client *client);

#endif
