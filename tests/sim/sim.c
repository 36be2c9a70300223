/* Randomness, time and failure reports of a simulated world. */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t sim_faults[FAULT_COUNT];

uint64_t sim_hash(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t sim_random(struct sim *sim)
{
    sim->random += UINT64_C(0x9e3779b97f4a7c15);
    return sim_hash(sim->seed, sim->random);
}

uint64_t sim_below(struct sim *sim, uint64_t n)
{
    return n ? sim_random(sim) % n : 0;
}

bool sim_chance(struct sim *sim, uint32_t percent)
{
    return sim_below(sim, 100) < percent;
}

static bool plan_before(const struct plan *a, const struct plan *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void sim_plan(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg)
{
    sim_plan_own(sim, in_ns, run, arg, NULL);
}

void sim_drop(struct sim *sim, void *arg)
{
    (void)sim;
    free(arg);
}

void sim_plan_own(struct sim *sim, uint64_t in_ns, void (*run)(struct sim *, void *), void *arg,
                  void (*drop)(struct sim *, void *))
{
    struct plan plan = {sim->now_ns + in_ns, sim->order++, run, arg, drop};
    GW_MUST(gw_array_push(&sim->plans, plan));
    size_t at = sim->plans.count - 1;
    for (; at > 0 && plan_before(&plan, &sim->plans.items[(at - 1) / 2]); at = (at - 1) / 2)
        sim->plans.items[at] = sim->plans.items[(at - 1) / 2];
    sim->plans.items[at] = plan;
}

void sim_fault(struct sim *sim, enum fault fault)
{
    static const char *const names[] = {
#define FAULT_NAME(name, text) text,
        FAULTS(FAULT_NAME)
#undef FAULT_NAME
    };
    sim_faults[fault]++;
    sim->faults[fault]++;
    sim_log(sim, "fault: %s", names[fault]);
}

void sim_log(struct sim *sim, const char *format, ...)
{
    if (!sim->log)
        return;
    va_list args;
    printf("%10.6f ", (double)sim->now_ns / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "seed %llu at %.6f s: ", (unsigned long long)sim->seed,
            (double)sim->now_ns / 1e9);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}
