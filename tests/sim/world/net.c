/* The network: ordered streams that may be cut or delayed, and may deliver a message twice.
 *
 * Every message is encoded and decoded by the production code. A cut loses the packets on their way
 * in both directions. Each side notices the cut at its own time. */
#include "tests/sim/checks/cancelled.h"
#include "tests/sim/checks/orphaned_files.h"
#include "tests/sim/checks/recovery.h"
#include "tests/sim/faults/crash.h"
#include "tests/sim/faults/drain.h"
#include "tests/sim/faults/leave.h"
#include "tests/sim/faults/recant.h"
#include "tests/sim/world/memfile.h"

#include "graph/wire/frame.h"

#include <stdio.h>

/* -- Descriptors ---------------------------------------------------------------------------------
 */

uint64_t sim_token(struct sim *sim, uint64_t content, uint64_t bytes)
{
    uint64_t token = ++sim->next_token;
    GW_MUST(gw_map_put(&sim->contents, token, content));
    GW_MUST(gw_map_put(&sim->sizes, token, bytes));
    return token;
}

uint64_t sim_token_content(struct sim *sim, uint64_t token)
{
    uint64_t content;
    bool known = gw_map_get(&sim->contents, token, &content);
    SIM_CHECK(sim, known, "descriptor %llu is used after it was closed", (unsigned long long)token);
    (void)sim_memfile_content(sim, token, &content);
    return content;
}

uint64_t sim_token_dup(struct sim *sim, uint64_t token)
{
    uint64_t bytes = 0;
    (void)gw_map_get(&sim->sizes, token, &bytes);
    uint64_t copy = sim_token(sim, sim_token_content(sim, token), bytes);
    sim_memfile_dup(sim, copy, token);
    return copy;
}

void sim_token_drop(struct sim *sim, uint64_t token)
{
    bool known = gw_map_remove(&sim->contents, token);
    (void)gw_map_remove(&sim->sizes, token);
    sim_memfile_drop(sim, token);
    SIM_CHECK(sim, known, "descriptor %llu is closed twice", (unsigned long long)token);
}

/* -- Packets -------------------------------------------------------------------------------------
 */

struct packet sim_pack(struct sim *sim, const struct gw_message *message, const uint64_t *tokens,
                       uint32_t token_count)
{
    struct packet packet = {.token_count = token_count,
                            .urgent = message->type == GW_MESSAGE_heartbeat};
    struct gw_buffer buffer = {0};
    int rc = gw_message_encode(message, (uint8_t)token_count, &buffer);
    if (message->type == GW_MESSAGE_gang)
        sim_elastic_told(sim, &message->gang);
    SIM_CHECK(sim, rc == 0, "message %s cannot be encoded: %d", gw_message_name(message->type), rc);
    SIM_CHECK(sim, token_count <= TOKENS_MAX, "%u descriptors in one message", token_count);
    packet.bytes = buffer.data;
    packet.size = buffer.size;
    for (uint32_t i = 0; i < token_count; i++)
        packet.tokens[i] = sim_token_dup(sim, tokens[i]);
    return packet;
}

void sim_packet_free(struct sim *sim, struct packet *packet, bool drop_tokens)
{
    for (uint32_t i = 0; drop_tokens && i < packet->token_count; i++)
        sim_token_drop(sim, packet->tokens[i]);
    free(packet->bytes);
}

static struct packet packet_copy(struct sim *sim, const struct packet *from)
{
    struct packet packet = *from;
    packet.bytes = malloc(from->size);
    GW_MUST_PTR(packet.bytes);
    memcpy(packet.bytes, from->bytes, from->size);
    for (uint32_t i = 0; i < packet.token_count; i++)
        packet.tokens[i] = sim_token_dup(sim, from->tokens[i]);
    return packet;
}

/* -- Connections ---------------------------------------------------------------------------------
 */

/* One packet arrives: always the oldest of its direction, whichever event delivers it. */
struct arrival {
    uint64_t conn;
    int to;
};

static struct conn *conn_find(struct sim *sim, uint64_t id)
{
    for (size_t i = 0; i < sim->conns.count; i++)
        if (sim->conns.items[i]->id == id)
            return sim->conns.items[i];
    return NULL;
}

