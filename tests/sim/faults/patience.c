/* Checks that no gang that could run waits forever.
 *
 * Each seed is a world of its own: the scheduler core, workers that only let time pass, and a
 * client with an endless stream of small tasks of all priorities, with and without time limits.
 * Gangs of all sizes are submitted in between, and workers leave and return. Each gang must start
 * within a time that follows from how fast its priority rises, what runs before it, and how many
 * other gangs wait. The stream continues until all gangs have run. A task that would run longer
 * than that must not start before a waiting gang. */
#include "tests/sim/effects.h"
#include "tests/sim/sim.h"

enum {
    HOSTS = 4,
    GANGS = 4,
    CLIENT = 1,
    WORKER = 100,
    MEMORY = 1000,
    BACKLOG = 6,
    PRIORITY_MAX = 3
};
#define AGEING_NS (200 * MS)
#define RUN_NS_MAX (600 * MS)
#define GUEST_NS (60 * SECOND)
/* A gang rises by six priority levels in three periods. Then each gang before it, and the gang
 * itself, waits for running tasks, which end at their time limits at the latest, and runs. Lost
 * workers may repeat all this. */
#define PATIENCE_NS (20 * SECOND)

/* One task or one rank. */
struct stint {
    uint64_t job, attempt, run_ns, end_ns; /* end_ns 0: it has not begun */
    uint32_t rank, slots;
    bool holds, told; /* holds: it has slots; told: it was told to end */
};

struct booth {
    uint64_t peer, back_ns;
    uint32_t slots, used;
    GW_ARRAY(struct stint) stints;
};

struct party {
    uint64_t job, at_ns;
    uint64_t request; /* 0: not submitted yet */
    struct gw_msg_spec spec;
    char places[HOSTS * 8]; /* spec.workers: how many ranks on which host; or empty */
    uint32_t at[HOSTS * 8]; /* with places: the host of each rank */
    bool started;
};

struct patience {
    struct sim *sim; /* for its random numbers, clock and reports */
    struct gw_sched *sched;
    struct gw_effects effects;
    struct booth booths[HOSTS];
    struct party parties[GANGS];
    uint32_t hosts, gangs, started, losses;
    uint64_t next_peer, next_request, loss_ns, committed;
    struct gw_map sequences;   /* last sequence numbers, by peer */
    struct gw_map specs;       /* job -> slots << 32 | ranks */
    struct gw_map time_limits; /* job -> time_limit_ns */
    uint64_t submitted, begun; /* tasks of the stream */
    bool urgent;               /* all tasks of the stream have higher priority than the gangs */
    bool guest;                /* a single task of GUEST_NS is submitted after the only gang */
    bool refused;              /* the last submission was refused: no worker is large enough */
};

/* -- The core ------------------------------------------------------------------------------------
 */

static void take_effects(struct patience *patience);

static void step(struct patience *patience, struct gw_event event)
{
    event.now_ns = event.wall_ns = patience->sim->now_ns;
    SIM_CHECK(patience->sim, gw_sched_step(patience->sched, &event, &patience->effects) == 0,
              "the scheduler refuses what a worker says");
    sim_effects_add(event.now_ns, 0, gw_sched_deadline_ns(patience->sched), &patience->effects);
    take_effects(patience);
}

static void say(struct patience *patience, uint64_t peer, struct gw_message message)
{
    uint64_t sequence = 0;
    (void)gw_map_get(&patience->sequences, peer, &sequence);
    GW_MUST(gw_map_put(&patience->sequences, peer, sequence + 1));
    message.sequence = sequence + 1;
    step(patience,
         (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message});
}

