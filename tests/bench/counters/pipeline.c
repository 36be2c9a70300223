/* The pipeline. There is one buffer per direction. The receivers empty their buffers in turn until
 * all are empty. A runner gets one message at a time and answers it completely before anything else
 * happens. */
#include "tests/bench/counters/pipeline.h"

#include "client/results/chunk.h"
#include "client/results/future_group.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/must.h"
#include "graph/model/graph_rows.h"
#include "graph/wire/frame.h"
#include "scheduler/accounting/accounting_file.h"
#include "scheduler/core/sched.h"
#include "worker/core/node.h"
#include "worker/runner/runner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { RUNNERS = 2, PEER_CLIENT = 10, PEER_WORKER = 1 };
enum { PEER_SCHEDULER = 1, PEER_SUPERVISOR = 2, PEER_RUNNER = 100 }; /* + process number */
enum link { CLIENT_SCHEDULER, SCHEDULER_CLIENT, SCHEDULER_WORKER, WORKER_SCHEDULER, LINKS };

const char *const role_names[ROLES] = {"nobody", "client", "scheduler", "worker", "runner"};

struct runner {
    pid_t pid;
    int fd, report; /* report: the counts that it sends at its end */
    uint64_t process;
    GW_ARRAY(uint32_t) rows; /* number of rows of each message that waits in `out` */
    struct gw_buffer out, in;
};

struct pipeline {
    const char *name;
    enum role measured;
    struct gw_sched *sched;
    struct gw_node_core *node;
    struct gw_effects sched_effects, node_effects;
    struct gw_client *client;
    struct gw_buffer links[LINKS];
    char dir[64]; /* of the accounting; "": none */
    struct gw_accounting_file accounting;
    GW_ARRAY(struct gw_accounting_row) rows; /* of ended jobs, not yet stored */
    struct runner runners[RUNNERS];
    uint32_t runner_count;
    uint64_t now_ns, client_term, client_peer, client_sequence, node_sequence, request;
    struct counts counts;
    bool counting;
};

/* -- Counting ------------------------------------------------------------------------------------
 */

static struct pipeline *current;
static enum role role = NOBODY;
static _Atomic uint64_t runner_allocations; /* in a runner: its own count */
static bool in_runner;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
uint64_t __wrap_gw_clock_now_ns(void);

static void count_allocation(void)
{
    if (in_runner)
        runner_allocations++;
    else if (role != NOBODY && current && current->counting)
        current->counts.allocations[role]++;
}

void *__wrap_malloc(size_t bytes)
{
    count_allocation();
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    count_allocation();
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    count_allocation();
    return __real_realloc(memory, bytes);
}

/* The clock of the runners: each call advances it by half a microsecond. */
uint64_t __wrap_gw_clock_now_ns(void)
{
    static _Atomic uint64_t now_ns = GW_NS_PER_S;
    return now_ns += 500;
}

static void enter(struct pipeline *p, enum role as)
{
    assert(role == NOBODY);
    role = as;
    if (p->measured == as && p->counting)
        CALLGRIND_TOGGLE_COLLECT;
}

static void leave(struct pipeline *p)
{
    if (p->measured == role && p->counting)
        CALLGRIND_TOGGLE_COLLECT;
    role = NOBODY;
}

static void sent(struct pipeline *p, enum role by, size_t bytes)
{
    if (p->counting)
        p->counts.bytes[by] += bytes;
}

/* -- Runners -------------------------------------------------------------------------------------
 */

static struct pipeline *runner_of;
static int runner_report;

static void runner_on_exit(void)
{
    char name[64];
    uint64_t count = runner_allocations;
    (void)snprintf(name, sizeof name, "%s %s", runner_of->name, role_names[RUNNER]);
    if (runner_of->measured == RUNNER) {
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_DUMP_STATS_AT(name);
    }
    if (write(runner_report, &count, sizeof count) != sizeof count)
        abort();
}

static void start_runner(struct pipeline *p, uint64_t process)
{
    int sockets[2], report[2];
    assert(p->runner_count < RUNNERS);
    struct runner *runner = &p->runners[p->runner_count++];
    GW_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
    GW_MUST(pipe(report));
    (void)fflush(NULL);
    runner->pid = fork();
    GW_MUST(runner->pid);
    if (runner->pid == 0) {
        close(sockets[0]);
        close(report[0]);
        for (uint32_t i = 0; i + 1 < p->runner_count; i++)
            close(p->runners[i].fd);
        runner_of = p;
        runner_report = report[1];
        (void)atexit(runner_on_exit);
        in_runner = true;
        if (p->measured == RUNNER)
            CALLGRIND_TOGGLE_COLLECT;
        gw_runner_main(sockets[1]);
    }
    close(sockets[1]);
    close(report[1]);
    runner->fd = sockets[0];
    runner->report = report[0];
    runner->process = process;
}

