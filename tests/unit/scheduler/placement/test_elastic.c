/* Elastic gangs: with how many ranks they start, when they wait for their full size, and when
 * smaller ones restart with more. */
#include "tests/unit/scheduler/sched_world.h"

#define SECOND (1000 * MS)

enum { RANKS_MAX = 16, WORKERS = 4 };

/* A placed attempt. */
struct placed {
    uint64_t attempt;
    uint32_t count, world;
    int worker[RANKS_MAX]; /* by rank */
};

static uint64_t request; /* the last request */

/* The gang placed by the last step; count 0: none. */
static struct placed placed_now(const struct world *w)
{
    struct placed placed = {0};
    for (int worker = 0; worker < WORKERS; worker++) {
        const struct gw_message *assign = sent(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign, 0);
        for (uint32_t i = 0; assign && i < assign->assign.attempt.count; i++, placed.count++) {
            placed.attempt = attempt_in(assign, i);
            placed.worker[gw_col32_at(assign->assign.rank, i)] = worker;
            placed.world = must(w, WORKER + (uint64_t)worker, GW_MESSAGE_gang)->gang.world;
        }
    }
    assert_int_equal(placed.count, placed.world);
    return placed;
}

static struct placed submit_gang(struct world *w, struct gw_msg_spec spec)
{
    submit_task(w, ++request, spec);
    return placed_now(w);
}

/* All of its ranks report ready and start. */
static void go(struct world *w, const struct placed *placed)
{
    for (uint32_t i = 0; i < placed->count; i++)
        say(w, WORKER + (uint64_t)placed->worker[i],
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {placed->attempt, i, {"", 0}}});
    must(w, WORKER + (uint64_t)placed->worker[0], GW_MESSAGE_gang_start);
}

/* A worker is lost, and the other ranks of the gang are ended. */
static struct placed lose(struct world *w, int worker, const struct placed *placed)
{
    step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)worker}});
    for (uint32_t i = 0; i < placed->count; i++)
        if (placed->worker[i] != worker)
            attempt_ended(w, placed->worker[i],
                          (struct gw_msg_ended){
                              .attempt = placed->attempt, .rank = i, .outcome = GW_OUTCOME_KILLED});
    return placed_now(w);
}

static struct placed placed_after(struct world *w, uint64_t ns)
{
    pass(w, ns);
    return placed_now(w);
}

static void save(struct world *w, const struct placed *placed, int64_t at)
{
    say(w, WORKER + (uint64_t)placed->worker[0],
        (struct gw_message){.type = GW_MESSAGE_checkpointed,
                            .checkpointed = {placed->attempt, 0, at}});
}

/* While the gang waits for its full size, it starts at the end of that timeout; a task that ends
 * before then may run. */
static void short_task_may_run_before_a_smaller_gang_start(void **state)
{
    const struct gw_msg_spec spec = {
        .ranks = 4, .min_ranks = 2, .full_size_timeout_ns = 12 * SECOND};
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 3, "a");
    assert_int_equal(submit_gang(w, spec).count, 0);
    submit_task(w, ++request,
                (struct gw_msg_spec){.time_limit_ns = 20 * SECOND, .grace_ns = SECOND});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 1, "it starts in about 12s");
    explained(w, 2, "a waiting gang of 4 ranks (there is room for 3)");
    explained(w, 2, "that gang starts in about 12s");
    submit_task(w, ++request,
                (struct gw_msg_spec){.time_limit_ns = 5 * SECOND, .grace_ns = SECOND});
    finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 1);
    w->now_ns += 8 * SECOND;
    submit_task(w, ++request,
                (struct gw_msg_spec){.time_limit_ns = 5 * SECOND, .grace_ns = SECOND});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_int_equal(placed_after(w, 5 * SECOND).count, 3);
    free_world(w);
}