struct conn *sim_conn_of(struct sim *sim, enum side side, const void *owner, uint64_t peer,
                         int *end)
{
    for (size_t i = sim->conns.count; i-- > 0;)
        for (int k = 0; k < 2; k++) {
            const struct end *at = &sim->conns.items[i]->ends[k];
            if (at->side == side && at->peer == peer && at->open &&
                (side == SIDE_SCHED || at->host == owner || at->client == owner)) {
                *end = k;
                return sim->conns.items[i];
            }
        }
    return NULL;
}

static void conn_free(struct sim *sim, struct conn *conn)
{
    for (int to = 0; to < 2; to++) {
        for (size_t i = 0; i < conn->queue[to].count; i++)
            sim_packet_free(sim, &conn->queue[to].items[i], true);
        gw_array_deinit(&conn->queue[to]);
    }
    free(conn);
}

static void conn_remove_closed(struct sim *sim)
{
    for (size_t i = sim->conns.count; i-- > 0;) {
        struct conn *conn = sim->conns.items[i];
        if (conn->ends[0].open || conn->ends[1].open)
            continue;
        conn_free(sim, conn);
        gw_array_remove_swap(&sim->conns, i);
    }
}

struct conn *sim_connect(struct sim *sim, struct end a, struct end b)
{
    conn_remove_closed(sim);
    struct conn *conn = calloc(1, sizeof *conn);
    GW_MUST_PTR(conn);
    conn->id = ++sim->next_conn;
    conn->ends[0] = a;
    conn->ends[1] = b;
    conn->ends[0].open = conn->ends[1].open = true;
    GW_MUST(gw_array_push(&sim->conns, conn));
    return conn;
}

void sim_conns_free(struct sim *sim)
{
    for (size_t i = 0; i < sim->conns.count; i++)
        conn_free(sim, sim->conns.items[i]);
    gw_array_deinit(&sim->conns);
}

static void on_cut(struct sim *sim, void *arg)
{
    struct conn *conn = conn_find(sim, *(const uint64_t *)arg);
    free(arg);
    if (conn)
        sim_cut(sim, conn);
}

/* A worker that has reconnected disconnects again soon. */
static void cut_soon(struct sim *sim, const struct end *end)
{
    uint64_t *id = malloc(sizeof *id);
    GW_MUST_PTR(id);
    for (size_t i = 0; i < sim->conns.count; i++)
        if (end == &sim->conns.items[i]->ends[0] || end == &sim->conns.items[i]->ends[1])
            *id = sim->conns.items[i]->id;
    sim_plan_own(sim, sim_below(sim, 5 * MS), on_cut, id, sim_drop);
}

/* Returns the other end of a connection of the scheduler. */
static const struct end *other_end(const struct sim *sim, const struct end *sched)
{
    for (size_t i = 0; i < sim->conns.count; i++)
        if (sched == &sim->conns.items[i]->ends[0])
            return &sim->conns.items[i]->ends[1];
    return NULL;
}

/* Returns the host at the other end. */
static const struct host *host_of(const struct sim *sim, const struct end *sched)
{
    const struct end *other = other_end(sim, sched);
    return other ? other->host : NULL;
}

static const struct client *client_of(const struct sim *sim, const struct end *sched)
{
    const struct end *other = other_end(sim, sched);
    return other ? other->client : NULL;
}

static void scheduler_says(struct host *host, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_welcome)
        host->worker = message->welcome.worker;
    sim_replica_told(host, message);
    sim_leave_taken(host, message);
    sim_cancelled_hear(host->sim, host, message);
}

static void log_message(struct sim *sim, const struct end *end, const struct gw_message *message)
{
    char text[256];
    if (!sim->log)
        return;
    gw_message_format(message, text, sizeof text);
    sim_log(sim, "  to %s %u: %s",
            end->side == SIDE_SCHED  ? "scheduler"
            : end->side == SIDE_HOST ? "host"
                                     : "client",
            end->host     ? end->host->number
            : end->client ? end->client->number
                          : 0,
            text);
}

