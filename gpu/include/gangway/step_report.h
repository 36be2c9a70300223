/* Where the time of a training step goes: waiting for data, forward, backward, communication that
 * backward did not hide, and the optimizer. The caller says which phase begins; the time between
 * two calls belongs to the phase of the first one.
 *
 *     each step:   gw_step_report_phase(&report, GW_STEP_DATA);           next batch
 *                  gw_step_report_phase(&report, GW_STEP_FORWARD);        forward
 *                  gw_step_report_phase(&report, GW_STEP_BACKWARD);       backward, gw_ddp_ready
 *                  gw_step_report_phase(&report, GW_STEP_COMMUNICATION);  gw_ddp_finish
 *                  gw_step_report_phase(&report, GW_STEP_OPTIMIZER);      gw_optimizer_step
 *                  gw_step_report_end(&report);
 *
 * The times are those of the calling thread. If work is enqueued on a stream, wait for the stream
 * before each call in the steps that you measure: otherwise a phase shows how long it took to
 * enqueue its work, and the last phase waits for all of it.
 *
 * A report is used by one thread at a time. Times are in nanoseconds. */
#ifndef GANGWAY_STEP_REPORT_H
#define GANGWAY_STEP_REPORT_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_step_phase {
    GW_STEP_DATA = 0,
    GW_STEP_FORWARD = 1,
    GW_STEP_BACKWARD = 2,
    GW_STEP_COMMUNICATION = 3,
    GW_STEP_OPTIMIZER = 4,
};

enum { GW_STEP_PHASES = 5, GW_STEP_REPORT_TEXT_MAX = 512 };

/* A report, which starts as zeros: struct gw_step_report report = {0}. It needs no cleanup. This
 * struct never gets another field. */
struct gw_step_report {
    int64_t steps;               /* that have ended */
    uint64_t ns[GW_STEP_PHASES]; /* sums over all steps */
    uint64_t began_ns;           /* of the phase that runs; 0: none runs */
    enum gw_step_phase phase;
};

/* The reports of all ranks. This struct never gets another field. */
struct gw_step_summary {
    int64_t steps;                     /* of the rank with the fewest */
    double mean_ns[GW_STEP_PHASES];    /* a step, mean over ranks */
    double longest_ns[GW_STEP_PHASES]; /* a step, of the rank on which the phase takes longest */
    int longest_rank[GW_STEP_PHASES];
};

/* gw_step_report_phase ends the phase that runs and begins another one. */
GW_API void gw_step_report_phase(struct gw_step_report *report, enum gw_step_phase phase);

/* gw_step_report_end ends the phase that runs, and the step. */
GW_API void gw_step_report_end(struct gw_step_report *report);

/* gw_step_report_reduce makes the summary of all ranks' reports. It is collective. Returns
 * GW_EINVAL on all ranks if a rank has no step, GW_ENOMEM, and the errors of the communicator. A
 * rank that makes others wait shows as longest in data, forward or backward, and shortest in
 * communication. */
GW_API int gw_step_report_reduce(const struct gw_step_report *report, struct gw_comm *comm,
                                 struct gw_step_summary *summary, struct gw_error *error);

/* gw_step_report_format writes a summary as one line for people, for example "step 12.1 ms: data
 * 0.2 ms (2%), forward ...". */
GW_API void gw_step_report_format(const struct gw_step_summary *summary,
                                  char text[GW_STEP_REPORT_TEXT_MAX]);

#ifdef __cplusplus
}
#endif

#endif