static void elastic_gang_continues_smaller_after_a_host_loss(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    struct placed first = submit_gang(
        w, (struct gw_msg_spec){.ranks = 4, .min_ranks = 2, .full_size_timeout_ns = 30 * SECOND});
    assert_int_equal(first.count, 4);
    go(w, &first);
    struct placed second = lose(w, 1, &first);
    assert_int_equal(second.count, 2);
    go(w, &second);
    explained(w, 1, "runs with 2 of 4 ranks (--min-ranks 2)");
    explained(w, 1, "b was lost");
    finish(w, 0, second.attempt, 0, 1);
    finish(w, 0, second.attempt, 1, 1);
    const struct gw_msg_done *done = &must(w, CLIENT, GW_MESSAGE_done)->done;
    assert_int_equal(done->rank.count, 4); /* nil for ranks it did not have */
    assert_int_equal(gw_col64_at(done->bytes, 3), 1);
    assert_int_equal(((const uint8_t *)done->values.data)[done->values.size - 1], 0xc0);
    free_world(w);
}

static void elastic_gang_waits_below_its_minimum_size(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    struct placed first = submit_gang(w, (struct gw_msg_spec){.ranks = 4, .min_ranks = 3});
    assert_int_equal(first.count, 4);
    go(w, &first);
    assert_int_equal(lose(w, 1, &first).count, 0);
    assert_int_equal(placed_after(w, 11 * SECOND).count, 0);
    add_worker(w, 2, 1, "c");
    assert_int_equal(placed_now(w).count, 3);
    free_world(w);
}

static void first_attempt_waits_for_the_full_size_timeout(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(submit_gang(w, (struct gw_msg_spec){.ranks = 4,
                                                         .min_ranks = 2,
                                                         .full_size_timeout_ns = 10 * SECOND})
                         .count,
                     0);
    explained(w, 1, "it can start with 2 or more ranks (--min-ranks) in 10s");
    assert_int_equal(placed_after(w, 9 * SECOND).count, 0);
    assert_int_equal(placed_after(w, 2 * SECOND).count, 2);
    free_world(w);
}

/* Occupied slots become free again: the gang waits with a reservation, but no longer than its
 * timeout. */
static void elastic_gang_waits_for_occupied_slots(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    const struct gw_msg_spec spec = {
        .ranks = 4, .min_ranks = 1, .full_size_timeout_ns = 10 * SECOND};
    struct placed first = submit_gang(w, spec);
    go(w, &first);
    (void)submit_gang(w, (struct gw_msg_spec){.ranks = 2, .priority = 1});
    assert_int_equal(lose(w, 1, &first).count, 2); /* the other gang, which comes first */
    add_worker(w, 2, 3, "c");                      /* 3 of 4 slots are free, and 4 would fit */
    assert_int_equal(placed_now(w).count, 0);
    assert_int_equal(placed_after(w, 11 * SECOND).count, 3);
    free_world(w);
}

static void elastic_gang_shrinks_by_whole_nodes(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < 3; i++)
        add_worker(w, i, 3, (const char *[]){"a", "b", "c"}[i]);
    struct placed first =
        submit_gang(w, (struct gw_msg_spec){.ranks = 6, .ranks_per_node = 2, .min_ranks = 2});
    assert_int_equal(first.count, 6);
    go(w, &first);
    struct placed second = lose(w, 2, &first);
    assert_int_equal(second.count, 4); /* and not 6 on the 6 slots that are left */
    free_world(w);

    w = new_world();
    add_worker(w, 0, 4, "a");
    add_worker(w, 1, 3, "b");
    first = submit_gang(w, (struct gw_msg_spec){.ranks = 4, .ranks_per_node = 4, .min_ranks = 2});
    assert_int_equal(first.count, 4);
    go(w, &first);
    second = lose(w, 0, &first);
    assert_int_equal(second.count, 3); /* all on one host, as many as it holds */
    free_world(w);
}

/* The gang is told to return at the first checkpoint after slots became free; that counts
 * against no budget. */
