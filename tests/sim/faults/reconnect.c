/* Connections that are cut and replaced while both sides continue to run, as over TLS: each side
 * stores the messages that the other has not received, and sends them again. The cores must not
 * notice. */
#include "tests/sim/sim.h"

#include "tests/sim/planted.h"

/* The packets on their way are lost. Heartbeats are lost permanently; all other messages arrive
 * later. */
static void lose_under_way(struct sim *sim, struct conn *conn, int to)
{
    size_t retained = 0;
    for (size_t i = 0; i < conn->queue[to].count; i++) {
        struct packet *packet = &conn->queue[to].items[i];
        if (packet->urgent || (GW_PLANTED(241) && i == 0))
            sim_packet_free(sim, packet, true);
        else
            conn->queue[to].items[retained++] = *packet;
    }
    conn->lost[to] += conn->queue[to].count - retained;
    conn->queue[to].count = retained;
}

void sim_reconnect(struct sim *sim)
{
    struct host *host = &sim->hosts[sim_below(sim, sim->host_count)];
    struct conn *conn = host->core ? host->scheduler : NULL;
    if (!conn || conn->cut || conn->id != host->welcomed || !conn->ends[0].open ||
        !conn->ends[1].open)
        return;
    uint64_t silent_ns = MS + sim_below(sim, sim_chance(sim, 20) ? GW_BREAK_NS : 300 * MS);
    if (silent_ns > GW_BREAK_NS / 2 && sim_chance(sim, 50))
        silent_ns = GW_BREAK_NS - MS;
    sim_fault(sim, FAULT_RECONNECTED);
    sim_log(sim, "the connection of host %u is cut, and reconnected after %llu ms", host->number,
            (unsigned long long)(silent_ns / MS));
    for (int to = 0; to < 2; to++)
        lose_under_way(sim, conn, to);
    sim_hold(sim, conn, sim->now_ns + silent_ns);
}

void sim_reconnect_given_up(struct sim *sim, const struct conn *conn)
{
    SIM_CHECK(sim, conn->cut || conn->held_until_ns - conn->held_since_ns >= GW_BREAK_NS,
              "a worker gives its scheduler up after a break of %.3f s",
              (double)(conn->held_until_ns - conn->held_since_ns) / 1e9);
}