static void read_all(int fd, void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = read(fd, (char *)data + at, bytes - at);
        assert(got > 0);
        at += (size_t)got;
    }
}

/* Appends one frame to the input buffer. Returns how many rows of results it has. */
static uint32_t read_frame(struct pipeline *p, struct runner *runner)
{
    uint8_t head[GW_FRAME_HEADER_BYTES];
    struct gw_frame_header header;
    struct gw_arena arena = {0};
    struct gw_message message;
    struct gw_error error;
    size_t at = runner->in.size;
    read_all(runner->fd, head, sizeof head);
    GW_MUST(gw_frame_header_read(head, &header, &error));
    GW_MUST(gw_buffer_append(&runner->in, head, sizeof head));
    GW_MUST(gw_buffer_reserve(&runner->in, header.bytes));
    read_all(runner->fd, runner->in.data + at + sizeof head, header.bytes);
    runner->in.size += header.bytes;
    sent(p, RUNNER, sizeof head + header.bytes);
    GW_MUST(gw_message_decode(runner->in.data + at + sizeof head, header.bytes, &arena, &message,
                              &error));
    uint32_t rows = message.type == GW_MESSAGE_finished ? message.finished.attempt.count : 0;
    assert(message.type == GW_MESSAGE_finished || message.type == GW_MESSAGE_runner ||
           message.type == GW_MESSAGE_used);
    gw_arena_deinit(&arena);
    return rows;
}

/* -- Effects -------------------------------------------------------------------------------------
 */

static void node_step(struct pipeline *p, struct gw_event event);

/* Adds a message to a link, and counts it for the current role. */
static void put(struct pipeline *p, enum link link, const struct gw_message *message)
{
    size_t before = p->links[link].size;
    GW_MUST(gw_message_encode(message, 0, &p->links[link]));
    sent(p, role, p->links[link].size - before);
}

/* Keeps the row of an ended job, with other texts, because those of the effect are its own. */
static void account(struct pipeline *p, const struct gw_accounting_row *ended)
{
    struct gw_accounting_row row = *ended;
    row.user = "root";
    row.account = row.queue = "";
    row.name = "counted";
    row.state = "done";
    GW_MUST(gw_array_push(&p->rows, row));
}

static void sched_effects(struct pipeline *p)
{
    struct gw_effect *effect;
    GW_ARRAY_EACH (&p->sched_effects.list, effect)
        if (effect->type == GW_EFFECT_SEND)
            put(p, effect->peer.id == PEER_CLIENT ? SCHEDULER_CLIENT : SCHEDULER_WORKER,
                &effect->message);
        else if (effect->type == GW_EFFECT_ACCOUNT)
            account(p, effect->bytes.data);
}

static void sched_step(struct pipeline *p, struct gw_event event)
{
    event.now_ns = event.wall_ns = p->now_ns += 1000;
    GW_MUST(gw_sched_step(p->sched, &event, &p->sched_effects));
    sched_effects(p);
}

static struct runner *runner_at(struct pipeline *p, uint64_t peer)
{
    for (uint32_t i = 0; i < p->runner_count; i++)
        if (p->runners[i].process + PEER_RUNNER == peer)
            return &p->runners[i];
    abort();
}

static void send_runner(struct pipeline *p, struct runner *runner, const struct gw_message *message)
{
    size_t before = runner->out.size;
    GW_MUST(gw_message_encode(message, 0, &runner->out));
    sent(p, WORKER, runner->out.size - before);
    uint32_t rows = message->type == GW_MESSAGE_assign ? message->assign.attempt.count : 0;
    leave(p);
    GW_MUST(gw_array_push(&runner->rows, rows));
    enter(p, WORKER);
}

struct spawned {
    uint64_t process, hash;
};

static struct spawned node_effects(struct pipeline *p)
{
    struct spawned what = {0};
    struct gw_effect *effect;
    GW_ARRAY_EACH (&p->node_effects.list, effect) {
        what.hash |= effect->type == GW_EFFECT_PROGRAM;
        if (effect->type != GW_EFFECT_SEND)
            continue;
        if (effect->message.type == GW_MESSAGE_spawn)
            what.process = effect->message.spawn.process;
        else if (effect->peer.id == PEER_SCHEDULER)
            put(p, WORKER_SCHEDULER, &effect->message);
        else if (effect->peer.id > PEER_RUNNER)
            send_runner(p, runner_at(p, effect->peer.id), &effect->message);
    }
    return what;
}

