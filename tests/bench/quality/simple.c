/* Random and round-robin: policies that know nothing about the tasks. */
#include "tests/bench/quality/policies.h"

struct turns {
    uint64_t state;
    bool random;
};

static void turns_ready(struct model *model, void *arg, uint32_t row)
{
    struct turns *turns = arg;
    uint64_t number = turns->state++;
    if (turns->random) { /* splitmix64 */
        number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
        number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
        number ^= number >> 31;
    }
    model_assign(model, row, (uint32_t)(number % model->worker_count));
}

static const struct model_policy policy = {.name = "turns", .ready = turns_ready};

uint64_t policies_random(struct model *model)
{
    return model_run(model, &policy, &(struct turns){.random = true});
}

uint64_t policies_round_robin(struct model *model)
{
    return model_run(model, &policy, &(struct turns){.random = false});
}