static void elastic_gang_grows_at_a_checkpoint(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    struct placed first = submit_gang(w, (struct gw_msg_spec){.ranks = 4, .min_ranks = 2});
    go(w, &first);
    struct placed second = lose(w, 1, &first);
    go(w, &second);
    save(w, &second, 10);
    assert_null(sent(w, WORKER, GW_MESSAGE_control, 0)); /* there are no free slots */
    add_worker(w, 2, 2, "c");
    assert_null(sent(w, WORKER, GW_MESSAGE_control, 0));
    save(w, &second, 20);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, 1);
    explained(w, 1, "there is room again");
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {second.attempt, 0}});
    finish(w, 0, second.attempt, 0, 1);
    finish(w, 0, second.attempt, 1, 1);
    struct placed third = placed_now(w);
    assert_int_equal(third.count, 4);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.checkpoint, second.attempt);
    go(w, &third);
    save(w, &third, 30);
    assert_null(sent(w, WORKER, GW_MESSAGE_control, 0));
    free_world(w);
}

static void end_all(struct world *w, const struct placed *placed)
{
    for (uint32_t rank = 0; rank < placed->count; rank++)
        say(w, WORKER + (uint64_t)placed->worker[rank],
            (struct gw_message){.type = GW_MESSAGE_ended,
                                .ended = {.attempt = placed->attempt,
                                          .rank = rank,
                                          .outcome = GW_OUTCOME_GPU,
                                          .text = "",
                                          .stderr_tail = ""}});
}

/* Rank 0 starts at the worker with the checkpoint, and learns if that host is lost. */
static void gang_restarts_at_the_worker_with_its_checkpoint(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 1, 2, "b");
    struct placed first = submit_gang(w, (struct gw_msg_spec){.ranks = 2, .min_ranks = 1});
    assert_int_equal(first.worker[0], 1);
    go(w, &first);
    save(w, &first, 5);
    add_worker(w, 0, 3, "a");
    end_all(w, &first);
    struct placed second = placed_now(w);
    assert_int_equal(second.count, 2);
    assert_int_equal(second.worker[0], 1);
    const struct gw_msg_gang *told = &must(w, WORKER + 1, GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint == first.attempt && !told->checkpoint_lost);
    go(w, &second);
    struct placed third = lose(w, 1, &second);
    assert_int_equal(third.count, 2);
    told = &must(w, WORKER, GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint == first.attempt && told->checkpoint_lost);
    free_world(w);
}

/* Its worker was asked and has no checkpoint (of its copies). */
static void has_it_no_more(struct world *w, const struct placed *placed, int says, bool copy)
{
    const uint64_t rank_0 = WORKER + (uint64_t)placed->worker[0];
    const uint32_t from = must(w, rank_0, GW_MESSAGE_gang)->gang.transfer_worker;
    say(w, WORKER + (uint64_t)says,
        (struct gw_message){.type = GW_MESSAGE_transfer_absent,
                            .transfer_absent = {placed->attempt, from, copy, "it is not there"}});
    end_all(w, placed);
}