static const uint8_t program_hash[32] = {1, 2, 3};

static void node_step(struct pipeline *p, struct gw_event event)
{
    event.now_ns = p->now_ns += 1000;
    GW_MUST(gw_node_core_step(p->node, &event, &p->node_effects));
    struct spawned what = node_effects(p);
    if (what.hash)
        node_step(p, (struct gw_event){.type = GW_EVENT_PROGRAM,
                                       .text = "/p",
                                       .hash = {program_hash, sizeof program_hash}});
    if (what.process == 0)
        return;
    leave(p);
    start_runner(p, what.process);
    (void)read_frame(p, &p->runners[p->runner_count - 1]);
    enter(p, WORKER);
    struct gw_message spawned = {.type = GW_MESSAGE_spawned,
                                 .spawned = {.process = what.process, .pid = 1, .text = ""}};
    node_step(p, (struct gw_event){.type = GW_EVENT_OPEN,
                                   .peer = {PEER_RUNNER + what.process},
                                   .number = what.process,
                                   .role = GW_ROLE_RUNNER});
    node_step(p, (struct gw_event){
                     .type = GW_EVENT_MESSAGE, .peer = {PEER_SUPERVISOR}, .message = &spawned});
}

/* -- Delivery ------------------------------------------------------------------------------------
 */

typedef void (*receive_fn)(struct pipeline *p, const struct gw_message *message, uint64_t peer);

static void sched_receive(struct pipeline *p, const struct gw_message *message, uint64_t peer)
{
    sched_step(p, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = message});
}

static void node_receive(struct pipeline *p, const struct gw_message *message, uint64_t peer)
{
    node_step(p, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = message});
}

static void client_receive(struct pipeline *p, const struct gw_message *message, uint64_t peer)
{
    if (message->type == GW_MESSAGE_done) {
        gw_future_group_done(p->client, &message->done);
    } else if (message->type == GW_MESSAGE_welcome) {
        p->client_term = message->term;
        p->client_peer = message->peer;
    } else {
        assert(message->type == GW_MESSAGE_accepted || message->type == GW_MESSAGE_heartbeat);
    }
}

/* Decodes the messages in a buffer as the receiver. Returns true if there were any. */
static bool deliver(struct pipeline *p, struct gw_buffer *from, enum role to, receive_fn receive,
                    uint64_t peer)
{
    static struct gw_arena arena;
    struct gw_buffer taken = *from;
    struct gw_error error;
    *from = (struct gw_buffer){0};
    for (size_t at = 0; at < taken.size;) {
        struct gw_frame_header header;
        struct gw_message message;
        enter(p, to);
        GW_MUST(gw_frame_header_read(taken.data + at, &header, &error));
        GW_MUST(gw_message_decode(taken.data + at + GW_FRAME_HEADER_BYTES, header.bytes, &arena,
                                  &message, &error));
        receive(p, &message, peer);
        gw_arena_reset(&arena);
        leave(p);
        at += GW_FRAME_HEADER_BYTES + header.bytes;
    }
    bool any = taken.size > 0;
    if (from->data || !any) { /* messages were added meanwhile */
        gw_buffer_deinit(&taken);
    } else {
        taken.size = 0;
        *from = taken; /* keep the buffer, as a channel does */
    }
    return any;
}

/* Sends one message at a time and waits for the results of its rows. */
static bool pump_runner(struct pipeline *p, struct runner *runner)
{
    struct gw_buffer out = runner->out;
    size_t at = 0;
    bool any = runner->in.size > 0;
    runner->out = (struct gw_buffer){0};
    for (size_t i = 0; i < runner->rows.count; i++) {
        struct gw_frame_header header;
        struct gw_error error;
        GW_MUST(gw_frame_header_read(out.data + at, &header, &error));
        size_t bytes = GW_FRAME_HEADER_BYTES + header.bytes;
        if (write(runner->fd, out.data + at, bytes) != (ssize_t)bytes)
            abort();
        at += bytes;
        for (uint32_t left = runner->rows.items[i]; left > 0;)
            left -= read_frame(p, runner);
        any = true;
    }
    assert(at == out.size);
    gw_buffer_deinit(&out);
    gw_array_clear(&runner->rows);
    (void)deliver(p, &runner->in, WORKER, node_receive, PEER_RUNNER + runner->process);
    return any;
}