/* Delivers a packet to one side as an event. */
static void hand_over(struct sim *sim, const struct end *end, struct packet *packet)
{
    struct gw_arena arena = {0};
    struct gw_message message;
    struct gw_error error;
    int rc = gw_message_decode(packet->bytes + GW_FRAME_HEADER_BYTES,
                               packet->size - GW_FRAME_HEADER_BYTES, &arena, &message, &error);
    SIM_CHECK(sim, rc == 0, "a message does not decode: %s", error.text);
    log_message(sim, end, &message);
    struct gw_event event = {.type = GW_EVENT_MESSAGE,
                             .peer = {end->peer},
                             .message = &message,
                             .tokens = packet->tokens,
                             .token_count = packet->token_count};
    bool drains = message.type == GW_MESSAGE_registration && message.registration.attempt.count;
    if (drains && !sim->healed && sim_chance(sim, 30))
        cut_soon(sim, end);
    if (end->side == SIDE_SCHED) {
        for (uint32_t i = 0; i < packet->token_count; i++)
            GW_MUST(gw_array_push(&sim->sched_tokens, packet->tokens[i]));
        if (message.type == GW_MESSAGE_registration)
            sim_crash_claims(sim, host_of(sim, end), &message);
        sim_recovery_hears(sim, host_of(sim, end), &message);
        sim_leave_heard(sim, host_of(sim, end), &message);
        rc = sim_sched_step(sim, &event);
        sim_crash_claimed(sim, host_of(sim, end), &message);
        sim_drain_heard(sim, host_of(sim, end), client_of(sim, end), &message);
        SIM_CHECK(sim, rc == 0, "the scheduler says that %s broke the protocol",
                  gw_message_name(message.type));
    } else if (end->side == SIDE_HOST && message.type == GW_MESSAGE_log_read) {
        sim_host_log(sim, end->host, &message);
    } else if (end->side == SIDE_HOST && message.type == GW_MESSAGE_orphaned_files) {
        sim_orphaned_files_take(sim, end->host, &message.orphaned_files);
    } else if (end->side == SIDE_HOST && message.type >= GW_MESSAGE_tunnel_open &&
               message.type <= GW_MESSAGE_tunnel_close) {
        sim_tunnel_host_take(sim, end->host, &message);
    } else if (end->side == SIDE_HOST) {
        if (message.type == GW_MESSAGE_welcome) {
            end->host->welcomed = end->host->scheduler ? end->host->scheduler->id : 0;
            end->host->welcomed_peer = message.peer;
        }
        for (uint32_t i = 0; i < packet->token_count; i++)
            GW_MUST(gw_array_push(&end->host->tokens, packet->tokens[i]));
        const struct conn *link = end->host->scheduler;
        bool scheduler = link && (end == &link->ends[0] || end == &link->ends[1]);
        if (scheduler)
            scheduler_says(end->host, &message);
        rc = sim_recant_step(sim, end->host, &event);
        if (scheduler)
            sim_replica_check(sim, end->host, &message);
        sim_orphaned_files_tell(sim, end->host, &message);
        SIM_CHECK(sim, rc == 0, "a worker says that %s broke the protocol",
                  gw_message_name(message.type));
    } else {
        sim_client_take(sim, end->client, &message, packet);
        for (uint32_t i = 0; i < packet->token_count; i++)
            sim_token_drop(sim, packet->tokens[i]);
    }
    free(packet->bytes);
    gw_arena_deinit(&arena);
}

static bool end_alive(const struct end *end)
{
    if (!end->open)
        return false;
    if (end->side == SIDE_HOST)
        return end->host->core && end->host->incarnation == end->incarnation;
    return end->side == SIDE_SCHED || end->client->alive;
}

/* Stores some messages of a worker to the scheduler. They are sent again later. */
static void record_old(struct sim *sim, const struct conn *conn, int to,
                       const struct packet *packet)
{
    const struct end *from = &conn->ends[1 - to];
    if (conn->ends[to].side != SIDE_SCHED || from->side != SIDE_HOST || packet->token_count ||
        from->host->old.count > 30 || !sim_chance(sim, 10))
        return;
    GW_MUST(gw_array_push(&from->host->old, packet_copy(sim, packet)));
}

