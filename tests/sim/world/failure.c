/* Reports of failed functions: a separate `ended` message, or a row of `failures`. Half of the
 * failures that may be rows are. */
#include "tests/sim/world/failure.h"

#include "graph/wire/enums.h"

struct gw_message sim_failure(const struct process *process, const struct row *row)
{
    struct gw_message message = {.type = GW_MESSAGE_failures};
    if (row->rank == GW_RANK_NONE && !process->actor && !row->work->makes_actor &&
        row->attempt % 2) {
        message.failures = (struct gw_msg_failures){.code = GW_EINVAL,
                                                    .text = "planned to fail",
                                                    .stderr_tail = "",
                                                    .attempt = {&row->attempt, 1},
                                                    .run_ns = {&row->work->run_ns, 1}};
        return message;
    }
    message.type = GW_MESSAGE_ended;
    message.ended = (struct gw_msg_ended){.attempt = row->attempt,
                                          .rank = row->rank,
                                          .outcome = GW_OUTCOME_FAILED,
                                          .code = GW_EINVAL,
                                          .executing = 1,
                                          .text = "planned to fail",
                                          .stderr_tail = "",
                                          .run_ns = row->work->run_ns};
    return message;
}
