/* Names of outcomes. */
#include "scheduler/core/model/outcome.h"

#include "graph/wire/enums.h"
#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/logged.h"

const char *gw_sched_outcome_name(uint32_t outcome)
{
    switch (outcome) {
#define NAME(name, number, text)                                                                   \
    case number:                                                                                   \
        return text;
        GW_OUTCOMES(NAME)
#undef NAME
    default:
        return "?";
    }
}