static void assigned(struct patience *patience, struct booth *booth,
                     const struct gw_msg_assign *assign)
{
    struct sim *sim = patience->sim;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint64_t job = gw_col64_at(assign->job, i), spec = 0, time_limit_ns = 0;
        SIM_CHECK(sim, gw_map_get(&patience->specs, job, &spec), "a task without its spec");
        (void)gw_map_get(&patience->time_limits, job, &time_limit_ns);
        uint64_t how = sim_hash(job, 7);
        uint64_t run_ns = how % 3 == 0 ? MS / 5 : MS + sim_hash(how, i) % RUN_NS_MAX;
        run_ns = time_limit_ns && (time_limit_ns < run_ns || time_limit_ns == GUEST_NS)
                     ? time_limit_ns
                     : run_ns;
        struct stint stint = {.job = job,
                              .attempt = gw_col64_at(assign->attempt, i),
                              .run_ns = run_ns,
                              .rank = gw_col32_at(assign->rank, i),
                              .slots = (uint32_t)(spec >> 32)};
        GW_MUST(gw_array_push(&booth->stints, stint));
        patience->begun += stint.rank == GW_RANK_NONE;
        for (uint32_t k = 0; k < patience->gangs; k++) {
            struct party *party = &patience->parties[k];
            if (stint.rank == GW_RANK_NONE && party->job && !party->started)
                sim_fault(sim, FAULT_LET_IN);
            if (party->job != job)
                continue;
            SIM_CHECK(sim,
                      !party->spec.ranks_per_node ||
                          assign->attempt.count >= party->spec.ranks_per_node,
                      "a gang of one node is placed in parts");
            if (*party->places)
                SIM_CHECK(sim, booth == &patience->booths[party->at[stint.rank]],
                          "rank %u of a gang with places %s is at another", stint.rank,
                          party->places);
            if (party->started)
                continue;
            if (*party->places)
                sim_fault(sim, FAULT_PLACES);
            party->started = true;
            patience->started++;
            if (sim->now_ns > party->at_ns)
                sim_fault(sim, FAULT_GANG_WAITED);
        }
    }
}

static void killed(struct booth *booth, const struct gw_msg_kill *kill)
{
    for (uint32_t i = 0; i < kill->attempt.count; i++)
        for (size_t k = 0; k < booth->stints.count; k++) {
            struct stint *stint = &booth->stints.items[k];
            if (stint->attempt == gw_col64_at(kill->attempt, i) &&
                (kill->reason != GW_KILL_TAKE_BACK || !stint->end_ns))
                stint->told = true;
        }
}

static void booth_hears(struct patience *patience, struct booth *booth,
                        const struct gw_message *message)
{
    const struct gw_msg_spec *spec = &message->spec;
    switch (message->type) {
    case GW_MESSAGE_spec:
        GW_MUST(gw_map_put(&patience->specs, spec->key,
                           (uint64_t)(spec->slots ? spec->slots : 1) << 32 | spec->ranks));
        GW_MUST(gw_map_put(&patience->time_limits, spec->key, spec->time_limit_ns));
        break;
    case GW_MESSAGE_assign:
        assigned(patience, booth, &message->assign);
        break;
    case GW_MESSAGE_gang_start:
        for (size_t k = 0; k < booth->stints.count; k++)
            if (booth->stints.items[k].attempt == message->gang_start.attempt)
                booth->stints.items[k].end_ns =
                    patience->sim->now_ns + booth->stints.items[k].run_ns;
        break;
    case GW_MESSAGE_kill:
        killed(booth, &message->kill);
        break;
    default:
        break;
    }
}

static void take_effects(struct patience *patience)
{
    for (size_t i = 0; i < patience->effects.list.count; i++) {
        const struct gw_message *message = &patience->effects.list.items[i].message;
        if (patience->effects.list.items[i].type != GW_EFFECT_SEND)
            continue;
        patience->refused = patience->refused || message->type == GW_MESSAGE_rejected;
        for (uint32_t k = 0; message->type == GW_MESSAGE_accepted && k < patience->gangs; k++)
            if (patience->parties[k].request == message->accepted.request)
                patience->parties[k].job = message->accepted.job;
    }
    for (size_t i = 0; i < patience->effects.list.count; i++) {
        const struct gw_effect *effect = &patience->effects.list.items[i];
        if (effect->type == GW_EFFECT_COMMIT)
            patience->committed = effect->number;
        if (effect->type != GW_EFFECT_SEND)
            continue;
        for (uint32_t k = 0; k < patience->hosts; k++)
            if (patience->booths[k].peer == effect->peer.id)
                booth_hears(patience, &patience->booths[k], &effect->message);
    }
}

/* -- Workers -------------------------------------------------------------------------------------
 */

static void booth_opens(struct patience *patience, struct booth *booth)
{
    char host[8];
    (void)snprintf(host, sizeof host, "h%d", (int)(booth - patience->booths));
    booth->peer = patience->next_peer++;
    booth->back_ns = booth->used = 0;
    step(patience, (struct gw_event){.type = GW_EVENT_OPEN,
                                     .peer = {booth->peer},
                                     .role = GW_ROLE_WORKER,
                                     .text = "booth"});
    say(patience, booth->peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = booth->peer,
                                             .slots = booth->slots,
                                             .memory_bytes = MEMORY,
                                             .host = host,
                                             .address = "h"}});
}

