/* The worker's core in a random world: processes that start, work, fail and die in any order, a
 * scheduler that kills, forgets and disconnects, fetches that fail. After every step the invariants
 * hold; no attempt ends twice; when everything is repaired, every attempt has ended. A failure
 * prints its seed: run the program with it as its argument (two: from, to). */
#include "tests/unit/worker/core/node_world.h"
#include "tests/unit/worker/core/transitions.h"

#include <inttypes.h>
#include <stdio.h>

enum { SEEDS = 150, STEPS = 400, SLOTS = 3, NEIGHBOUR = 6, STRANGER = 7 };
enum { CALLS = 1000000 }; /* the job of an actor's calls: the number of the actor's job plus this */
enum {
    SPEC_F,
    SPEC_G,
    SPEC_COMMAND,
    SPEC_GANG_F,
    SPEC_GANG_COMMAND,
    SPEC_LIMITED,
    SPEC_ACTOR,
    SPEC_CALL
};

/* An assignment to a runner. takes: the attempt of its batch that makes its input; 0: none. */
struct given {
    uint64_t attempt, takes;
    uint32_t rank;
    bool makes; /* creates an actor */
};

/* The state of a simulated process. */
struct actor {
    uint64_t id;
    bool runner, started, hello, reaped_asked, gone, ready, keeps, let_go;
    uint64_t go;     /* the attempt that was started */
    uint64_t behind; /* the process that runs before it; 0: it may start */
    GW_ARRAY(struct given) queue;
};

struct gang {
    uint64_t attempt;
    uint32_t ready;
    bool leased, went;
};

struct random {
    struct world *w;
    uint64_t seed;
    GW_ARRAY(struct actor *) actors;
    GW_ARRAY(struct gang) gangs;
    GW_ARRAY(struct gw_msg_fetch) fetches;
    GW_ARRAY(uint64_t) fetched_from; /* the peers that fetch */
    struct gw_map live;              /* attempt * 4 + rank + 1 (0: none) -> 1 */
    uint64_t actor_made;             /* the attempt and the job of the last actor */
    uint64_t attempt, heartbeat, acked, peer_open;
    bool healing;
};

static uint64_t next(struct random *r)
{
    uint64_t x = r->seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool chance(struct random *r, uint32_t percent)
{
    return next(r) % 100 < percent;
}

static uint64_t key(uint64_t attempt, uint32_t rank)
{
    return attempt * 4 + (rank == GW_RANK_NONE ? 0 : rank + 1);
}

/* -- What the core says --------------------------------------------------------------------------
 */

static struct actor *actor_of(struct random *r, uint64_t id)
{
    for (size_t i = 0; i < r->actors.count; i++)
        if (r->actors.items[i]->id == id && !r->actors.items[i]->gone)
            return r->actors.items[i];
    return NULL;
}

static void on_end(struct random *r, uint64_t attempt, uint32_t rank)
{
    if (!gw_map_remove(&r->live, key(attempt, rank)))
        fail_msg("attempt %" PRIu64 " rank %" PRIu32 " ends, and is not alive", attempt, rank);
}

static void on_work(struct random *r, uint64_t to, const struct gw_msg_assign *assign)
{
    struct actor *actor = actor_of(r, to - RUNNER);
    assert_non_null(actor);
    uint32_t dep = 0; /* a task has at most one dependency here */
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        struct given given = {.attempt = gw_col64_at(assign->attempt, i),
                              .rank = gw_col32_at(assign->rank, i),
                              .makes = gw_col32_at(assign->spec, i) == SPEC_ACTOR};
        if (gw_col32_at(assign->dep_count, i) > 0) {
            if (gw_col32_at(assign->dep_worker, dep) == GW_DEP_HERE) {
                assert_true(gw_col64_at(assign->dep_bytes, dep) < i);
                given.takes =
                    gw_col64_at(assign->attempt, (uint32_t)gw_col64_at(assign->dep_bytes, dep));
            }
            dep++;
        }
        assert_int_equal(gw_array_push(&actor->queue, given), 0);
    }
    actor->ready = false;
}

static void on_spawn(struct random *r, const struct gw_msg_spawn *spawn)
{
    struct actor *actor = calloc(1, sizeof *actor);
    *actor = (struct actor){.id = spawn->process, .runner = spawn->runner, .behind = spawn->behind};
    assert_int_equal(gw_array_push(&r->actors, actor), 0);
}