/* After a worker reports that it has no checkpoint, the copy is used, and then step 0. */
static void worker_without_the_checkpoint_is_not_asked_again(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    struct placed at = submit_gang(w, (struct gw_msg_spec){.ranks = 2});
    const int home = at.worker[0], other = at.worker[1];
    const uint64_t saved = at.attempt;
    go(w, &at);
    save(w, &at, 5);
    const struct gw_msg_checkpoint_transfer copied =
        must(w, WORKER + (uint64_t)other, GW_MESSAGE_checkpoint_transfer)->checkpoint_transfer;
    say(w, WORKER + (uint64_t)other,
        (struct gw_message){
            .type = GW_MESSAGE_checkpoint_transferred,
            .checkpoint_transferred = {copied.job, 0, saved, 5, copied.worker, 0, ""}});
    end_all(w, &at);

    at = placed_now(w);
    assert_int_equal(at.worker[0], home);
    const struct gw_msg_gang *told = &must(w, WORKER + (uint64_t)home, GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint == saved && told->transfer_worker == copied.worker);
    assert_int_equal(told->transfer_copy, 0); /* only a search, not a copy */
    has_it_no_more(w, &at, other, false);     /* a report of a worker without rank 0 is ignored */
    at = placed_now(w);
    told = &must(w, WORKER + (uint64_t)home, GW_MESSAGE_gang)->gang;
    assert_int_equal(told->transfer_worker, copied.worker);
    has_it_no_more(w, &at, home, true); /* and so is a report about another checkpoint */
    at = placed_now(w);
    told = &must(w, WORKER + (uint64_t)home, GW_MESSAGE_gang)->gang;
    assert_int_equal(told->transfer_worker, copied.worker);

    has_it_no_more(w, &at, home, false);
    at = placed_now(w);
    told = &must(w, WORKER + (uint64_t)at.worker[0], GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint == saved && told->transfer_copy && !told->checkpoint_lost);
    assert_int_not_equal(told->transfer_worker, copied.worker);
    explained(w, 1, "does not have any more, and ");

    has_it_no_more(w, &at, at.worker[0], true);
    at = placed_now(w);
    told = &must(w, WORKER + (uint64_t)at.worker[0], GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint_lost && !told->transfer_worker);
    go(w, &at);
    save(w, &at, 1); /* a new checkpoint works again */
    end_all(w, &at);
    at = placed_now(w);
    told = &must(w, WORKER + (uint64_t)at.worker[0], GW_MESSAGE_gang)->gang;
    assert_true(told->checkpoint != saved && told->transfer_worker && !told->checkpoint_lost);
    free_world(w);
}

/* The files of command ranks lie on several hosts. The worker of rank 0 collects them from all
 * hosts that are still there, and then the other workers fetch the same folder. */
static void checkpoint_folder_is_transferred_to_all_hosts(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < 3; i++)
        add_worker(w, i, 1, (const char *[]){"a", "b", "c"}[i]);
    struct placed at = submit_gang(w, (struct gw_msg_spec){.ranks = 3, .kind = GW_SPEC_COMMAND});
    const uint64_t rank_0 = WORKER + (uint64_t)at.worker[0];
    const uint64_t rank_1 = WORKER + (uint64_t)at.worker[1];
    assert_int_equal(must(w, rank_0, GW_MESSAGE_gang)->gang.transfer_worker,
                     0); /* no worker has a checkpoint */
    assert_int_equal(must(w, rank_1, GW_MESSAGE_gang)->gang.transfer_after, 0);
    go(w, &at);
    end_all(w, &at);
    at = placed_now(w);
    assert_int_equal(WORKER + (uint64_t)at.worker[0], rank_0);
    const struct gw_msg_gang *told = &must(w, rank_0, GW_MESSAGE_gang)->gang;
    const uint32_t home = told->transfer_worker;
    assert_true(home && !told->transfer_member &&
                !told->transfer_after); /* it is at this worker itself */
    assert_int_equal(told->transfer_others.count, 2);
    told = &must(w, rank_1, GW_MESSAGE_gang)->gang;
    assert_true(told->transfer_worker == home && told->transfer_after &&
                !told->transfer_others.count);
    assert_null(sent(w, rank_1, GW_MESSAGE_transfer_go, 0));
    say(w, rank_0,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {at.attempt, 0, {"", 0}}});
    assert_int_equal(must(w, rank_1, GW_MESSAGE_transfer_go)->transfer_go.attempt, at.attempt);
    assert_null(sent(w, rank_0, GW_MESSAGE_transfer_go, 0));
    for (uint32_t i = 1; i < 3; i++)
        say(w, WORKER + (uint64_t)at.worker[i],
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {at.attempt, i, {"", 0}}});

    add_worker(w, 3, 1, "d"); /* a lost worker is not asked, and a new worker has nothing */
    at = lose(w, at.worker[1], &at);
    assert_int_equal(at.count, 3);
    told = &must(w, rank_0, GW_MESSAGE_gang)->gang;
    assert_int_equal(told->transfer_others.count, 1);
    assert_int_equal(must(w, WORKER + 3, GW_MESSAGE_gang)->gang.transfer_after, 1);
    assert_true(event_log_says(w, 1, "ranks there wrote since they started are lost"));
    free_world(w);
}

