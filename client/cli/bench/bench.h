/* The inside of `gangway bench`: one file a group of figures. The table in
 * ../commands/bench.c lists them.
 *
 * A group measures on private clusters, fetches and checks every result, and writes its figures in
 * the order of its rows there; a figure that cannot be measured here is NAN. Groups return 0,
 * or a negative GW_E... with bench->error set. */
#ifndef GW_CLI_BENCH_H
#define GW_CLI_BENCH_H

#include <gangway/gangway.h>
#include <sys/types.h>

enum { GW_BENCH_FIGURES_MAX = 4, GW_BENCH_ROUNDS = 5 };

struct gw_bench {
    bool quick; /* a hundredth of the work, for tests */
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

/* -- bench.c: what they share */

/* gw_bench_open starts a private cluster of `workers` workers with `slots` slots in all, whose
 * scheduler has started when it returns. gw_client_close ends it. */
int gw_bench_open(struct gw_bench *bench, uint32_t slots, uint32_t workers,
                  struct gw_client **client);

/* gw_bench_handoff_once passes 64 MiB from a task to the next (handoff.c). out: microseconds until
 * that runs; the time of reading it once over a memcpy's. */
enum { GW_BENCH_HANDOFF_BYTES = 64 << 20 };
struct gw_bench_ends {
    int clock;                               /* a memfd in which the first tells its time */
    const struct gw_task_options *from, *to; /* of the two tasks */
};
int gw_bench_handoff_once(struct gw_bench *bench, struct gw_client *client,
                          const struct gw_bench_ends *ends, int64_t seed, double out[2]);

/* gw_bench_count is the size of a measurement: `full`, or a hundredth of it, at least `least`. */
size_t gw_bench_count(const struct gw_bench *bench, size_t full, size_t least);

double gw_bench_seconds_since(uint64_t begin_ns);
double gw_bench_median(double *items, size_t count); /* sorts them */
int gw_bench_wrong(struct gw_bench *bench, size_t task);
int gw_bench_no_memory(struct gw_bench *bench);

/* gw_bench_get_i64 and gw_bench_get_f64 wait for a future and read its value; the future stays. */
int gw_bench_get_i64(struct gw_bench *bench, struct gw_future *future, int64_t *result);
int gw_bench_get_f64(struct gw_bench *bench, struct gw_future *future, double *result);

/* The runners whose processes were seen in results (tasks.h says which results tell). */
struct gw_bench_runners {
    uint32_t count;
    pid_t pids[16];
};
/* gw_bench_runners_see notes the process that a result names, if it names one, and gives the result
 * without it. gw_bench_runners_check fails unless two at least were seen (where it is quick: one),
 * none of them this one. */
int64_t gw_bench_runners_see(struct gw_bench_runners *runners, int64_t result);
int gw_bench_runners_check(struct gw_bench *bench, const struct gw_bench_runners *runners);

/* -- process.c: what the kernel knows of the cluster's processes */

/* gw_bench_process_of_scheduler is the scheduler's process, 0 where there is none. */
pid_t gw_bench_process_of_scheduler(const struct gw_client *client);

/* What a process has used so far, all its threads together. */
struct gw_bench_usage {
    uint64_t cpu_ns, switches; /* switches: of context, voluntary ones */
};
int gw_bench_process_usage(struct gw_bench *bench, pid_t pid, struct gw_bench_usage *usage);

/* gw_bench_process_bytes gives the memory that a process holds now, without the pages of files,
 * which come and go with the kernel's reading ahead. */
int gw_bench_process_bytes(struct gw_bench *bench, pid_t pid, uint64_t *bytes);

/* gw_bench_process_trace_open counts the system calls of a process, by ptrace, on a thread of its
 * own; what is timed meanwhile is slower. GW_EPERM where that is not allowed.
 * gw_bench_process_trace_close lets it go; client is one of the scheduler that is traced. */
struct gw_bench_trace;
int gw_bench_process_trace_open(pid_t pid, struct gw_bench_trace **trace, struct gw_error *error);
uint64_t gw_bench_process_trace_count(const struct gw_bench_trace *trace);
void gw_bench_process_trace_close(struct gw_bench_trace *trace, struct gw_client *client);

#endif