/* After a registration, the scheduler treats attempts that it does not list as ended. */
static void on_registration(struct random *r, const struct gw_msg_registration *now)
{
    gw_map_deinit(&r->live);
    for (uint32_t i = 0; i < now->attempt.count; i++)
        assert_int_equal(
            gw_map_put(&r->live,
                       key(gw_col64_at(now->attempt, i), gw_col32_at(now->attempt_rank, i)), 1),
            0);
}

static void on_sent(struct random *r, const struct gw_message *message, uint64_t to)
{
    struct actor *actor;
    switch (message->type) {
    case GW_MESSAGE_spawn:
        on_spawn(r, &message->spawn);
        break;
    case GW_MESSAGE_reap:
        actor = actor_of(r, message->reap.process);
        assert_non_null(actor);
        actor->reaped_asked = true;
        break;
    case GW_MESSAGE_assign:
        on_work(r, to, &message->assign);
        break;
    case GW_MESSAGE_actor_end:
        actor = actor_of(r, to - RUNNER);
        assert_true(actor && actor->keeps);
        actor->let_go = true;
        break;
    case GW_MESSAGE_gang_start:
        actor = actor_of(r, to - RUNNER);
        assert_non_null(actor);
        actor->go = message->gang_start.attempt;
        break;
    case GW_MESSAGE_rank_ready:
        for (size_t i = 0; i < r->gangs.count; i++)
            r->gangs.items[i].ready += r->gangs.items[i].attempt == message->rank_ready.attempt;
        break;
    case GW_MESSAGE_fetch:
        assert_int_equal(gw_array_push(&r->fetches, message->fetch), 0);
        assert_int_equal(gw_array_push(&r->fetched_from, to), 0);
        break;
    case GW_MESSAGE_heartbeat:
        r->heartbeat = message->heartbeat.number;
        break;
    case GW_MESSAGE_registration:
        on_registration(r, &message->registration);
        break;
    case GW_MESSAGE_ended:
        on_end(r, message->ended.attempt, message->ended.rank);
        break;
    case GW_MESSAGE_failures:
        for (uint32_t i = 0; i < message->failures.attempt.count; i++)
            on_end(r, gw_col64_at(message->failures.attempt, i), GW_RANK_NONE);
        break;
    case GW_MESSAGE_finished:
        for (uint32_t i = 0; i < message->finished.attempt.count; i++)
            on_end(r, gw_col64_at(message->finished.attempt, i),
                   gw_col32_at(message->finished.rank, i));
        break;
    default:
        break;
    }
}

static void absorb(struct random *r)
{
    for (size_t i = 0; i < r->w->sent.count; i++)
        on_sent(r, &r->w->sent.items[i], r->w->sent_to.items[i]);
    forget_sent(r->w);
    gw_arena_reset(&r->w->arena);
}

/* -- The scheduler -------------------------------------------------------------------------------
 */

static void born(struct random *r, uint64_t attempt, uint32_t rank)
{
    assert_int_equal(gw_map_put(&r->live, key(attempt, rank), 1), 0);
}

static void new_task(struct random *r)
{
    static const uint32_t specs[] = {SPEC_F, SPEC_F, SPEC_F, SPEC_G, SPEC_COMMAND, SPEC_LIMITED};
    static const uint32_t workers[] = {0, NEIGHBOUR, NEIGHBOUR, STRANGER};
    struct dep dep = {.job = 8,
                      .index = (uint32_t)(next(r) % 4),
                      .worker = workers[next(r) % (sizeof workers / sizeof *workers)]};
    if (chance(r, 60)) { /* the result of an attempt that runs or ran here */
        dep.worker = GW_DEP_HERE;
        dep.maker = r->attempt - next(r) % (r->attempt < 5 ? r->attempt + 1 : 5);
    }
    struct task task = {.attempt = ++r->attempt,
                        .spec = specs[next(r) % (sizeof specs / sizeof *specs)],
                        .dep = chance(r, 45) ? &dep : NULL};
    task.index = (uint32_t)task.attempt;
    if (r->actor_made && chance(r, 20)) {
        task.job = r->actor_made + CALLS;
        task.spec = SPEC_CALL;
    }
    born(r, task.attempt, GW_RANK_NONE);
    must_assign(r->w, task);
}