void sim_hold(const struct sim *sim, struct conn *conn, uint64_t until_ns)
{
    if (until_ns <= conn->held_until_ns) /* never earlier, because that would change the order */
        return;
    /* In a shorter time nothing is acknowledged, so it counts as the same break. */
    if (!conn->held_until_ns || sim->now_ns > conn->held_until_ns + 4 * GW_HEARTBEAT_NS)
        conn->held_since_ns = sim->now_ns;
    conn->held_until_ns = until_ns;
}

static void arrive(struct sim *sim, void *arg)
{
    struct arrival *arrival = arg;
    struct conn *conn = conn_find(sim, arrival->conn);
    int to = arrival->to;
    if (conn && conn->held_until_ns > sim->now_ns && !conn->cut) {
        sim_plan_own(sim, conn->held_until_ns - sim->now_ns, arrive, arrival, sim_drop);
        return;
    }
    free(arrival);
    if (!conn)
        return;
    if (conn->lost[to]) { /* one event less is needed */
        conn->lost[to]--;
        return;
    }
    struct packet packet = conn->queue[to].items[0];
    memmove(conn->queue[to].items, conn->queue[to].items + 1,
            --conn->queue[to].count * sizeof packet);
    if (conn->cut || !end_alive(&conn->ends[to])) {
        if (conn->cut)
            sim_fault(sim, FAULT_LOST);
        sim_packet_free(sim, &packet, true);
        return;
    }
    record_old(sim, conn, to, &packet);
    hand_over(sim, &conn->ends[to], &packet);
}

/* Appends a packet to the queue. A heartbeat overtakes some of the packets. */
static void line_up(struct sim *sim, struct conn *conn, int to, struct packet packet)
{
    GW_MUST(gw_array_push(&conn->queue[to], packet));
    size_t last = conn->queue[to].count - 1;
    if (!packet.urgent || last == 0)
        return;
    struct packet *items = conn->queue[to].items;
    size_t at = sim_below(sim, last);
    memmove(items + at + 1, items + at, (last - at) * sizeof *items);
    items[at] = packet;
    sim_fault(sim, FAULT_OVERTAKEN);
}

static void launch(struct sim *sim, struct conn *conn, int to, struct packet packet)
{
    struct arrival *arrival = malloc(sizeof *arrival);
    GW_MUST_PTR(arrival);
    *arrival = (struct arrival){conn->id, to};
    line_up(sim, conn, to, packet);
    uint64_t at = sim->now_ns + 10000 + sim_below(sim, sim_chance(sim, 5) ? 40 * MS : MS / 2);
    struct end *end = &conn->ends[to];
    if (at <= end->last_ns)
        at = end->last_ns + 1;
    end->last_ns = at;
    sim_plan_own(sim, at - sim->now_ns, arrive, arrival, sim_drop);
}

void sim_send(struct sim *sim, struct conn *conn, int from, const struct gw_effect *effect)
{
    struct packet packet = sim_pack(sim, &effect->message, effect->tokens, effect->token_count);
    bool to_sched = conn->ends[1 - from].side == SIDE_SCHED || conn->ends[from].side == SIDE_SCHED;
    bool twice = to_sched && !sim->healed && sim_chance(sim, 3);
    struct packet copy = {0};
    if (twice)
        copy = packet_copy(sim, &packet);
    launch(sim, conn, 1 - from, packet);
    if (twice) {
        sim_fault(sim, FAULT_DUPLICATE);
        launch(sim, conn, 1 - from, copy);
    }
}

/* -- Closing -------------------------------------------------------------------------------------
 */

struct closing {
    uint64_t conn;
    int end;
};

static void tell_closed(struct sim *sim, void *arg)
{
    struct closing closing = *(struct closing *)arg;
    free(arg);
    struct conn *conn = conn_find(sim, closing.conn);
    if (!conn || !conn->ends[closing.end].open)
        return;
    if (conn->held_until_ns > sim->now_ns) {
        struct closing *later = malloc(sizeof *later);
        GW_MUST_PTR(later);
        *later = closing;
        sim_plan_own(sim, conn->held_until_ns - sim->now_ns, tell_closed, later, sim_drop);
        return;
    }
    struct end end = conn->ends[closing.end];
    bool alive = end_alive(&end);
    conn->ends[closing.end].open = false;
    if (!alive)
        return;
    struct gw_event event = {.type = GW_EVENT_CLOSE, .peer = {end.peer}, .text = "cut"};
    if (end.side == SIDE_SCHED)
        (void)sim_sched_step(sim, &event);
    else if (end.side == SIDE_HOST)
        (void)sim_host_step(sim, end.host, &event);
    else
        sim_client_closed(sim, end.client);
    if (end.side == SIDE_HOST && end.host->scheduler == conn) {
        end.host->scheduler = NULL;
        sim_host_connect(sim, end.host);
    }
}

