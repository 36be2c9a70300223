/* Keys of gangs on several workers. A key belongs to one attempt: every rank of functions has it
 * when it starts, and a worker tells it to nobody else. */
#include "tests/sim/sim.h"

static void key_of(uint64_t attempt, uint8_t key[32])
{
    memset(key, 0x5a, 32);
    memcpy(key + 8, &attempt, sizeof attempt);
}

static bool holds(struct gw_bin bytes, const void *what, size_t size)
{
    return bytes.size && memmem(bytes.data, bytes.size, what, size);
}

const struct gw_effect *sim_trust_add(const struct gw_effect *effect, struct keyed *keyed)
{
    const struct gw_msg_gang *gang = &effect->message.gang;
    if (effect->message.type != GW_MESSAGE_gang || gang->groups < 2 || gang->commands)
        return effect;
    keyed->effect = *effect;
    key_of(gang->attempt, keyed->key);
    keyed->effect.message.gang.key = (struct gw_bin){keyed->key, sizeof keyed->key};
    return &keyed->effect;
}

void sim_trust_told(struct sim *sim, const struct gw_message *message)
{
    uint8_t key[32];
    if (message->type == GW_MESSAGE_gang)
        SIM_CHECK(sim, !message->gang.key.size, "a worker hands on the key of attempt %llx",
                  (unsigned long long)message->gang.attempt);
    if (message->type != GW_MESSAGE_rank_ready)
        return;
    key_of(message->rank_ready.attempt, key);
    SIM_CHECK(sim, !holds(message->rank_ready.info, key, sizeof key),
              "a worker tells the scheduler the key of attempt %llx",
              (unsigned long long)message->rank_ready.attempt);
}

void sim_trust_go(struct sim *sim, const struct process *process,
                  const struct gw_msg_gang_start *go)
{
    static const char name[] = "ring_key";
    uint8_t key[32];
    key_of(go->attempt, key);
    if (process->gang != go->attempt)
        return;
    SIM_CHECK(sim, holds(go->info, name, sizeof name - 1) == process->spans,
              "attempt %llx goes, and what its ranks know each other by is not as it should be",
              (unsigned long long)go->attempt);
    if (!process->spans)
        return;
    SIM_CHECK(sim, holds(go->info, key, sizeof key), "attempt %llx goes without its key",
              (unsigned long long)go->attempt);
    sim_fault(sim, FAULT_KEYED);
}