static void specs_of_actor(struct random *r)
{
    if (!r->actor_made)
        return;
    struct gw_msg_spec spec = {.key = r->actor_made,
                               .number = SPEC_ACTOR,
                               .kind = GW_SPEC_FUNCTION,
                               .function = chance(r, 95) ? "f" : "unknown",
                               .cwd = "/",
                               .actor = GW_ACTOR_NEW};
    send_spec(r->w, spec);
    spec.key += CALLS;
    spec.number = SPEC_CALL;
    spec.function = "f";
    spec.actor = r->actor_made;
    send_spec(r->w, spec);
}

/* Only one actor lives at a time: it occupies a slot, and the others are for a gang. */
static void new_actor(struct random *r)
{
    if (r->actor_made && gw_map_get(&r->live, key(r->actor_made, GW_RANK_NONE), NULL))
        return;
    r->actor_made = ++r->attempt;
    struct task task = {.attempt = r->actor_made, .spec = SPEC_ACTOR, .job = r->actor_made};
    born(r, task.attempt, GW_RANK_NONE);
    specs_of_actor(r);
    must_assign(r->w, task);
}

static void new_gang(struct random *r)
{
    struct gang gang = {.attempt = ++r->attempt};
    uint32_t spec = chance(r, 50) ? SPEC_GANG_F : SPEC_GANG_COMMAND;
    for (size_t i = 0; i < r->gangs.count; i++) /* the scheduler has reserved their slots */
        for (uint32_t rank = 0; rank < 2; rank++)
            if (gw_map_get(&r->live, key(r->gangs.items[i].attempt, rank), NULL))
                return;
    assert_int_equal(gw_array_push(&r->gangs, gang), 0);
    deliver(r->w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang, .gang = {gang.attempt, 2, 0, 2, 0, 1}});
    for (uint32_t rank = 0; rank < 2; rank++) {
        born(r, gang.attempt, rank);
        must_assign(r->w, (struct task){.attempt = gang.attempt, .spec = spec, .rank = rank + 1});
    }
}

static void lead_gangs(struct random *r)
{
    for (size_t i = 0; i < r->gangs.count; i++) {
        struct gang *gang = &r->gangs.items[i];
        if (!gang->leased) {
            uint64_t token = 60;
            gang->leased = true;
            raise_event(r->w, (struct gw_event){.type = GW_EVENT_LEASED,
                                                .number = gang->attempt,
                                                .code = chance(r, 90) ? 4321 : GW_EIO,
                                                .text = "127.0.0.1",
                                                .tokens = &token,
                                                .token_count = 1});
        } else if (gang->ready == 2 && !gang->went) {
            struct gw_message go = {.type = GW_MESSAGE_gang_start};
            go.gang_start.attempt = gang->attempt;
            gang->went = true;
            deliver(r->w, SCHEDULER, go);
        }
        absorb(r);
    }
}

static void kill_something(struct random *r)
{
    size_t at = next(r) % (r->live.capacity ? r->live.capacity : 1);
    uint64_t found;
    if (gw_map_next(&r->live, &at, &found, NULL))
        kill_attempt(r->w, found / 4, chance(r, 50) ? GW_KILL_GANG : GW_KILL_CANCEL);
}

/* No client holds the actor any more. */
static void release_actor(struct random *r)
{
    if (r->actor_made && gw_map_get(&r->live, key(r->actor_made, GW_RANK_NONE), NULL))
        kill_attempt(r->w, r->actor_made, GW_KILL_RELEASE);
}

static void end_partners(struct random *r)
{
    for (size_t i = 0; i < r->gangs.count; i++) {
        uint64_t attempt = r->gangs.items[i].attempt;
        bool one = gw_map_get(&r->live, key(attempt, 0), NULL);
        bool two = gw_map_get(&r->live, key(attempt, 1), NULL);
        if (one != two && (r->healing || chance(r, 50)))
            kill_attempt(r->w, attempt, GW_KILL_GANG);
        absorb(r);
    }
}