/* A command may have saved a checkpoint that the scheduler does not know of, so the restart from
 * step 0 is logged. Nothing is logged if its host is still there and can be asked, or if it
 * never started. */
static void event_log_warns_if_a_command_gang_restarts_from_step_0(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    struct placed at = submit_gang(w, (struct gw_msg_spec){.ranks = 1, .kind = GW_SPEC_COMMAND});
    at = lose(w, at.worker[0], &at); /* before the gang started */
    assert_int_equal(at.count, 1);
    assert_false(event_log_says(w, 1, "STARTS FROM STEP 0"));
    go(w, &at);
    end_all(w, &at);
    at = placed_now(w);
    assert_false(event_log_says(w, 1, "STARTS FROM STEP 0"));
    go(w, &at);
    add_worker(w, 2, 1, "c");
    at = lose(w, at.worker[0], &at);
    assert_int_equal(at.worker[0], 2);
    assert_true(event_log_says(w, 1, "no checkpoint of it was seen"));
    assert_true(event_log_says(w, 1, "STARTS FROM STEP 0"));
    free_world(w);
}

static uint32_t try_number_now(struct world *w, const struct placed *placed)
{
    const struct gw_message *assign =
        must(w, WORKER + (uint64_t)placed->worker[0], GW_MESSAGE_assign);
    return gw_col32_at(assign->assign.try_number, 0);
}

/* The steps that a command saved are unknown, and an attempt that never started does not count. */
static void attempt_that_did_not_begin_is_not_counted(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    struct placed at = submit_gang(w, (struct gw_msg_spec){.ranks = 1, .kind = GW_SPEC_COMMAND});
    assert_int_equal(try_number_now(w, &at), 0);
    go(w, &at);
    save(w, &at, 9);
    end_all(w, &at);
    at = placed_now(w);
    assert_int_equal(try_number_now(w, &at), 1);
    has_it_no_more(w, &at, 0, false);
    at = placed_now(w);
    assert_int_equal(try_number_now(w, &at), 1);
    assert_true(event_log_says(w, 1, "a DOES NOT HAVE ITS CHECKPOINT ANY MORE"));
    assert_true(event_log_says(w, 1, "attempt 2 did not begin: rank 0 on a"));
    assert_true(event_log_says(w, 1, "a, which saved its checkpoint, does not have it any more"));
    go(w, &at);
    assert_true(event_log_says(w, 1, "attempt 2 starts"));
    struct gw_value *attempts = ask(w, "attempts", 1, 0);
    assert_int_equal(gw_value_count(attempts), 2);
    gw_value_unref(attempts);
    free_world(w);
}

/* The folder changes during each copy. A single copy may fail, but repeated failures are
 * reported. */
static void repeated_checkpoint_copy_failure_is_logged(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    struct placed at = submit_gang(w, (struct gw_msg_spec){.ranks = 2, .kind = GW_SPEC_COMMAND});
    const uint64_t other = WORKER + (uint64_t)at.worker[1];
    go(w, &at);
    for (int64_t saves = 1; saves <= 4; saves++) {
        assert_int_equal(event_log_says(w, 1, "NO COPY"), saves > 3);
        save(w, &at, saves);
        const struct gw_msg_checkpoint_transfer asked =
            must(w, other, GW_MESSAGE_checkpoint_transfer)->checkpoint_transfer;
        say(w, other,
            (struct gw_message){.type = GW_MESSAGE_checkpoint_transferred,
                                .checkpoint_transferred = {asked.job, 0, at.attempt, saves,
                                                           asked.worker, GW_EAGAIN,
                                                           "x has changed while it was copied"}});
    }
    explained(w, 1, "no other host has a copy: x has changed");
    free_world(w);
}