static void pump(struct pipeline *p)
{
    for (bool any = true; any;) {
        any = deliver(p, &p->links[CLIENT_SCHEDULER], SCHEDULER, sched_receive, PEER_CLIENT);
        any |= deliver(p, &p->links[SCHEDULER_WORKER], WORKER, node_receive, PEER_SCHEDULER);
        for (uint32_t i = 0; i < p->runner_count; i++)
            any |= pump_runner(p, &p->runners[i]);
        any |= deliver(p, &p->links[WORKER_SCHEDULER], SCHEDULER, sched_receive, PEER_WORKER);
        any |= deliver(p, &p->links[SCHEDULER_CLIENT], CLIENT, client_receive, 0);
    }
}

/* -- The client ----------------------------------------------------------------------------------
 */

static void client_put(struct pipeline *p, struct gw_message *message)
{
    message->term = p->client_term;
    message->peer = p->client_peer;
    message->sequence = ++p->client_sequence;
    put(p, CLIENT_SCHEDULER, message);
}

static void client_flush(struct pipeline *p, struct gw_chunk *chunk, bool last)
{
    struct gw_message message = {
        .type = GW_MESSAGE_submit,
        .submit = {.request = p->request, .flags = last ? GW_SUBMIT_LAST : 0, .name = "counted"}};
    gw_chunk_columns(chunk, &message.submit);
    client_put(p, &message);
    gw_chunk_clear(chunk);
}

static void client_submit(struct pipeline *p, const struct gw_graph_rows *rows)
{
    struct gw_chunk chunk = {0};
    struct gw_message spec = {.type = GW_MESSAGE_spec,
                              .spec = {.key = p->request,
                                       .kind = GW_SPEC_FUNCTION,
                                       .program = {program_hash, sizeof program_hash},
                                       .function = rows->specs[0].function->name,
                                       .cwd = "",
                                       .slots = 1}};
    client_put(p, &spec);
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t first = rows->deps_at[i];
        const struct gw_chunk_row row = {.row = i,
                                         .args = rows->args + rows->args_at[i],
                                         .args_bytes = rows->args_at[i + 1] - rows->args_at[i],
                                         .dep_job = rows->dep_job + first,
                                         .dep_index = rows->dep_row + first,
                                         .dep_rank = rows->dep_rank + first,
                                         .dep_count = rows->deps_at[i + 1] - first,
                                         .target = true};
        GW_MUST(gw_chunk_add(&chunk, &row));
        if (gw_chunk_bytes(&chunk) > GW_CHUNK_BYTES)
            client_flush(p, &chunk, false);
    }
    client_flush(p, &chunk, true);
    gw_chunk_deinit(&chunk);
}

void pipeline_run(struct pipeline *p, struct gw_graph *graph, const gw_node *nodes, uint32_t count,
                  pipeline_check check, const void *arg)
{
    struct gw_graph_rows rows;
    struct gw_error error;
    enter(p, CLIENT);
    GW_MUST(gw_graph_rows_seal(graph, &rows, &error));
    p->request++;
    struct gw_future_group *group = gw_future_group_new(p->client, p->request, NULL, count);
    GW_MUST_PTR(group);
    assert(rows.count == count);
    client_submit(p, &rows);
    leave(p);
    pump(p);
    enter(p, CLIENT);
    for (uint32_t i = 0; i < count; i++) {
        struct gw_value *value;
        int64_t number;
        uint32_t row = rows.row_of_node[nodes[i].index];
        GW_MUST(gw_future_get(&group->futures[row], 0, &value, &error));
        GW_MUST(gw_value_get_i64(value, &number, &error));
        gw_value_unref(value);
        check(i, number, arg);
    }
    for (uint32_t i = 0; i < count; i++)
        gw_future_release(&group->futures[i]);
    gw_graph_free(graph);
    leave(p);
}

/* -- Opening and closing -------------------------------------------------------------------------
 */

static void open_accounting(struct pipeline *p)
{
    struct gw_error error;
    char path[sizeof p->dir + 16];
    (void)snprintf(p->dir, sizeof p->dir, "/tmp/gw-counters-XXXXXX");
    GW_MUST_PTR(mkdtemp(p->dir));
    (void)snprintf(path, sizeof path, "%s/accounting.db", p->dir);
    if (gw_accounting_file_open(path, &p->accounting, &error) < 0)
        gw_error_exit(&error);
}

static void close_accounting(struct pipeline *p)
{
    struct gw_error error;
    gw_accounting_file_close(&p->accounting);
    gw_array_deinit(&p->rows);
    if (gw_dir_remove(p->dir, &error) < 0)
        gw_error_exit(&error);
}