static void specs(struct random *r)
{
    for (uint32_t i = 0; i <= SPEC_LIMITED; i++) {
        bool command = i == SPEC_COMMAND || i == SPEC_GANG_COMMAND;
        struct gw_msg_spec spec = {.number = i,
                                   .kind = command ? GW_SPEC_COMMAND : GW_SPEC_FUNCTION,
                                   .function = i == SPEC_G ? "g" : "f",
                                   .cwd = i == SPEC_G ? "/elsewhere" : "/",
                                   .time_limit_ns = i == SPEC_LIMITED ? SECOND : 0};
        send_spec(r->w, spec);
    }
    specs_of_actor(r);
    program_ready(r->w, 0, "/d/programs/p/prog");
    deliver(
        r->w, SCHEDULER,
        (struct gw_message){.type = GW_MESSAGE_neighbour, .neighbour = {NEIGHBOUR, "/d/other"}});
}

static void reconnect(struct random *r)
{
    raise_event(r->w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    r->w->scheduler_closed = false;
    absorb(r);
    if (chance(r, 30))
        tick(r->w, 11 * SECOND); /* long enough for the heartbeat timeout */
    open_scheduler(r->w);
    absorb(r);
    specs(r);
    uint64_t found;
    GW_ARRAY(uint64_t) stale = {0};
    for (size_t at = 0; gw_map_next(&r->live, &at, &found, NULL);)
        assert_int_equal(gw_array_push(&stale, found / 4), 0);
    for (size_t i = 0; i < stale.count; i++) {
        kill_attempt(r->w, stale.items[i], GW_KILL_STALE);
        absorb(r);
    }
    gw_array_deinit(&stale);
}

static void answer_fetch(struct random *r)
{
    if (!r->fetches.count)
        return;
    size_t i = next(r) % r->fetches.count;
    struct gw_message object = {.type = GW_MESSAGE_object};
    object.object = (struct gw_msg_object){.request = r->fetches.items[i].request};
    uint64_t from = r->fetched_from.items[i], token = 70;
    bool large = chance(r, 50);
    object.object.code = chance(r, 15) ? GW_ENOENT : 0;
    object.object.bytes = large ? 10000 : 1;
    object.object.value = bin("\x07", large ? 0 : 1);
    gw_array_remove_swap(&r->fetches, i);
    gw_array_remove_swap(&r->fetched_from, i);
    assert_int_equal(deliver_with(r->w, from, object, &token, large), 0);
}

static void meet_neighbour(struct random *r)
{
    if (r->w->connects == 0)
        return;
    r->w->connects = 0;
    if (chance(r, 20))
        raise_event(r->w, (struct gw_event){
                              .type = GW_EVENT_CLOSE, .number = NEIGHBOUR, .text = "refused"});
    else
        raise_event(r->w,
                    (struct gw_event){.type = GW_EVENT_OPEN,
                                      .peer = {r->peer_open = PEER + 1000000 + next(r) % 1000},
                                      .number = NEIGHBOUR,
                                      .role = GW_ROLE_PEER});
}

static void lose_neighbour(struct random *r)
{
    if (!r->peer_open)
        return;
    raise_event(r->w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {r->peer_open}, .text = "lost"});
    r->peer_open = 0;
}

/* -- Processes -----------------------------------------------------------------------------------
 */

/* Rows that take the result of a failed row, and rows that take theirs. */
static void skip_after(struct actor *actor, uint64_t failed)
{
    for (size_t i = 0; i < actor->queue.count;) {
        struct given *given = &actor->queue.items[i];
        if (given->takes != failed) {
            i++;
            continue;
        }
        uint64_t skipped = given->attempt;
        memmove(given, given + 1, (--actor->queue.count - i) * sizeof *given);
        skip_after(actor, skipped);
    }
}

/* A row that failed, and some behind it that fail alike. */
static void report_alike(struct random *r, struct actor *actor, uint64_t failed)
{
    enum { ALIKE_MAX = 4 };
    uint64_t attempts[ALIKE_MAX] = {failed}, run_ns[ALIKE_MAX] = {1000};
    struct gw_message message = {.type = GW_MESSAGE_failures};
    uint32_t count = 1;
    skip_after(actor, failed);
    for (; count < ALIKE_MAX && actor->queue.count && chance(r, 70); count++) {
        const struct given next_one = actor->queue.items[0];
        if (next_one.makes || next_one.rank != GW_RANK_NONE)
            break;
        memmove(&actor->queue.items[0], &actor->queue.items[1],
                --actor->queue.count * sizeof *actor->queue.items);
        skip_after(actor, next_one.attempt);
        attempts[count] = next_one.attempt;
        run_ns[count] = count * MS;
    }
    message.failures = (struct gw_msg_failures){.code = GW_ETASK,
                                                .text = "no",
                                                .stderr_tail = "",
                                                .attempt = {attempts, count},
                                                .run_ns = {run_ns, count}};
    deliver(r->w, RUNNER + actor->id, message);
}