static void booth_closes(struct patience *patience, struct booth *booth)
{
    uint64_t peer = booth->peer;
    booth->peer = 0;
    booth->back_ns = patience->sim->now_ns + 100 * MS;
    gw_array_clear(&booth->stints);
    step(patience, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}, .text = "gone"});
}

static void stint_ends(struct patience *patience, struct booth *booth, size_t at)
{
    struct stint stint = booth->stints.items[at];
    uint64_t bytes = 1;
    uint32_t size = 1;
    booth->used -= stint.holds ? stint.slots : 0;
    memmove(&booth->stints.items[at], &booth->stints.items[at + 1],
            (--booth->stints.count - at) * sizeof stint);
    struct gw_message message = {.type = GW_MESSAGE_finished};
    if (stint.told) {
        message.type = GW_MESSAGE_ended;
        message.ended = (struct gw_msg_ended){.attempt = stint.attempt,
                                              .rank = stint.rank,
                                              .outcome = GW_OUTCOME_KILLED,
                                              .executing = stint.end_ns > 0,
                                              .text = "",
                                              .stderr_tail = ""};
    } else {
        message.finished = (struct gw_msg_finished){.attempt = {&stint.attempt, 1},
                                                    .rank = {&stint.rank, 1},
                                                    .bytes = {&bytes, 1},
                                                    .value_size = {&size, 1},
                                                    .values = {"\x01", 1},
                                                    .run_ns = {&stint.run_ns, 1}};
    }
    say(patience, booth->peer, message);
}

/* Does one thing that is due at a worker now. Returns false if there is none. */
static bool booth_acts(struct patience *patience, struct booth *booth)
{
    uint64_t now_ns = patience->sim->now_ns;
    if (!booth->peer && booth->back_ns <= now_ns) {
        booth_opens(patience, booth);
        return true;
    }
    for (size_t i = 0; i < booth->stints.count; i++) {
        struct stint *stint = &booth->stints.items[i];
        if (stint->told || (stint->end_ns && stint->end_ns <= now_ns)) {
            stint_ends(patience, booth, i);
            return true;
        }
        if (stint->rank == GW_RANK_NONE && !stint->end_ns &&
            booth->used + stint->slots <= booth->slots) {
            booth->used += stint->slots;
            stint->holds = true;
            stint->end_ns = now_ns + stint->run_ns;
            if (stint->run_ns > 20 * MS)
                say(patience, booth->peer,
                    (struct gw_message){
                        .type = GW_MESSAGE_started,
                        .started = {.attempt = {&stint->attempt, 1}, .rank = {&stint->rank, 1}}});
            return true;
        }
        if (stint->rank != GW_RANK_NONE && !stint->holds) {
            stint->holds = true;
            booth->used += stint->slots;
            say(patience, booth->peer,
                (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                    .rank_ready = {stint->attempt, stint->rank, {"", 0}}});
            return true;
        }
    }
    return false;
}

/* -- The client ----------------------------------------------------------------------------------
 */

/* Returns false if the job was refused. */
static bool submit(struct patience *patience, struct gw_msg_spec spec, uint32_t rows)
{
    uint32_t zeros[8] = {0};
    patience->refused = false;
    spec.key = ++patience->next_request;
    spec.kind = GW_SPEC_FUNCTION;
    spec.function = "f";
    spec.cwd = "";
    spec.grace_ns = MS;
    say(patience, CLIENT, (struct gw_message){.type = GW_MESSAGE_spec, .spec = spec});
    say(patience, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_submit,
                            .submit = {.request = spec.key,
                                       .flags = GW_SUBMIT_LAST,
                                       .name = "j",
                                       .spec = {zeros, rows},
                                       .args_size = {zeros, rows},
                                       .args = {"", 0},
                                       .dep_count = {zeros, rows},
                                       .names = {"", 0}}});
    return !patience->refused;
}

/* Makes a random spec of a task or a rank. */
static struct gw_msg_spec any_spec(struct sim *sim)
{
    struct gw_msg_spec spec = {.slots = 1 + sim_chance(sim, 25),
                               .priority = PRIORITY_MAX - (int32_t)sim_below(sim, 6)};
    if (sim_chance(sim, 50))
        spec.time_limit_ns = 10 * MS + sim_below(sim, RUN_NS_MAX);
    if (sim_chance(sim, 20))
        spec.memory_bytes = 100 + sim_below(sim, 300);
    return spec;
}