static void plan_close(struct sim *sim, struct conn *conn, int end, uint64_t in_ns)
{
    struct closing *closing = malloc(sizeof *closing);
    GW_MUST_PTR(closing);
    *closing = (struct closing){conn->id, end};
    sim_plan_own(sim, in_ns, tell_closed, closing, sim_drop);
}

void sim_close(struct sim *sim, struct conn *conn, int from)
{
    if (conn->cut && !conn->ends[from].open)
        return;
    /* Packets that were sent before still arrive. The side that closed the connection notices it
     * immediately. */
    uint64_t last = conn->ends[1 - from].last_ns;
    uint64_t in_ns = last > sim->now_ns ? last - sim->now_ns + 1 : 1000;
    plan_close(sim, conn, 1 - from, in_ns + sim_below(sim, MS));
    plan_close(sim, conn, from, 1);
}

void sim_cut(struct sim *sim, struct conn *conn)
{
    if (conn->cut)
        return;
    conn->cut = true;
    sim_fault(sim, FAULT_CUT);
    plan_close(sim, conn, 0, sim_below(sim, 20 * MS));
    plan_close(sim, conn, 1, sim_below(sim, 20 * MS));
}

/* -- Faults --------------------------------------------------------------------------------------
 */

/* An end of an attempt is sent again as if it were new: only its attempt number shows that it is
 * old. */
static bool tell_again(struct sim *sim, struct host *host, const struct packet *packet)
{
    struct gw_arena arena = {0};
    struct gw_effect effect = {.type = GW_EFFECT_SEND};
    struct gw_error error;
    int rc =
        gw_message_decode(packet->bytes + GW_FRAME_HEADER_BYTES,
                          packet->size - GW_FRAME_HEADER_BYTES, &arena, &effect.message, &error);
    uint32_t type = effect.message.type;
    bool is_end = rc == 0 && (type == GW_MESSAGE_finished || type == GW_MESSAGE_ended ||
                              type == GW_MESSAGE_failures || type == GW_MESSAGE_started);
    if (is_end) {
        gw_node_core_stamp(host->core, &effect.message);
        sim_fault(sim, FAULT_STALE_ATTEMPT);
        sim_send(sim, host->scheduler, 1, &effect);
    }
    gw_arena_deinit(&arena);
    return is_end;
}

/* A message that a worker sent before arrives again, perhaps on a later connection. */
static void say_again(struct sim *sim)
{
    struct host *host = &sim->hosts[sim_below(sim, sim->host_count)];
    struct conn *to = host->scheduler;
    if (!host->core || !host->old.count || !to || to->cut || !end_alive(&to->ends[0]))
        return;
    struct packet *packet = &host->old.items[sim_below(sim, host->old.count)];
    if (host->welcomed == to->id && sim_chance(sim, 50) && tell_again(sim, host, packet))
        return;
    sim_fault(sim, FAULT_STALE);
    launch(sim, to, 0, packet_copy(sim, packet));
}

void sim_net_faults(struct sim *sim)
{
    if (!sim->conns.count)
        return;
    if (sim_chance(sim, 30))
        say_again(sim);
    struct conn *conn = sim->conns.items[sim_below(sim, sim->conns.count)];
    bool sched = conn->ends[0].side == SIDE_SCHED && conn->ends[1].side == SIDE_HOST;
    bool peers = conn->ends[0].side == SIDE_HOST && conn->ends[1].side == SIDE_HOST;
    if ((sched || peers) && sim_chance(sim, 8)) {
        sim_cut(sim, conn);
    } else if (sched && !conn->cut && sim_chance(sim, 5)) {
        sim_fault(sim, FAULT_PARTITION);
        sim_hold(sim, conn, sim->now_ns + 100 * MS + sim_below(sim, GW_LOST_NS + 5 * SECOND));
    }
}