/* Whatever else a gang requests, rank 0 returns to its worker, although others have more slots and
 * come first by name. other: where the last rank is then. crowded: half of the home worker is
 * occupied meanwhile. */
static void goes_home(struct gw_msg_spec spec, int other, bool crowded)
{
    struct world *w = new_world();
    add_worker(w, 3, spec.ranks, "d");
    struct placed first = submit_gang(w, spec);
    assert_int_equal(first.count, spec.ranks);
    go(w, &first);
    if (spec.kind != GW_SPEC_COMMAND)
        save(w, &first, 5);
    if (crowded) {
        assert_int_equal(submit_gang(w, (struct gw_msg_spec){.ranks = 2, .priority = 1}).count, 0);
        end_all(w, &first);
        add_worker(w, 0, spec.ranks, "a");
    } else {
        for (int i = 0; i < 3; i++)
            add_worker(w, i, spec.ranks + 1, (const char *[]){"a", "b", "c"}[i]);
        end_all(w, &first);
    }
    struct placed second = placed_now(w);
    assert_int_equal(second.count, spec.ranks);
    assert_int_equal(second.worker[0], 3);
    assert_int_equal(second.worker[spec.ranks - 1], other);
    free_world(w);
}

static void rank_0_returns_to_its_checkpoint_in_every_layout(void **state)
{
    (void)state;
    goes_home((struct gw_msg_spec){.ranks = 2, .spread = 1}, 0, false);
    goes_home((struct gw_msg_spec){.ranks = 2, .ranks_per_node = 2}, 3, false);
    goes_home((struct gw_msg_spec){.ranks = 4, .kind = GW_SPEC_COMMAND}, 3, false);
    goes_home((struct gw_msg_spec){.ranks = 4}, 0, true);
}

static void impossible_elastic_sizes_are_refused(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    static const struct {
        struct gw_msg_spec spec;
        const char *text;
    } cases[] = {
        {{.ranks = 2, .min_ranks = 3}, "a minimum of 3 ranks"},
        {{.ranks = 4, .ranks_per_node = 2, .min_ranks = 3}, "a multiple of 2"},
        {{.ranks = 8, .min_ranks = 3}, "a gang of 3"}, /* even the minimum does not fit */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_msg_spec spec = cases[i].spec;
        spec.key = 100 + i;
        send_spec(w, spec);
        assert_non_null(strstr(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.text, cases[i].text));
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_task_may_run_before_a_smaller_gang_start),
        cmocka_unit_test(elastic_gang_continues_smaller_after_a_host_loss),
        cmocka_unit_test(elastic_gang_waits_below_its_minimum_size),
        cmocka_unit_test(first_attempt_waits_for_the_full_size_timeout),
        cmocka_unit_test(elastic_gang_waits_for_occupied_slots),
        cmocka_unit_test(elastic_gang_shrinks_by_whole_nodes),
        cmocka_unit_test(elastic_gang_grows_at_a_checkpoint),
        cmocka_unit_test(gang_restarts_at_the_worker_with_its_checkpoint),
        cmocka_unit_test(worker_without_the_checkpoint_is_not_asked_again),
        cmocka_unit_test(checkpoint_folder_is_transferred_to_all_hosts),
        cmocka_unit_test(event_log_warns_if_a_command_gang_restarts_from_step_0),
        cmocka_unit_test(attempt_that_did_not_begin_is_not_counted),
        cmocka_unit_test(repeated_checkpoint_copy_failure_is_logged),
        cmocka_unit_test(rank_0_returns_to_its_checkpoint_in_every_layout),
        cmocka_unit_test(impossible_elastic_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