/* Makes a gang with at most as many ranks as all workers can hold together. */
static struct gw_msg_spec any_gang(const struct patience *patience)
{
    struct gw_msg_spec spec = any_spec(patience->sim);
    uint64_t most = 0;
    for (uint32_t i = 0; i < patience->hosts; i++) {
        uint64_t ranks = patience->booths[i].slots / spec.slots;
        uint64_t fit = spec.memory_bytes ? MEMORY / spec.memory_bytes : ranks;
        most += fit < ranks ? fit : ranks;
    }
    if (most == 0) {
        spec.slots = 1;
        most = 1;
    }
    spec.ranks = sim_chance(patience->sim, 40) ? (uint32_t)most
                                               : 1 + (uint32_t)sim_below(patience->sim, most);
    if (spec.ranks <= patience->booths[0].slots && sim_chance(patience->sim, 25)) {
        spec.slots = 1; /* all ranks on one worker: the first has room for them */
        spec.memory_bytes = 0;
        spec.ranks_per_node = spec.ranks;
    }
    spec.spread = !spec.ranks_per_node && sim_chance(patience->sim, 20);
    return spec;
}

/* Chooses places instead of any hosts: so many ranks on each of some hosts, in random order. */
static void choose_places(const struct patience *patience, struct party *party)
{
    struct sim *sim = patience->sim;
    uint32_t first = (uint32_t)sim_below(sim, patience->hosts), ranks = 0;
    size_t used = 0;
    for (uint32_t i = 0; i < patience->hosts; i++) {
        uint32_t host = (first + patience->hosts - i) % patience->hosts;
        uint32_t here = 1 + (uint32_t)sim_below(sim, patience->booths[host].slots);
        if (i > 0 && sim_chance(sim, 30))
            continue;
        used += (size_t)snprintf(party->places + used, sizeof party->places - used, "%sh%u:%u",
                                 used ? "," : "", host, here);
        for (uint32_t k = 0; k < here; k++)
            party->at[ranks++] = host;
    }
    party->spec = (struct gw_msg_spec){.slots = 1,
                                       .priority = party->spec.priority,
                                       .time_limit_ns = party->spec.time_limit_ns,
                                       .ranks = ranks,
                                       .workers = party->places};
}

static bool client_acts(struct patience *patience)
{
    struct sim *sim = patience->sim;
    for (uint32_t i = 0; i < patience->gangs; i++) {
        struct party *party = &patience->parties[i];
        if (party->request || party->at_ns > sim->now_ns)
            continue;
        party->at_ns = sim->now_ns;
        party->request = patience->next_request + 1;
        if (!submit(patience, party->spec, 1)) {
            party->request = 0;
            party->at_ns = sim->now_ns + 50 * MS;
        }
        return true;
    }
    if (patience->guest && patience->parties[0].request) {
        patience->guest = false;
        patience->submitted += submit(
            patience,
            (struct gw_msg_spec){.slots = 1, .priority = -PRIORITY_MAX, .time_limit_ns = GUEST_NS},
            1);
        return true;
    }
    if (patience->submitted >= patience->begun + BACKLOG)
        return false;
    uint32_t rows = 1 + (uint32_t)sim_below(sim, 6);
    struct gw_msg_spec spec = any_spec(sim);
    spec.slots = patience->losses ? 1 : spec.slots; /* so that it fits any remaining worker */
    spec.priority = patience->urgent ? PRIORITY_MAX : spec.priority;
    if (submit(patience, spec, rows))
        patience->submitted += rows;
    return true;
}

/* -- A life --------------------------------------------------------------------------------------
 */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the time of the next event if nothing is due now. */
static uint64_t next_ns(const struct patience *patience)
{
    uint64_t at_ns = gw_sched_deadline_ns(patience->sched);
    for (uint32_t i = 0; i < patience->gangs; i++)
        if (!patience->parties[i].request)
            at_ns = earlier(at_ns, patience->parties[i].at_ns);
    for (uint32_t i = 0; i < patience->hosts; i++) {
        const struct booth *booth = &patience->booths[i];
        if (!booth->peer)
            at_ns = earlier(at_ns, booth->back_ns);
        for (size_t k = 0; k < booth->stints.count; k++)
            if (booth->stints.items[k].end_ns)
                at_ns = earlier(at_ns, booth->stints.items[k].end_ns);
    }
    return patience->losses ? earlier(at_ns, patience->loss_ns) : at_ns;
}

