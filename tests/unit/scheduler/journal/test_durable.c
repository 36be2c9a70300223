/* Durable facts over restarts of the scheduler's core: the state they restore, and what is left of
 * them once jobs are forgotten. */
#include "tests/unit/scheduler/sched_world.h"

#include <gangway/options.h>

#include <stdio.h>
#include <stdlib.h>

/* The committed facts, and a world that begins with them. */
struct lives {
    struct gw_buffer facts;
    struct world *w;
    bool keeps_workers; /* workers live on while there is no scheduler */
    bool alone;         /* and have not reconnected when it begins */
    uint64_t begin_ns;  /* by the scheduler's clocks; 0: one millisecond */
    uint32_t history;   /* ended jobs that the scheduler lists; 0: one */
};

static void append(struct lives *lives)
{
    const struct world *w = lives->w;
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_COMMIT)
            assert_int_equal(gw_buffer_append(&lives->facts, w->effects.list.items[i].bytes.data,
                                              w->effects.list.items[i].bytes.size),
                             0);
}

static void commit(struct lives *lives)
{
    append(lives);
    (void)step(lives->w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
    append(lives);
}

static void begin(struct lives *lives)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->now_ns = lives->begin_ns ? lives->begin_ns : MS;
    w->speaker = CLIENT;
    w->sched =
        gw_sched_new(&(struct gw_sched_options){.state_dir = "/s",
                                                .history_jobs = lives->history ? lives->history : 1,
                                                .keeps_workers = lives->keeps_workers});
    assert_int_equal(gw_sched_durable_restore(w->sched, lives->facts.data, lives->facts.size), 0);
    lives->w = w;
    (void)step(w, (struct gw_event){.type = GW_EVENT_START, .number = gw_sched_term(w->sched) + 1});
    append(lives);
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    if (!lives->alone)
        add_worker(w, 0, 1, "a");
}

static void end(struct lives *lives)
{
    free_world(lives->w);
    lives->w = NULL;
}

static uint64_t attempt_now(const struct lives *lives)
{
    return attempt_in(must(lives->w, WORKER, GW_MESSAGE_assign), 0);
}