static void report(struct random *r, struct actor *actor)
{
    struct given head = actor->queue.items[0];
    uint64_t id = actor->id;
    memmove(&actor->queue.items[0], &actor->queue.items[1],
            (actor->queue.count - 1) * sizeof *actor->queue.items);
    actor->queue.count--;
    if (head.makes && chance(r, 85)) {
        actor->keeps = true;
        deliver(r->w, RUNNER + id,
                (struct gw_message){.type = GW_MESSAGE_actor_ready, .actor_ready = {head.attempt}});
        return;
    }
    if (!head.makes && chance(r, 85)) {
        assert_int_equal(finish(r->w, id, head.attempt, head.rank, chance(r, 20) ? 10000 : 0,
                                chance(r, 80) ? 1000 : 50 * MS),
                         0);
        return;
    }
    if (!head.makes && !actor->keeps && head.rank == GW_RANK_NONE && chance(r, 70)) {
        report_alike(r, actor, head.attempt);
        return;
    }
    struct gw_message ended = {.type = GW_MESSAGE_ended};
    ended.ended = (struct gw_msg_ended){.attempt = head.attempt,
                                        .rank = head.rank,
                                        .outcome = GW_OUTCOME_FAILED,
                                        .code = GW_ETASK,
                                        .executing = 1};
    skip_after(actor, head.attempt);
    deliver(r->w, RUNNER + id, ended);
}

/* An end arrives in pieces, in this order except for the closing of the link. */
static void die(struct random *r, struct actor *actor)
{
    uint64_t id = actor->id;
    struct gw_msg_exited exited = {.process = id, .signal = 9};
    exited.executing = actor->keeps && actor->queue.count ? actor->queue.items[0].attempt : 0;
    if (exited.executing)
        deliver(r->w, SUPERVISOR, (struct gw_message){.type = GW_MESSAGE_exited, .exited = exited});
    else if (actor->runner && chance(r, 40))
        runner_closes(r->w, id);
    else
        exits(r->w, id, chance(r, 30) ? 3 : 0, chance(r, 60) ? 9 : 0);
    absorb(r);
    exits(r->w, id, 0, 9); /* if the link was closed first; else reported before */
    absorb(r);
    reap(r->w, id);
    absorb(r);
    if (actor->runner)
        runner_closes(r->w, id);
    absorb(r);
    actor->gone = true;
    gw_array_deinit(&actor->queue);
}

static void fail_to_start(struct random *r, struct actor *actor)
{
    uint64_t id = actor->id;
    spawned(r->w, id, GW_ESTART, "no such file");
    absorb(r);
    runner_closes(r->w, id);
    absorb(r);
    actor->gone = true;
}

/* Whether it still has to wait; some are returned without having started. */
static bool waits(struct random *r, struct actor *actor)
{
    for (size_t i = r->actors.count;
         i-- > 0;) /* backwards: each may be behind a process before it */
        if (r->actors.items[i]->id == actor->behind && r->actors.items[i]->gone)
            actor->behind = r->actors.items[i]->behind; /* 0: it started, and is reaped */
    if (!actor->behind)
        return false;
    if (actor->reaped_asked || chance(r, 20)) {
        actor->gone = true;
        spawned(r->w, actor->id, actor->reaped_asked ? GW_ECANCELLED : GW_EAGAIN, "not begun");
        absorb(r);
    }
    return true;
}