struct pipeline *pipeline_open(const char *name, enum role measured, bool accounting)
{
    struct pipeline *p = calloc(1, sizeof *p);
    GW_MUST_PTR(p);
    current = p;
    p->name = name;
    p->measured = measured;
    p->now_ns = GW_NS_PER_S;
    p->client = gw_client_new(name);
    GW_MUST_PTR(p->client);
    p->sched =
        gw_sched_new(&(struct gw_sched_options){.state_dir = "/s", .accounting = accounting});
    if (accounting)
        open_accounting(p);
    p->node = gw_node_core_new(&(struct gw_node_options){.slots = RUNNERS,
                                                         .cores = RUNNERS,
                                                         .host = "h",
                                                         .address = "/a",
                                                         .log_dir = "/l",
                                                         .checkpoint_dir = "/c"});
    enter(p, SCHEDULER);
    sched_step(p, (struct gw_event){.type = GW_EVENT_START, .number = 1});
    sched_step(
        p, (struct gw_event){
               .type = GW_EVENT_OPEN, .peer = {PEER_WORKER}, .role = GW_ROLE_WORKER, .text = "w"});
    sched_step(
        p, (struct gw_event){
               .type = GW_EVENT_OPEN, .peer = {PEER_CLIENT}, .role = GW_ROLE_CLIENT, .text = "c"});
    leave(p);
    enter(p, WORKER);
    node_step(p, (struct gw_event){.type = GW_EVENT_START, .number = 1});
    node_step(p, (struct gw_event){
                     .type = GW_EVENT_OPEN, .peer = {PEER_SUPERVISOR}, .role = GW_ROLE_SUPERVISOR});
    node_step(p, (struct gw_event){
                     .type = GW_EVENT_OPEN, .peer = {PEER_SCHEDULER}, .role = GW_ROLE_SCHEDULER});
    leave(p);
    pump(p);
    return p;
}

void pipeline_client(struct pipeline *p, bool on)
{
    if (on)
        enter(p, CLIENT);
    else
        leave(p);
}

void pipeline_begin(struct pipeline *p)
{
    memset(&p->counts, 0, sizeof p->counts);
    p->rows.count = 0;
    p->counting = true;
}

/* Stores the rows of the ended jobs, as the thread of the accounting does once in a second. */
static void store_rows(struct pipeline *p)
{
    struct gw_error error;
    GW_ARRAY(const struct gw_accounting_row *) rows = {0};
    GW_MUST(gw_array_reserve(&rows, p->rows.count));
    for (size_t i = 0; i < p->rows.count; i++)
        GW_MUST(gw_array_push(&rows, &p->rows.items[i]));
    enter(p, SCHEDULER);
    if (gw_accounting_file_store(&p->accounting, "0123456789abcdef0123456789abcdef", rows.items,
                                 rows.count, &error) < 0)
        gw_error_exit(&error);
    leave(p);
    gw_array_deinit(&rows);
}

void pipeline_end(struct pipeline *p)
{
    char name[64];
    if (p->rows.count)
        store_rows(p);
    p->counting = false;
    (void)snprintf(name, sizeof name, "%s %s", p->name, role_names[p->measured]);
    if (p->measured != RUNNER && p->measured != NOBODY)
        CALLGRIND_DUMP_STATS_AT(name);
}

void pipeline_close(struct pipeline *p, struct counts *counts)
{
    for (uint32_t i = 0; i < p->runner_count; i++) {
        struct runner *runner = &p->runners[i];
        uint64_t allocations;
        int status;
        close(runner->fd);
        read_all(runner->report, &allocations, sizeof allocations);
        close(runner->report);
        p->counts.allocations[RUNNER] += allocations;
        if (waitpid(runner->pid, &status, 0) != runner->pid || status != 0)
            abort();
        gw_buffer_deinit(&runner->out);
        gw_buffer_deinit(&runner->in);
        gw_array_deinit(&runner->rows);
    }
    *counts = p->counts;
    if (*p->dir)
        close_accounting(p);
    gw_sched_free(p->sched);
    gw_node_core_free(p->node);
    gw_client_unref(p->client);
    gw_array_deinit(&p->sched_effects.list);
    gw_arena_deinit(&p->sched_effects.arena);
    gw_array_deinit(&p->node_effects.list);
    gw_arena_deinit(&p->node_effects.arena);
    for (int i = 0; i < LINKS; i++)
        gw_buffer_deinit(&p->links[i]);
    current = NULL;
    free(p);
}