static void lose_one(struct patience *patience)
{
    struct sim *sim = patience->sim;
    struct booth *booth = &patience->booths[sim_below(sim, patience->hosts)];
    patience->losses--;
    patience->loss_ns = sim->now_ns + sim_below(sim, SECOND);
    if (booth->peer)
        booth_closes(patience, booth);
}

static void make(struct patience *patience)
{
    struct sim *sim = patience->sim;
    sim->now_ns = SECOND;
    patience->sched =
        gw_sched_new(&(struct gw_sched_options){.state_dir = "/sim", .ageing_ns = AGEING_NS});
    patience->next_peer = WORKER;
    step(patience, (struct gw_event){.type = GW_EVENT_START, .number = 1});
    step(patience,
         (struct gw_event){
             .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    patience->hosts = 1 + (uint32_t)sim_below(sim, HOSTS);
    for (uint32_t i = 0; i < patience->hosts; i++) {
        patience->booths[i].slots = 1 + (i == 0) + (uint32_t)sim_below(sim, 4);
        booth_opens(patience, &patience->booths[i]);
    }
    patience->urgent = sim_chance(sim, 30);
    patience->gangs = 1 + (uint32_t)sim_below(sim, GANGS);
    for (uint32_t i = 0; i < patience->gangs; i++) {
        patience->parties[i].spec = any_gang(patience);
        patience->parties[i].at_ns = sim->now_ns + sim_below(sim, SECOND);
        if (sim_chance(sim, 25))
            choose_places(patience, &patience->parties[i]);
    }
    patience->losses = sim_chance(sim, 30) ? 1 + (uint32_t)sim_below(sim, 2) : 0;
    patience->loss_ns = sim->now_ns + sim_below(sim, 2 * SECOND);
    /* No task has a higher priority than this gang, so its room is reserved when the guest arrives.
     */
    patience->guest = patience->gangs == 1 && !patience->losses;
    if (patience->guest)
        patience->parties[0].spec.priority = PRIORITY_MAX + 1;
}

static void live(struct patience *patience)
{
    struct sim *sim = patience->sim;
    while (patience->started < patience->gangs) {
        bool acted = client_acts(patience);
        for (uint32_t i = 0; i < patience->hosts && !acted; i++)
            acted = booth_acts(patience, &patience->booths[i]);
        if (patience->committed) {
            uint64_t number = patience->committed;
            patience->committed = 0;
            step(patience, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
        }
        if (acted)
            continue;
        sim->now_ns = next_ns(patience);
        if (patience->losses && patience->loss_ns <= sim->now_ns)
            lose_one(patience);
        if (gw_sched_deadline_ns(patience->sched) <= sim->now_ns) {
            for (uint32_t i = 0; i < patience->hosts; i++)
                if (patience->booths[i].peer)
                    say(patience, patience->booths[i].peer,
                        (struct gw_message){.type = GW_MESSAGE_heartbeat});
            step(patience, (struct gw_event){.type = GW_EVENT_TICK});
        }
        for (uint32_t i = 0; i < patience->gangs; i++) {
            const struct party *party = &patience->parties[i];
            SIM_CHECK(sim,
                      party->started || !party->request || sim->now_ns < party->at_ns + PATIENCE_NS,
                      "a gang of %u ranks with %u slots each, priority %d, waits since %.3f s",
                      party->spec.ranks, party->spec.slots, party->spec.priority,
                      (double)party->at_ns / 1e9);
        }
    }
}

void sim_patience_run(uint64_t seed)
{
    struct patience patience = {.sim = calloc(1, sizeof *patience.sim)};
    GW_MUST_PTR(patience.sim);
    patience.sim->seed = seed;
    make(&patience);
    live(&patience);
    for (uint32_t i = 0; i < patience.hosts; i++)
        gw_array_deinit(&patience.booths[i].stints);
    gw_sched_free(patience.sched);
    gw_array_deinit(&patience.effects.list);
    gw_arena_deinit(&patience.effects.arena);
    gw_map_deinit(&patience.sequences);
    gw_map_deinit(&patience.specs);
    gw_map_deinit(&patience.time_limits);
    free(patience.sim);
}
