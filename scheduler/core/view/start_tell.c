/* Says when waiting work is expected to start. */
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/expected_start.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/view/explain.h"

#include <string.h>

static void say(const struct gw_sched *sched, const struct gw_expected_start *start,
                struct gw_text *text)
{
    char in[GW_TEXT_DURATION_ROOM] = "";
    if (start->kind != GW_EXPECTED_UNKNOWN)
        (void)gw_text_duration(start->at_ns - sched->now_ns, in);
    switch (start->kind) {
    case GW_EXPECTED_ABOUT:
        gw_text_say(text, "; it is expected to start in about %s", in);
        break;
    case GW_EXPECTED_EARLIEST:
        gw_text_say(text, "; it starts in %s at the earliest", in);
        break;
    case GW_EXPECTED_LATER:
        gw_text_say(text,
                    "; it does not start within %s: so much work comes first that no more "
                    "was computed",
                    in);
        break;
    default:
        gw_text_say(text, "; no estimate of when it starts");
    }
    if (start->job)
        gw_text_say(text, ": job %llu has no time limit (--time-limit)",
                    (unsigned long long)start->job);
}

/* The reservation of the first waiting gang already names the time and the job that decides. */
static bool is_told(const struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    const struct gw_reservation *reservation = &sched->reservations[GW_RESERVATION_OF_GANG];
    return reservation->job == job->id && reservation->index == row &&
           gw_sched_reservation_start(sched, GW_RESERVATION_OF_GANG, NULL) != UINT64_MAX;
}

void gw_sched_start_tell(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                         const char *code, struct gw_text *text, struct gw_value *parts)
{
    static const char *const names[] = {"unknown", "about", "earliest", "later"};
    if (strcmp(code, "resources") != 0 && strcmp(code, "quota") != 0 &&
        strcmp(code, "earlier_tasks") != 0)
        return;
    const struct gw_expected_start start = gw_sched_expected_start(sched, job, row);
    if (!is_told(sched, job, row))
        say(sched, &start, text);
    gw_dict_put(parts, "expected_start", gw_str(names[start.kind]));
    if (start.kind != GW_EXPECTED_UNKNOWN)
        gw_dict_put_u64(parts, "expected_start_ns", sched->wall_ns + start.at_ns - sched->now_ns);
}