static void act(struct random *r, struct actor *actor)
{
    if (actor->gone || waits(r, actor))
        return;
    if (!actor->started && chance(r, 10)) {
        fail_to_start(r, actor);
        return;
    }
    actor->started = true;
    if (actor->reaped_asked || (actor->let_go && !actor->queue.count) ||
        (chance(r, r->healing ? 2 : 5) && !r->healing) || (!actor->runner && chance(r, 40))) {
        die(r, actor);
        return;
    }
    if (!actor->runner) {
        spawned(r->w, actor->id, 0, "");
    } else if (!actor->hello) {
        actor->hello = true;
        hello(r->w, actor->id, GW_PROTOCOL);
    } else if (actor->queue.count) {
        struct given head = actor->queue.items[0];
        if (head.rank == GW_RANK_NONE || actor->go == head.attempt) {
            report(r, actor);
        } else if (!actor->ready) {
            actor->ready = true;
            deliver(r->w, RUNNER + actor->id,
                    (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                        .rank_ready = {head.attempt, head.rank, {0}}});
        }
    }
}

static void pass_time(struct random *r)
{
    tick(r->w, next(r) % (2 * SECOND));
    absorb(r);
    if (r->heartbeat && (r->healing || chance(r, 90)))
        deliver(r->w, SCHEDULER,
                (struct gw_message){.type = GW_MESSAGE_heartbeat,
                                    .heartbeat = {++r->acked, r->heartbeat, 0}});
}

/* -- Runs ----------------------------------------------------------------------------------------
 */

static void world_goes_on(struct random *r)
{
    lead_gangs(r);
    end_partners(r);
    meet_neighbour(r);
    absorb(r);
    size_t count = r->actors.count;
    if (count) {
        act(r, r->actors.items[next(r) % count]);
        absorb(r);
        act(r, r->actors.items[count - 1 - next(r) % (count < 4 ? count : 4)]);
        absorb(r);
    }
    if (r->w->scheduler_closed)
        reconnect(r);
    absorb(r);
}

static void do_something(struct random *r)
{
    uint64_t choice = next(r) % 100;
    if (choice < 45)
        new_task(r);
    else if (choice < 52)
        new_gang(r);
    else if (choice < 60)
        kill_something(r);
    else if (choice < 75)
        pass_time(r);
    else if (choice < 90)
        answer_fetch(r);
    else if (choice < 92)
        lose_neighbour(r);
    else if (choice < 94)
        reconnect(r);
    else if (choice < 97)
        new_actor(r);
    else
        release_actor(r);
    absorb(r);
}

static void heal(struct random *r)
{
    r->healing = true;
    for (int i = 0; i < 20000 && r->live.count; i++) {
        if (i % 16 == 0)
            pass_time(r);
        absorb(r);
        answer_fetch(r);
        absorb(r);
        release_actor(r);
        absorb(r);
        world_goes_on(r);
    }
    uint64_t left = 0;
    size_t at = 0;
    if (gw_map_next(&r->live, &at, &left, NULL))
        fail_msg("attempt %" PRIu64 " (of %zu) never ends", left / 4, r->live.count);
}

static void run(uint64_t seed)
{
    struct random r = {.w = new_world(SLOTS), .seed = seed};
    absorb(&r);
    specs(&r);
    for (int i = 0; i < STEPS; i++) {
        do_something(&r);
        world_goes_on(&r);
    }
    heal(&r);
    raise_event(r.w, (struct gw_event){.type = GW_EVENT_SHUTDOWN});
    absorb(&r);
    for (size_t i = 0; i < r.actors.count; i++)
        if (!r.actors.items[i]->gone)
            die(&r, r.actors.items[i]);
    assert_int_equal(r.w->exits, 1);
    for (size_t i = 0; i < r.actors.count; i++)
        free(r.actors.items[i]);
    gw_array_deinit(&r.actors);
    gw_array_deinit(&r.gangs);
    gw_array_deinit(&r.fetches);
    gw_array_deinit(&r.fetched_from);
    gw_map_deinit(&r.live);
    free_world(r.w);
}

static uint64_t first_seed = 1, last_seed = SEEDS, seed_now;

static void random_event_sequences_violate_no_invariant(void **state)
{
    transitions_count();
    for (seed_now = first_seed; seed_now <= last_seed; seed_now++)
        run(seed_now);
    if (first_seed != last_seed)
        transitions_want_all();
}

static int tell_seed(void **state)
{
    if (seed_now <= last_seed)
        fprintf(stderr, "replay: test_node_random %" PRIu64 "\n", seed_now);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        first_seed = last_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        last_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(random_event_sequences_violate_no_invariant, tell_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
