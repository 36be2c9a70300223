/* The cost of a second of work for its account. */
#include "scheduler/core/model/account.h"

#define MIB_PER_GIB 1024.0

double gw_account_weight_of(const struct gw_accounts *accounts, const struct gw_account_use *use,
                            uint64_t memory_bytes)
{
    return accounts->gpu_weight * (double)use->gpu_thousandths / 1000 +
           accounts->slot_weight * (double)use->slots +
           accounts->memory_gib_weight * (double)(memory_bytes >> 20) / MIB_PER_GIB;
}

double gw_account_weight(const struct gw_accounts *accounts, const struct gw_attempt *attempt)
{
    const struct gw_resource_class *shape = attempt->lane->shape;
    return gw_account_weight_of(
        accounts,
        &(struct gw_account_use){.slots = shape->slots,
                                 .gpu_thousandths = gw_sched_attempt_gpu_thousandths(attempt)},
        shape->memory_bytes);
}
