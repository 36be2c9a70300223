/* Sums of times, and their comparison over ranks. */
#include <gangway/step_report.h>

#include "graph/base/clock.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const phases[GW_STEP_PHASES] = {"data", "forward", "backward",
                                                   "exposed communication", "optimizer"};

/* Ends the phase that runs, at time `now`. */
static void phase_end(struct gw_step_report *report, uint64_t now)
{
    if (report->began_ns != 0)
        report->ns[report->phase] += now - report->began_ns;
}

void gw_step_report_phase(struct gw_step_report *report, enum gw_step_phase phase)
{
    const uint64_t now = gw_clock_now_ns();
    phase_end(report, now);
    report->began_ns = now;
    report->phase = phase;
}

void gw_step_report_end(struct gw_step_report *report)
{
    phase_end(report, gw_clock_now_ns());
    report->began_ns = 0;
    report->steps++;
}

static void summarise(const struct gw_step_report *reports, int ranks,
                      struct gw_step_summary *summary)
{
    *summary = (struct gw_step_summary){.steps = INT64_MAX};
    for (int rank = 0; rank < ranks; rank++) {
        const struct gw_step_report *report = &reports[rank];
        if (report->steps < summary->steps)
            summary->steps = report->steps;
        for (int i = 0; i < GW_STEP_PHASES; i++) {
            const double ns = (double)report->ns[i] / (double)report->steps;
            summary->mean_ns[i] += ns / ranks;
            if (ns > summary->longest_ns[i]) {
                summary->longest_ns[i] = ns;
                summary->longest_rank[i] = rank;
            }
        }
    }
}

int gw_step_report_reduce(const struct gw_step_report *report, struct gw_comm *comm,
                          struct gw_step_summary *summary, struct gw_error *error)
{
    const int ranks = gw_comm_size(comm);
    struct gw_step_report *reports = calloc((size_t)ranks, sizeof *reports);
    if (!reports)
        return gw_error_set(error, GW_ENOMEM, "step report: out of memory");
    int rc = gw_comm_all_gather(comm,
                                GW_COMM_ARGS(.send = report, .recv = reports,
                                             .count = sizeof *reports, .dtype = GW_DTYPE_U8),
                                error);
    for (int rank = 0; rank < ranks && rc == 0; rank++)
        if (reports[rank].steps < 1)
            rc = gw_error_set(error, GW_EINVAL, "step report: rank %d has no step", rank);
    if (rc == 0)
        summarise(reports, ranks, summary);
    free(reports);
    return rc;
}

void gw_step_report_format(const struct gw_step_summary *summary,
                           char text[GW_STEP_REPORT_TEXT_MAX])
{
    double all = 0;
    for (int i = 0; i < GW_STEP_PHASES; i++)
        all += summary->mean_ns[i];
    int length = snprintf(text, GW_STEP_REPORT_TEXT_MAX, "step %.1f ms", all / 1e6);
    for (int i = 0; i < GW_STEP_PHASES; i++)
        length +=
            snprintf(text + length, (size_t)(GW_STEP_REPORT_TEXT_MAX - length),
                     "%s %s %.1f ms (%.0f%%)", i ? "," : ":", phases[i], summary->mean_ns[i] / 1e6,
                     all > 0 ? 100 * summary->mean_ns[i] / all : 0);
}
