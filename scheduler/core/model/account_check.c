/* Asserts that the counters of accounts agree with the jobs and the attempts. */
#include "scheduler/core/model/account.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void check_holder(const struct gw_sched *sched, const struct gw_account_holder *holder)
{
    struct gw_account_use use = {0}, leaving[GW_PREEMPTED_STILL + 1] = {0};
    for (const struct gw_job *job = sched->first_job; job; job = job->next) {
        if (!job->payer)
            continue;
        GW_EACH_ACCOUNT_HOLDER(job, of)
        if (of == holder) {
            use.queued_jobs += job->queued;
            use.running_jobs += job->billed > 0;
        }
    }
    for (size_t i = 0; i < sched->attempts.count; i++) {
        const struct gw_attempt *attempt = &sched->attempts.items[i];
        if (attempt->state == GW_ATTEMPT_FREE || !attempt->billed)
            continue;
        GW_EACH_ACCOUNT_HOLDER(attempt->job, of)
        if (of == holder) {
            use.slots += attempt->lane->shape->slots;
            use.gpu_thousandths += gw_sched_attempt_gpu_thousandths(attempt);
            leaving[attempt->preempted].slots += attempt->lane->shape->slots;
            leaving[attempt->preempted].gpu_thousandths +=
                gw_sched_attempt_gpu_thousandths(attempt);
        }
    }
    assert(memcmp(&use, &holder->use, sizeof use) == 0);
    for (uint32_t number = 1; number <= GW_PREEMPTED_STILL; number++) {
        const struct gw_account_claim *claim = &holder->claims[number];
        assert(memcmp(&leaving[number], &claim->leaving, sizeof *leaving) == 0);
        assert((holder->claiming >> number & 1) ==
               (claim->job || claim->leaving.slots || claim->leaving.gpu_thousandths));
        assert(!claim->job || (sched->preemptions.running >> number & 1));
    }
}

void gw_account_check(const struct gw_sched *sched)
{
    const struct gw_accounts *accounts = sched->accounts;
    if (!accounts)
        return;
    for (uint32_t i = 0; i <= accounts->policy.account_count; i++)
        check_holder(sched, &accounts->items[i].holder);
    for (uint32_t i = 0; i < accounts->policy.queue_count; i++)
        check_holder(sched, &accounts->queues[i].holder);
    double all = 0;
    for (size_t i = 0; i < accounts->payers.count; i++) {
        double rate = 0;
        for (size_t k = 0; k < sched->attempts.count; k++) {
            const struct gw_attempt *attempt = &sched->attempts.items[k];
            if (attempt->state != GW_ATTEMPT_FREE && attempt->billed &&
                attempt->job->payer == accounts->payers.items[i])
                rate += gw_account_weight(accounts, attempt);
        }
        assert(fabs(rate - accounts->payers.items[i]->rate) <= 1e-6 * (1 + rate));
        all += rate;
    }
    assert(fabs(all - accounts->rate) <= 1e-6 * (1 + all));
}
