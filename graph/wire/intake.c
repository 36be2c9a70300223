/* Counts the messages that were received over several connections.
 *
 * The next `again` messages that arrive on the connection were received before, because the other
 * side sends all messages in order, starting with the first one that it was told is missing. */
#include "graph/wire/intake.h"

#include "graph/wire/backlog.h"

uint64_t gw_intake_say(struct gw_intake *intake)
{
    intake->said = intake->taken;
    intake->dialling = true;
    return intake->said;
}

void gw_intake_move(struct gw_intake *intake)
{
    intake->again = intake->taken - intake->said;
    intake->dialling = false;
}

void gw_intake_stay(struct gw_intake *intake)
{
    intake->dialling = false;
}

uint64_t gw_intake_forgettable(const struct gw_intake *intake)
{
    return intake->dialling ? intake->said : intake->taken;
}

bool gw_intake_take(struct gw_intake *intake, const struct gw_message *message)
{
    if (!gw_backlog_counts(message))
        return true;
    if (intake->again) {
        intake->again--;
        return false;
    }
    intake->taken++;
    return true;
}