/* A detached job of one task; returns its id, and its attempt if it is placed at once. */
static uint64_t submit_one(struct lives *lives, uint64_t request, uint64_t *attempt)
{
    send_spec(lives->w, (struct gw_msg_spec){.key = request});
    submit(lives->w, (struct chunk){request, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    if (attempt)
        *attempt = attempt_now(lives);
    commit(lives);
    return must(lives->w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
}

static void finish_one(struct lives *lives, uint64_t attempt)
{
    finish(lives->w, 0, attempt, GW_RANK_NONE, 3);
    commit(lives);
}

/* The client goes, and with it the futures that keep its jobs in the history. */
static void hang_up(struct lives *lives)
{
    (void)step(lives->w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {CLIENT}});
    commit(lives);
}

static void running_task_reruns_after_a_scheduler_restart(void **state)
{
    struct lives lives = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    uint64_t done = submit_one(&lives, 1, &attempt);
    finish_one(&lives, attempt);
    uint64_t job = submit_one(&lives, 2, &attempt);
    end(&lives);

    begin(&lives); /* adds the worker last: the job is placed there */
    assert_int_equal(gw_col64_at(must(lives.w, WORKER, GW_MESSAGE_assign)->assign.job, 0), job);
    uint64_t again = attempt_now(&lives);
    assert_int_not_equal(again, attempt);
    finish(lives.w, 0, attempt, GW_RANK_NONE,
           3); /* of the scheduler before: the message has no effect */
    assert_int_not_equal(gw_sched_idle_since_ns(lives.w->sched), 0);
    finish_one(&lives, again);
    assert_true(gw_sched_job_knows(lives.w->sched, done) ||
                gw_sched_job_knows(lives.w->sched, job));
    uint64_t next = submit_one(&lives, 1, &attempt);
    assert_true(next > job);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

static void restart_count_survives_a_scheduler_restart(void **state)
{
    struct lives lives = {0};
    struct gw_value *jobs, *arguments = gw_dict();
    uint64_t attempt;
    int64_t tries = 0;
    (void)state;
    begin(&lives);
    (void)submit_one(&lives, 1, &attempt);
    finish_one(&lives, attempt);
    end(&lives);
    begin(&lives);
    assert_int_equal(gw_sched_query(lives.w->sched, "jobs", arguments, &jobs, NULL), 0);
    assert_int_equal(gw_value_get_i64(gw_value_find(gw_value_at(jobs, 0), "tries"), &tries, NULL),
                     0);
    assert_int_equal(tries, 1);
    gw_value_unref(jobs);
    gw_value_unref(arguments);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* The table of an array's results needs them, also after a second restart. */
static void run_time_and_metrics_survive_a_scheduler_restart(void **state)
{
    struct lives lives = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    const uint64_t job = submit_one(&lives, 1, &attempt);
    for (uint64_t step = 1; step <= 3; step++) {
        say(lives.w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_metric,
                                .metric = {attempt, GW_RANK_NONE, (int64_t)step,
                                           step == 2 ? "accuracy" : "loss", 1.0 / (double)step,
                                           step, 0}});
        append(&lives);
    }
    pass(lives.w, 50 * MS);
    finish_one(&lives, attempt);
    for (int life = 0; life < 2; life++) {
        end(&lives);
        begin(&lives);
        struct gw_value *tasks = ask(lives.w, "tasks", (int64_t)job, -1);
        const struct gw_value *row = gw_value_at(tasks, 0);
        int64_t ran_ns = 0;
        const char *shown = "";
        (void)gw_value_get_i64(gw_value_find(row, "run_ns"), &ran_ns, NULL);
        (void)gw_value_get_str(gw_value_find(gw_value_find(row, "metric"), "shown"), &shown, NULL);
        assert_true(ran_ns >= (int64_t)(50 * MS) && ran_ns < (int64_t)(51 * MS));
        assert_string_equal(shown, "loss=0.333333 accuracy=0.5 (step 3)");
        gw_value_unref(tasks);
    }
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* The time of day decides. If the clock was set back, the task waits no longer than its backoff. */
static void retry_backoff_continues_after_a_scheduler_restart(void **state)
{
    struct lives lives = {.begin_ns = 100000 * MS};
    (void)state;
    begin(&lives);
    send_spec(lives.w, (struct gw_msg_spec){.key = 1, .retries = 3, .backoff_ns = 2000 * MS});
    submit(lives.w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    uint64_t attempt = attempt_now(&lives);
    commit(&lives);
    int64_t job = (int64_t)must(lives.w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    fail_attempt(lives.w, 0, attempt);
    commit(&lives);
    explained(lives.w, job, "it waits 2s before attempt 2 of 4");
    end(&lives);

    lives.begin_ns = 101500 * MS;
    begin(&lives);
    explained(lives.w, job, "it waits 500ms before attempt 2 of 4");
    end(&lives);

    lives.begin_ns = 60000 * MS;
    begin(&lives);
    explained(lives.w, job, "it waits 2s before attempt 2 of 4");
    pass(lives.w, 2000 * MS);
    attempt = attempt_now(&lives);
    end(&lives);

    lives.begin_ns = 130000 * MS;
    begin(&lives);
    (void)attempt_now(&lives);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* The scheduler died before the end of the attempt was reported; the cancelled task must not run
 * again. */
static void cancelled_task_does_not_rerun_after_a_restart(void **state)
{
    struct lives lives = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    uint64_t job = submit_one(&lives, 1, &attempt);
    say(lives.w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {1, job, GW_INDEX_ALL, 0}});
    must(lives.w, WORKER, GW_MESSAGE_kill);
    commit(&lives);
    end(&lives);
    begin(&lives);
    assert_null(sent(lives.w, WORKER, GW_MESSAGE_assign, 0));
    say(lives.w, CLIENT, (struct gw_message){.type = GW_MESSAGE_wait, .wait = {2, job}});
    commit(&lives);
    commit(&lives);
    end(&lives);
    struct gw_sched *sched = gw_sched_new(&(struct gw_sched_options){.state_dir = "/s"});
    assert_int_equal(gw_sched_durable_restore(sched, lives.facts.data, lives.facts.size), 0);
    assert_int_equal(gw_sched_idle_since_ns(sched), 0); /* no job is unfinished */
    gw_sched_free(sched);
    gw_buffer_deinit(&lives.facts);
}

static void job_ids_continue_after_a_clean_stop(void **state)
{
    struct lives lives = {0};
    uint64_t jobs[3];
    (void)state;
    for (int life = 0; life < 3; life++) {
        begin(&lives);
        jobs[life] = submit_one(&lives, 1, NULL);
        (void)step(lives.w, (struct gw_event){.type = GW_EVENT_STOP});
        commit(&lives);
        end(&lives);
    }
    assert_int_equal(jobs[1], jobs[0] + 1);
    assert_int_equal(jobs[2], jobs[0] + 2);
    gw_buffer_deinit(&lives.facts);
}

static uint64_t submit_keyed(struct lives *lives, uint64_t request, const char *key, bool *known)
{
    send_spec(lives->w, (struct gw_msg_spec){.key = request, .job_key = key});
    submit(lives->w, (struct chunk){request, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    commit(lives);
    const struct gw_msg_accepted *accepted =
        &must(lives->w, lives->w->speaker, GW_MESSAGE_accepted)->accepted;
    assert_int_equal(accepted->request, request);
    *known = accepted->known;
    return accepted->job;
}

/* This holds for the present scheduler and after a restart. */
static void repeated_job_key_returns_the_known_job(void **state)
{
    struct lives lives = {.history = 100};
    bool known;
    (void)state;
    begin(&lives);
    const uint64_t job = submit_keyed(&lives, 1, "a key", &known);
    assert_false(known);
    assert_int_not_equal(submit_keyed(&lives, 2, "another", &known), job);
    assert_false(known);
    send_spec(lives.w, (struct gw_msg_spec){.key = 3, .job_key = "a key"}); /* known at once */
    assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_accepted)->accepted.job, job);
    submit(lives.w, (struct chunk){3, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    assert_null(sent(lives.w, CLIENT, GW_MESSAGE_rejected, 0));
    assert_null(sent(lives.w, CLIENT, GW_MESSAGE_accepted, 0));
    end(&lives);
    begin(&lives);
    send_spec(lives.w, (struct gw_msg_spec){.key = 4, .job_key = "a key"});
    commit(&lives); /* the reply waits until everything before it is on disk */
    assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_accepted)->accepted.job, job);
    assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_accepted)->accepted.known, 1);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

enum { INSIDE = 40 };

/* A client inside the attempt of a task of the only worker. */
static void open_inside(struct lives *lives, uint64_t attempt)
{
    (void)step(lives->w, (struct gw_event){.type = GW_EVENT_OPEN,
                                           .peer = {INSIDE},
                                           .role = GW_ROLE_TASK,
                                           .number = attempt,
                                           .rank = GW_RANK_NONE,
                                           .text = "inside"});
    lives->w->speaker = INSIDE;
}

/* Twelve trials of a job that goes on, in a history of two jobs. */
static uint64_t submit_trials(struct lives *lives, uint64_t attempt)
{
    uint64_t first = 0, trial;
    bool known;
    open_inside(lives, attempt);
    for (uint64_t i = 0; i < 12; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "trial %u", (unsigned)i);
        const uint64_t job = submit_keyed(lives, 10 + i, key, &known);
        trial = attempt_now(lives);
        finish_one(lives, trial);
        first = first ? first : job;
    }
    (void)step(lives->w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {INSIDE}});
    lives->w->speaker = CLIENT;
    commit(lives);
    return first;
}

/* The job that submitted them may look for them by their keys after it was restarted, which is the
 * promise of a key. */
static void history_forgets_no_job_of_a_running_job(void **state)
{
    struct lives lives = {.history = 2};
    uint64_t attempt;
    bool known;
    (void)state;
    begin(&lives);
    send_spec(lives.w, (struct gw_msg_spec){.key = 1, .slots = GW_NONE});
    submit(lives.w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    attempt = attempt_now(&lives);
    commit(&lives);
    const uint64_t first = submit_trials(&lives, attempt);
    for (uint64_t job = first; job < first + 12; job++)
        assert_true(gw_sched_job_knows(lives.w->sched, job));
    end(&lives);

    begin(&lives); /* the same holds in the next term */
    attempt = attempt_now(&lives);
    open_inside(&lives, attempt);
    assert_int_equal(submit_keyed(&lives, 30, "trial 0", &known), first);
    assert_true(known);
    (void)step(lives.w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {INSIDE}});
    finish_one(&lives, attempt);
    hang_up(&lives);
    assert_false(gw_sched_job_knows(lives.w->sched, first));
    assert_true(gw_sched_job_knows(lives.w->sched, first + 11));
    assert_true(gw_sched_job_knows(lives.w->sched, 1)); /* the job that submitted them */
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

static void history_forgets_no_job_whose_future_a_client_holds(void **state)
{
    struct lives lives = {.history = 1};
    uint64_t attempt, jobs[4];
    (void)state;
    begin(&lives);
    for (uint64_t i = 0; i < 4; i++) {
        jobs[i] = submit_one(&lives, i + 1, &attempt);
        finish_one(&lives, attempt);
    }
    assert_true(gw_sched_job_knows(lives.w->sched, jobs[0]));
    hang_up(&lives);
    assert_false(gw_sched_job_knows(lives.w->sched, jobs[2]));
    assert_true(gw_sched_job_knows(lives.w->sched, jobs[3]));
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* If the job ran earlier and was lost with its scheduler, a client that repeats the request
 * would run it twice. A job without a key cannot be repeated in this way, so it need not wait. */
static void keyed_job_starts_only_after_its_commit(void **state)
{
    struct lives lives = {0};
    (void)state;
    for (int keyed = 0; keyed < 2; keyed++) {
        begin(&lives);
        send_spec(lives.w, (struct gw_msg_spec){.key = 1, .job_key = keyed ? "k" : ""});
        submit(lives.w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
        assert_int_equal(sent(lives.w, WORKER, GW_MESSAGE_assign, 0) == NULL, keyed);
        append(&lives);
        commit(&lives);
        assert_int_equal(sent(lives.w, WORKER, GW_MESSAGE_assign, 0) != NULL, keyed);
        end(&lives);
        gw_buffer_deinit(&lives.facts);
    }
}

/* No client learns of a job before the job is on disk. */
static void concurrent_submissions_with_a_key_create_a_single_job(void **state)
{
    struct lives lives = {0};
    (void)state;
    begin(&lives);
    for (uint64_t request = 1; request <= 2; request++)
        send_spec(lives.w, (struct gw_msg_spec){.key = request, .job_key = "k"});
    for (uint64_t request = 1; request <= 2; request++) {
        submit(lives.w, (struct chunk){request, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
        append(&lives);
        assert_null(sent(lives.w, CLIENT, GW_MESSAGE_accepted, 0));
    }
    commit(&lives);
    const struct gw_message *first = sent(lives.w, CLIENT, GW_MESSAGE_accepted, 0);
    const struct gw_message *second = sent(lives.w, CLIENT, GW_MESSAGE_accepted, 1);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(first->accepted.job, second->accepted.job);
    assert_int_equal(first->accepted.known + second->accepted.known, 1);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

static void full_disk_refuses_detached_jobs(void **state)
{
    struct lives lives = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    (void)step(lives.w, (struct gw_event){
                            .type = GW_EVENT_ROOM, .code = GW_EIO, .text = "no room on this disk"});
    send_spec(lives.w, (struct gw_msg_spec){.key = 1});
    submit(lives.w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    assert_string_equal(must(lives.w, CLIENT, GW_MESSAGE_rejected)->rejected.text,
                        "no room on this disk");
    send_spec(lives.w, (struct gw_msg_spec){.key = 2});
    submit(lives.w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0}); /* attached: not on disk */
    attempt = attempt_now(&lives);
    finish(lives.w, 0, attempt, GW_RANK_NONE, 3);
    (void)step(lives.w, (struct gw_event){.type = GW_EVENT_ROOM, .text = "room again"});
    (void)submit_one(&lives, 3, &attempt);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

static void same_state(const struct gw_buffer *a, const struct gw_buffer *b)
{
    struct gw_buffer dumps[2] = {{0}};
    const struct gw_buffer *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct gw_sched *sched =
            gw_sched_new(&(struct gw_sched_options){.state_dir = "/s", .history_jobs = 1});
        assert_int_equal(gw_sched_durable_restore(sched, both[i]->data, both[i]->size), 0);
        gw_sched_durable_dump(sched, &dumps[i]);
        gw_sched_free(sched);
    }
    assert_int_equal(dumps[0].size, dumps[1].size);
    assert_memory_equal(dumps[0].data, dumps[1].data, dumps[0].size);
    gw_buffer_deinit(&dumps[0]);
    gw_buffer_deinit(&dumps[1]);
}

static void compaction_drops_all_facts_of_forgotten_jobs(void **state)
{
    struct lives lives = {0};
    struct gw_buffer less = {0}, again = {0};
    uint64_t attempt, job = 0;
    (void)state;
    begin(&lives);
    for (uint64_t i = 1; i <= 6; i++) {
        job = submit_one(&lives, i, &attempt);
        finish_one(&lives, attempt);
    }
    hang_up(&lives);
    end(&lives);
    begin(&lives);
    assert_true(gw_sched_job_knows(lives.w->sched, job));
    assert_false(gw_sched_job_knows(lives.w->sched, job - 2));
    end(&lives);

    assert_int_equal(gw_sched_compact(&lives.facts, &less), 0);
    assert_true(less.size < lives.facts.size / 2);
    same_state(&lives.facts, &less);
    assert_int_equal(gw_sched_compact(&less, &again), 0);
    assert_int_equal(again.size, less.size);
    less.size--; /* the last fact is truncated */
    again.size = 0;
    assert_int_equal(gw_sched_compact(&less, &again), GW_ECORRUPT);
    gw_buffer_deinit(&less);
    gw_buffer_deinit(&again);
    gw_buffer_deinit(&lives.facts);
}

/* Request 2: a detached job of one task that comes after another job. */
static uint64_t submit_after(struct lives *lives, uint64_t before, uint32_t any)
{
    send_spec(lives->w, (struct gw_msg_spec){.key = 2});
    say(lives->w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_after,
                            .after = {2, GW_SUBMIT_DETACHED, {&before, 1}, {&any, 1}}});
    submit(lives->w, (struct chunk){2, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    commit(lives);
    return must(lives->w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
}

/* A job stays if the facts of another job name it, because its rows are looked up when those
 * facts are applied. */
static void compaction_retains_jobs_that_others_come_after(void **state)
{
    struct lives lives = {0};
    struct gw_buffer less = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    const uint64_t before = submit_one(&lives, 1, &attempt);
    (void)submit_after(&lives, before, true);
    finish(lives.w, 0, attempt, GW_RANK_NONE, 3);
    attempt = attempt_now(&lives);
    commit(&lives);
    finish_one(&lives, attempt); /* two jobs have ended: the first is forgotten */
    hang_up(&lives);
    assert_false(gw_sched_job_knows(lives.w->sched, before));
    end(&lives);
    assert_int_equal(gw_sched_compact(&lives.facts, &less), 0);
    same_state(&lives.facts, &less);
    gw_buffer_deinit(&less);
    gw_buffer_deinit(&lives.facts);
}

static void retry(struct lives *lives, uint64_t job)
{
    say(lives->w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {9, job, 0}});
}

static uint64_t job_placed(const struct lives *lives)
{
    return gw_col64_at(must(lives->w, WORKER, GW_MESSAGE_assign)->assign.job, 0);
}

/* Both jobs failed once; the facts do not tell the dependency of the retried job about that. */
static void retried_job_still_waits_for_its_predecessor_after_restart(void **state)
{
    struct lives lives = {.history = 2};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    const uint64_t before = submit_one(&lives, 1, &attempt);
    const uint64_t after = submit_after(&lives, before, false);
    fail_attempt(lives.w, 0, attempt);
    commit(&lives);
    retry(&lives, before);
    commit(&lives);
    retry(&lives, after);
    commit(&lives);
    end(&lives);

    begin(&lives);
    assert_int_equal(job_placed(&lives), before);
    finish(lives.w, 0, attempt_now(&lives), GW_RANK_NONE, 3);
    assert_int_equal(job_placed(&lives), after);
    commit(&lives);
    end(&lives);

    begin(&lives);
    assert_int_equal(job_placed(&lives), after);
    finish_one(&lives, attempt_now(&lives));
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* A client that asks for output on a worker that is not connected receives an error. */
static void output_on_a_lost_worker_is_reported_as_lost(void **state)
{
    struct lives lives = {0};
    uint64_t attempt;
    (void)state;
    begin(&lives);
    uint64_t job = submit_one(&lives, 1, &attempt);
    finish_one(&lives, attempt);
    end(&lives);
    begin(&lives);
    const struct gw_message ask = {.type = GW_MESSAGE_log_read,
                                   .log_read = {.request = 9, .job = job, .stream = 1}};
    say(lives.w, CLIENT, ask);
    assert_int_equal(must(lives.w, WORKER, GW_MESSAGE_log_read)->log_read.attempt, attempt);
    (void)step(lives.w,
               (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_log_data)->log_data.code, GW_ELOST);
    say(lives.w, CLIENT, ask);
    assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_log_data)->log_data.code, GW_ELOST);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

/* If that worker may come back, the request waits for it, for a limited time. */
static void output_request_waits_for_a_returning_worker(void **state)
{
    (void)state;
    for (int comes = 0; comes < 2; comes++) {
        struct lives lives = {.keeps_workers = true};
        uint64_t attempt;
        begin(&lives);
        commit(&lives); /* the registration of the worker */
        uint64_t job = submit_one(&lives, 1, &attempt);
        finish_one(&lives, attempt);
        end(&lives);
        lives.alone = true;
        begin(&lives);
        say(lives.w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_log_read,
                                .log_read = {.request = 9, .job = job, .stream = 1}});
        assert_null(sent(lives.w, CLIENT, GW_MESSAGE_log_data, 0));
        if (comes) {
            add_worker(lives.w, 0, 1, "a");
            assert_int_equal(must(lives.w, WORKER, GW_MESSAGE_log_read)->log_read.attempt, attempt);
        } else {
            pass(lives.w, GW_LOST_NS);
            assert_int_equal(must(lives.w, CLIENT, GW_MESSAGE_log_data)->log_data.code, GW_ELOST);
        }
        end(&lives);
        gw_buffer_deinit(&lives.facts);
    }
}

static const struct gw_msg_gang *gang_now(const struct lives *lives)
{
    return &must(lives->w, WORKER, GW_MESSAGE_gang)->gang;
}

static void stand_and_go(struct lives *lives, uint64_t attempt)
{
    say(lives->w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, 0, {"", 0}}});
    must(lives->w, WORKER, GW_MESSAGE_gang_start);
}

/* A restarted scheduler knows which worker has a checkpoint, and that no worker has it. */
static void checkpoint_location_survives_a_scheduler_restart(void **state)
{
    struct lives lives = {0};
    (void)state;
    begin(&lives);
    send_spec(lives.w, (struct gw_msg_spec){.key = 1, .ranks = 1});
    submit(lives.w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    const uint64_t saved = attempt_now(&lives);
    commit(&lives);
    stand_and_go(&lives, saved);
    say(lives.w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_checkpointed, .checkpointed = {saved, 0, 5}});
    append(&lives);
    end(&lives);

    begin(&lives);
    struct gw_msg_gang told = *gang_now(&lives);
    assert_true(told.checkpoint == saved && !told.checkpoint_lost);
    assert_int_not_equal(told.transfer_worker, 0); /* rank 0 looks for the checkpoint */
    append(&lives);
    say(lives.w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_transfer_absent,
                            .transfer_absent = {told.attempt, told.transfer_worker, 0, "gone"}});
    append(&lives);
    end(&lives);

    begin(&lives);
    told = *gang_now(&lives);
    assert_true(told.checkpoint == saved && told.checkpoint_lost && !told.transfer_worker);
    end(&lives);
    gw_buffer_deinit(&lives.facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_on_a_lost_worker_is_reported_as_lost),
        cmocka_unit_test(output_request_waits_for_a_returning_worker),
        cmocka_unit_test(running_task_reruns_after_a_scheduler_restart),
        cmocka_unit_test(restart_count_survives_a_scheduler_restart),
        cmocka_unit_test(run_time_and_metrics_survive_a_scheduler_restart),
        cmocka_unit_test(retry_backoff_continues_after_a_scheduler_restart),
        cmocka_unit_test(cancelled_task_does_not_rerun_after_a_restart),
        cmocka_unit_test(repeated_job_key_returns_the_known_job),
        cmocka_unit_test(concurrent_submissions_with_a_key_create_a_single_job),
        cmocka_unit_test(keyed_job_starts_only_after_its_commit),
        cmocka_unit_test(full_disk_refuses_detached_jobs),
        cmocka_unit_test(job_ids_continue_after_a_clean_stop),
        cmocka_unit_test(history_forgets_no_job_of_a_running_job),
        cmocka_unit_test(history_forgets_no_job_whose_future_a_client_holds),
        cmocka_unit_test(compaction_drops_all_facts_of_forgotten_jobs),
        cmocka_unit_test(compaction_retains_jobs_that_others_come_after),
        cmocka_unit_test(retried_job_still_waits_for_its_predecessor_after_restart),
        cmocka_unit_test(checkpoint_location_survives_a_scheduler_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
