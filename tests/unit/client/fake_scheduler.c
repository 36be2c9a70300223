/* The fake scheduler: one thread with blocking calls, which ends when its listening socket is shut
 * down. */
#include "tests/unit/client/fake_scheduler.h"

#include "graph/base/array.h"
#include "graph/wire/channel.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/manifest.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TERM = 3, SESSION = 17, FUNCTION_BYTES = 32, SPECS_MAX = 16, DONE_ROWS = 4096 };
enum { LATE_MS = 5000 };

struct spec {
    uint64_t key;
    uint32_t number, ranks;
    char function[FUNCTION_BYTES];
};

/* A job, with the arguments of its last task only; that is enough for every test. */
struct job {
    uint64_t request, job;
    uint32_t rows;
    char function[FUNCTION_BYTES]; /* of the last task */
    uint8_t args[64];
    uint32_t args_bytes;
};

struct gw_fake_scheduler {
    char dir[32], path[64], address[80];
    int listener;
    atomic_bool refuse, over, disconnected;
    bool left;            /* "leaves" and "breaks" have run once */
    uint64_t first_job;   /* of this connection: smaller ids are of earlier connections */
    bool stale;           /* the incoming job takes results of another connection */
    pthread_mutex_t lock; /* guards fd */
    int fd;               /* of the connection, or -1 */
    pthread_t thread;
    struct gw_channel *channel;
    struct spec specs[SPECS_MAX];
    uint32_t spec_count;
    GW_ARRAY(struct job) jobs;
    uint64_t last_job;
    GW_ARRAY(struct gw_msg_accepted)
    held; /* answers to quiet submits, held until there is another message */
    GW_ARRAY(struct gw_msg_fetch) fetches; /* that wait for others */
    atomic_uint fetches_held;
    atomic_bool late;
    struct gw_buffer large;     /* an encoded value */
    struct gw_buffer scattered; /* the last large value received */
    uint64_t scattered_job;
    uint32_t wanted;
    uint8_t program[GW_HASH_BYTES];
    _Atomic int64_t releases;
    int64_t submits, arg_bytes, programs, blobs, cancels, scatters;
};

static void put(struct gw_fake_scheduler *fake, struct gw_message *message, int fd);

static void put_held(struct gw_fake_scheduler *fake)
{
    size_t count = fake->held.count;
    fake->held.count = 0;
    for (size_t i = 0; i < count; i++)
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_accepted, .accepted = fake->held.items[i]}, -1);
}

static void put(struct gw_fake_scheduler *fake, struct gw_message *message, int fd)
{
    put_held(fake);
    message->term = TERM;
    message->peer = SESSION;
    struct gw_channel_fds fds = {.fds = &fd, .count = fd >= 0, .take = true};
    assert(gw_channel_put(fake->channel, message, fds) == 0);
}

static int memory_file(const struct gw_buffer *bytes)
{
    int fd = memfd_create("fake", MFD_CLOEXEC);
    ssize_t written = write(fd, bytes->data, bytes->size);
    assert(written == (ssize_t)bytes->size);
    return fd;
}

static const struct spec *find_spec(const struct gw_fake_scheduler *fake, uint64_t key,
                                    uint32_t number)
{
    for (uint32_t i = fake->spec_count; i-- > 0;)
        if (fake->specs[i].key == key && fake->specs[i].number == number)
            return &fake->specs[i];
    return NULL;
}

static void fail(struct gw_fake_scheduler *fake, uint64_t request, uint32_t index, int code)
{
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_failed,
                             .failed = {.request = request,
                                        .index = index,
                                        .code = code,
                                        .exit_code = code == GW_ETASK ? 7 : 0,
                                        .attempt = 99,
                                        .text = code == GW_ETASK ? "boom" : "cancelled"}},
        -1);
}

static void reply(struct gw_fake_scheduler *fake, uint64_t request, struct gw_value *body)
{
    struct gw_buffer bytes = {0};
    assert(gw_codec_encode(body, NULL, &bytes) == 0);
    put(fake,
        &(struct gw_message){
            .type = GW_MESSAGE_reply,
            .reply = {.request = request, .text = "", .body = {bytes.data, (uint32_t)bytes.size}}},
        -1);
    gw_buffer_deinit(&bytes);
    gw_value_unref(body);
}

/* -- Submission ----------------------------------------------------------------------------------
 */

/* The rows of a done message. */
struct rows {
    GW_ARRAY(uint64_t) request, bytes;
    GW_ARRAY(uint32_t) index, rank, size;
    struct gw_buffer values;
};

static void rows_send(struct gw_fake_scheduler *fake, struct rows *rows)
{
    uint32_t n = (uint32_t)rows->request.count;
    if (n > 0)
        put(fake,
            &(struct gw_message){
                .type = GW_MESSAGE_done,
                .done = {.request = {rows->request.items, n},
                         .index = {rows->index.items, n},
                         .rank = {rows->rank.items, n},
                         .bytes = {rows->bytes.items, n},
                         .value_size = {rows->size.items, n},
                         .values = {rows->values.data, (uint32_t)rows->values.size}}},
            -1);
    gw_array_clear(&rows->request);
    gw_array_clear(&rows->bytes);
    gw_array_clear(&rows->index);
    gw_array_clear(&rows->rank);
    gw_array_clear(&rows->size);
    rows->values.size = 0;
}

static void rows_add(struct gw_fake_scheduler *fake, struct rows *rows, const struct job *job,
                     uint32_t index, uint32_t rank)
{
    bool large = strcmp(job->function, "large") == 0;
    gw_array_push(&rows->request, job->request);
    gw_array_push(&rows->index, index);
    gw_array_push(&rows->rank, rank);
    gw_array_push(&rows->bytes, large ? fake->large.size : job->args_bytes);
    gw_array_push(&rows->size, large ? 0 : job->args_bytes);
    if (!large)
        gw_buffer_append(&rows->values, job->args, job->args_bytes);
    if (rows->request.count == DONE_ROWS)
        rows_send(fake, rows);
}

/* Processes a target; returns false if the connection must end. */
static bool run(struct gw_fake_scheduler *fake, struct rows *rows, struct job *job, uint32_t index,
                uint32_t ranks)
{
    if (strcmp(job->function, "bad") == 0 || strcmp(job->function, "flaky") == 0)
        fail(fake, job->request, index, GW_ETASK);
    else if (strcmp(job->function, "gone") == 0)
        return false;
    else if (!fake->left && strcmp(job->function, "leaves") == 0)
        return true; /* on_submit leaves */
    else if (strcmp(job->function, "garbage") == 0)
        gw_channel_put_frames(fake->channel, "this is not a frame at all", 26);
    else if (strcmp(job->function, "never") != 0 && ranks == 0)
        rows_add(fake, rows, job, index, GW_RANK_NONE);
    else if (strcmp(job->function, "never") != 0)
        for (uint32_t rank = 0; rank < ranks; rank++)
            rows_add(fake, rows, job, index, rank);
    return true;
}

static void rows_deinit(struct rows *rows)
{
    gw_array_deinit(&rows->request);
    gw_array_deinit(&rows->bytes);
    gw_array_deinit(&rows->index);
    gw_array_deinit(&rows->rank);
    gw_array_deinit(&rows->size);
    gw_buffer_deinit(&rows->values);
}

static bool on_submit(struct gw_fake_scheduler *fake, const struct gw_msg_submit *submit)
{
    struct job *job = fake->jobs.count ? &fake->jobs.items[fake->jobs.count - 1] : NULL;
    struct rows rows = {0};
    const uint8_t *args = submit->args.data;
    uint32_t target = 0;
    bool goes_on = true;
    if (!job || job->request != submit->request || job->job <= fake->first_job) {
        gw_array_push(&fake->jobs,
                      (struct job){.request = submit->request, .job = ++fake->last_job});
        job = &fake->jobs.items[fake->jobs.count - 1];
    }
    const bool leaves = !fake->left;
    for (uint32_t i = 0; i < submit->dep_job.count; i++) {
        uint64_t dep = gw_col64_at(submit->dep_job, i);
        fake->stale |= dep != 0 && (dep <= fake->first_job || dep > fake->last_job);
    }
    fake->submits++;
    fake->arg_bytes += submit->args.size;
    for (uint32_t i = 0; i < submit->spec.count; i++) {
        const struct spec *spec = find_spec(fake, submit->request, gw_col32_at(submit->spec, i));
        assert(spec);
        strcpy(job->function, spec->function);
        static const uint8_t none[] = {0x90}; /* for arguments that are too large to be stored */
        uint32_t bytes = gw_col32_at(submit->args_size, i);
        bool keeps = bytes <= sizeof job->args;
        job->args_bytes = keeps ? bytes : sizeof none;
        memcpy(job->args, keeps ? args : none, job->args_bytes);
        args += bytes;
        uint32_t row = job->rows++;
        if (target == submit->targets.count || gw_col32_at(submit->targets, target) != row)
            continue;
        target++;
        if (strcmp(job->function, "refused") != 0 && goes_on)
            goes_on = run(fake, &rows, job, row, spec->ranks);
    }
    assert(target == submit->targets.count);
    if (leaves && strcmp(job->function, "breaks") == 0) {
        fake->left = true;
        rows_deinit(&rows);
        return false;
    }
    if (submit->flags & GW_SUBMIT_LAST && fake->stale)
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_rejected,
                                 .rejected = {submit->request, GW_ENOENT, "no such result"}},
            -1);
    else if (submit->flags & GW_SUBMIT_LAST && strcmp(job->function, "refused") == 0)
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_rejected,
                                 .rejected = {submit->request, GW_EINFEASIBLE, "too large"}},
            -1);
    else if (submit->flags & GW_SUBMIT_QUIET)
        gw_array_push(&fake->held,
                      ((struct gw_msg_accepted){.request = submit->request, .job = job->job}));
    else if (submit->flags & GW_SUBMIT_LAST)
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_accepted,
                                 .accepted = {submit->request, job->job}},
            -1);
    if (submit->flags & GW_SUBMIT_LAST)
        fake->stale = false;
    rows_send(fake, &rows);
    rows_deinit(&rows);
    if (leaves && strcmp(job->function, "leaves") == 0) {
        fake->left = true;
        return false;
    }
    return goes_on;
}

/* -- Everything else -----------------------------------------------------------------------------
 */

static void on_program(struct gw_fake_scheduler *fake, const struct gw_msg_program *program)
{
    struct gw_arena arena = {0};
    struct gw_manifest manifest;
    uint8_t hashes[64 * GW_HASH_BYTES], hash[GW_HASH_BYTES];
    gw_hash_bytes(program->manifest.data, program->manifest.size, hash);
    assert(memcmp(hash, program->hash.data, GW_HASH_BYTES) == 0);
    assert(gw_manifest_decode(program->manifest, &arena, &manifest, NULL) == 0);
    assert(manifest.count >= 1 && manifest.count <= 64);
    for (uint32_t i = 0; i < manifest.count; i++)
        memcpy(hashes + i * GW_HASH_BYTES, manifest.files[i].hash, GW_HASH_BYTES);
    memcpy(fake->program, hash, GW_HASH_BYTES);
    fake->programs++;
    fake->wanted = manifest.count;
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_blob_want,
                             .blob_want = {{hashes, manifest.count * GW_HASH_BYTES}}},
        -1);
    gw_arena_deinit(&arena);
}

static void on_blob(struct gw_fake_scheduler *fake, const struct gw_msg_blob *blob, int fd)
{
    uint8_t hash[GW_HASH_BYTES];
    assert(gw_hash_file(fd, hash, NULL) == 0);
    assert(memcmp(hash, blob->hash.data, GW_HASH_BYTES) == 0);
    fake->blobs++;
    if (--fake->wanted == 0)
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_program_ready,
                                 .program_ready = {{fake->program, GW_HASH_BYTES}, 0, ""}},
            -1);
}

static void answer_fetches(struct gw_fake_scheduler *fake)
{
    for (size_t i = 0; i < fake->fetches.count; i++) {
        const struct gw_msg_fetch *fetch = &fake->fetches.items[i];
        const struct gw_buffer *bytes =
            fetch->job == fake->scattered_job ? &fake->scattered : &fake->large;
        put(fake,
            &(struct gw_message){
                .type = GW_MESSAGE_object,
                .object = {.request = fetch->request, .text = "", .bytes = bytes->size}},
            memory_file(bytes));
    }
    fake->fetches.count = 0;
}

static void on_fetch(struct gw_fake_scheduler *fake, const struct gw_msg_fetch *fetch)
{
    assert(gw_array_push(&fake->fetches, *fetch) == 0);
    if (fake->fetches.count >= atomic_load(&fake->fetches_held))
        answer_fetches(fake);
}

static void on_scatter(struct gw_fake_scheduler *fake, const struct gw_msg_scatter *scatter, int fd)
{
    fake->scatters++;
    fake->scattered.size = 0;
    fake->scattered_job = ++fake->last_job;
    gw_buffer_reserve(&fake->scattered, scatter->bytes);
    if (fd >= 0)
        assert(pread(fd, fake->scattered.data, scatter->bytes, 0) == (ssize_t)scatter->bytes);
    else
        memcpy(fake->scattered.data, scatter->value.data, scatter->value.size);
    fake->scattered.size = scatter->bytes;
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_accepted,
                             .accepted = {scatter->request, fake->scattered_job}},
        -1);
}

static struct job *find_job(struct gw_fake_scheduler *fake, uint64_t job)
{
    for (size_t i = 0; i < fake->jobs.count; i++)
        if (fake->jobs.items[i].job == job)
            return &fake->jobs.items[i];
    return NULL;
}

static void on_cancel(struct gw_fake_scheduler *fake, const struct gw_msg_cancel *cancel)
{
    struct job *job = find_job(fake, cancel->job);
    fake->cancels += job != NULL;
    if (job && cancel->index == GW_INDEX_ALL)
        for (uint32_t i = 0; i < job->rows; i++)
            fail(fake, job->request, i, GW_ECANCELLED);
    else if (job)
        fail(fake, job->request, cancel->index, GW_ECANCELLED);
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_reply,
                             .reply = {.request = cancel->request,
                                       .code = job ? 0 : GW_ENOENT,
                                       .text = job ? "" : "no such job"}},
        -1);
}

static void on_retry(struct gw_fake_scheduler *fake, const struct gw_msg_retry *retry)
{
    struct job *job = find_job(fake, retry->job);
    bool again = job && strcmp(job->function, "flaky") == 0;
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_reply,
                             .reply = {.request = retry->request,
                                       .code = again ? 0 : GW_EINVAL,
                                       .text = again ? "" : "it would fail again"}},
        -1);
    if (!again)
        return;
    struct rows rows = {0};
    rows_add(fake, &rows, job, retry->index, GW_RANK_NONE);
    rows_send(fake, &rows);
    rows_deinit(&rows);
}

static void on_query(struct gw_fake_scheduler *fake, const struct gw_msg_query *query)
{
    struct gw_value *value = NULL;
    if (strcmp(query->what, "echo") == 0) {
        assert(gw_codec_decode(query->arguments.data, query->arguments.size, NULL, &value, NULL) ==
               0);
    } else {
        value = gw_dict();
        gw_dict_set(value, "releases", gw_i64(fake->releases));
        gw_dict_set(value, "submits", gw_i64(fake->submits));
        gw_dict_set(value, "bytes", gw_i64(fake->arg_bytes));
        gw_dict_set(value, "programs", gw_i64(fake->programs));
        gw_dict_set(value, "blobs", gw_i64(fake->blobs));
        gw_dict_set(value, "cancels", gw_i64(fake->cancels));
        gw_dict_set(value, "scatters", gw_i64(fake->scatters));
    }
    reply(fake, query->request, value);
}

static void on_wait(struct gw_fake_scheduler *fake, const struct gw_msg_wait *wait)
{
    struct job *job = find_job(fake, wait->job);
    bool bad = job && strcmp(job->function, "bad") == 0;
    struct gw_value *body = gw_list();
    gw_list_push(body, gw_i64(bad ? GW_ETASK : 0));
    gw_list_push(body, gw_i64(bad ? 7 : 0));
    gw_list_push(body, gw_str(bad ? "boom" : ""));
    if (!job || strcmp(job->function, "never") != 0 || fake->cancels > 0)
        reply(fake, wait->request, body);
    else
        gw_value_unref(body);
}

static void on_log_read(struct gw_fake_scheduler *fake, const struct gw_msg_log_read *read)
{
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_log_data,
                             .log_data = {.request = read->request,
                                          .text = "",
                                          .attempt = 5,
                                          .offset = read->offset,
                                          .end = read->offset > 0,
                                          .time_ns = 8,
                                          .data = {"line\n", read->offset > 0 ? 0 : 5}}},
        -1);
}

static bool on_hello(struct gw_fake_scheduler *fake)
{
    if (atomic_exchange(&fake->refuse, false)) {
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_refuse,
                                 .refuse = {GW_EVERSION, "I am 9.9 and you are not"}},
            -1);
        return false;
    }
    put(fake,
        &(struct gw_message){.type = GW_MESSAGE_welcome,
                             .welcome = {.version = "9.9", .state_dir = "/nowhere"}},
        -1);
    return true;
}

static void on_spec(struct gw_fake_scheduler *fake, const struct gw_msg_spec *spec)
{
    if (fake->spec_count == SPECS_MAX) /* the older half is of jobs that were sent completely */
        memmove(fake->specs, fake->specs + SPECS_MAX / 2,
                (fake->spec_count = SPECS_MAX / 2) * sizeof *fake->specs);
    struct spec *retained = &fake->specs[fake->spec_count++];
    retained->key = spec->key;
    retained->number = spec->number;
    retained->ranks = spec->ranks;
    snprintf(retained->function, sizeof retained->function, "%s", spec->function);
}

static bool on_message(struct gw_fake_scheduler *fake, const struct gw_message *message, int fd)
{
    if (message->type != GW_MESSAGE_spec && message->type != GW_MESSAGE_submit)
        put_held(fake);
    switch (message->type) {
    case GW_MESSAGE_hello:
        return on_hello(fake);
    case GW_MESSAGE_program:
        on_program(fake, &message->program);
        return true;
    case GW_MESSAGE_blob:
        on_blob(fake, &message->blob, fd);
        return true;
    case GW_MESSAGE_spec:
        on_spec(fake, &message->spec);
        return true;
    case GW_MESSAGE_submit:
        return on_submit(fake, &message->submit);
    case GW_MESSAGE_scatter:
        on_scatter(fake, &message->scatter, fd);
        return true;
    case GW_MESSAGE_fetch:
        on_fetch(fake, &message->fetch);
        return true;
    case GW_MESSAGE_release:
        fake->releases += message->release.job.count;
        return true;
    case GW_MESSAGE_cancel:
        on_cancel(fake, &message->cancel);
        return true;
    case GW_MESSAGE_retry:
        on_retry(fake, &message->retry);
        return true;
    case GW_MESSAGE_query:
        on_query(fake, &message->query);
        return true;
    case GW_MESSAGE_wait:
        on_wait(fake, &message->wait);
        return true;
    case GW_MESSAGE_log_read:
        on_log_read(fake, &message->log_read);
        return true;
    case GW_MESSAGE_tunnel_open:
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_tunnel_opened,
                                 .tunnel_opened = {message->tunnel_open.request, 0, "", 1}},
            -1);
        return true;
    case GW_MESSAGE_tunnel_data:
        put(fake,
            &(struct gw_message){.type = GW_MESSAGE_tunnel_data,
                                 .tunnel_data = message->tunnel_data},
            -1);
        return true;
    default:
        return false;
    }
}

static void set_fd(struct gw_fake_scheduler *fake, int fd)
{
    pthread_mutex_lock(&fake->lock);
    fake->fd = fd;
    pthread_mutex_unlock(&fake->lock);
}

/* Waits for input; if fetches wait for each other, only for a limited time. */
static void await(struct gw_fake_scheduler *fake, int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    if (!fake->fetches.count || poll(&wanted, 1, LATE_MS) != 0)
        return;
    atomic_store(&fake->late, true);
    atomic_store(&fake->fetches_held, 0);
    answer_fetches(fake);
    gw_channel_flush(fake->channel);
}

/* Reads the next message; false: the connection has ended. */
static bool next(struct gw_fake_scheduler *fake, int fd, struct gw_message *message,
                 int fds[GW_FRAME_FDS_MAX], uint8_t *fd_count)
{
    int rc = gw_channel_get(fake->channel, false, message, fds, fd_count, NULL);
    if (rc == GW_EAGAIN) {
        await(fake, fd);
        rc = gw_channel_get(fake->channel, true, message, fds, fd_count, NULL);
    }
    return rc == 0;
}

static void serve(struct gw_fake_scheduler *fake, int fd)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count;
    bool goes_on = true;
    uint64_t last = 0;
    assert(gw_channel_new(fd, &fake->channel) == 0);
    set_fd(fake, fd);
    fake->spec_count = 0;
    fake->first_job = fake->last_job;
    while (goes_on && next(fake, fd, &message, fds, &fd_count)) {
        assert(message.sequence == last + 1);
        assert(message.type == GW_MESSAGE_hello || message.peer == SESSION);
        last = message.sequence;
        goes_on = on_message(fake, &message, fd_count > 0 ? fds[0] : -1);
        for (uint8_t i = 0; i < fd_count; i++)
            close(fds[i]);
        gw_channel_flush(fake->channel);
    }
    set_fd(fake, -1);
    fake->held.count = 0;
    fake->fetches.count = 0;
    gw_channel_flush(fake->channel);
    gw_channel_free(fake->channel);
}

static void *fake_thread(void *arg)
{
    struct gw_fake_scheduler *fake = arg;
    int fd;
    while ((fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (atomic_load(&fake->over) || atomic_load(&fake->disconnected))
            close(fd);
        else
            serve(fake, fd);
    }
    return NULL;
}

struct gw_fake_scheduler *gw_fake_scheduler_open(void)
{
    struct gw_fake_scheduler *fake = calloc(1, sizeof *fake);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    static uint8_t zeros[GW_FAKE_LARGE_BYTES];
    struct gw_value *large = gw_bytes(zeros, sizeof zeros);
    assert(gw_codec_encode(large, NULL, &fake->large) == 0);
    gw_value_unref(large);

    fake->fd = -1;
    pthread_mutex_init(&fake->lock, NULL);
    strcpy(fake->dir, "/tmp/gw-fake-XXXXXX");
    assert(mkdtemp(fake->dir));
    snprintf(fake->path, sizeof fake->path, "%s/scheduler.sock", fake->dir);
    snprintf(fake->address, sizeof fake->address, "unix:%s", fake->path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fake->path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(bind(fake->listener, (struct sockaddr *)&address, sizeof address) == 0);
    assert(listen(fake->listener, 8) == 0);
    assert(pthread_create(&fake->thread, NULL, fake_thread, fake) == 0);
    return fake;
}

void gw_fake_scheduler_close(struct gw_fake_scheduler *fake)
{
    atomic_store(&fake->over, true);
    shutdown(fake->listener, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    close(fake->listener);
    unlink(fake->path);
    rmdir(fake->dir);
    gw_array_deinit(&fake->jobs);
    gw_array_deinit(&fake->held);
    gw_array_deinit(&fake->fetches);
    gw_buffer_deinit(&fake->large);
    gw_buffer_deinit(&fake->scattered);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

void gw_fake_scheduler_leave(struct gw_fake_scheduler *fake)
{
    atomic_store(&fake->disconnected, true);
    pthread_mutex_lock(&fake->lock);
    if (fake->fd >= 0)
        shutdown(fake->fd, SHUT_RDWR);
    pthread_mutex_unlock(&fake->lock);
}

void gw_fake_scheduler_return(struct gw_fake_scheduler *fake)
{
    atomic_store(&fake->disconnected, false);
}

const char *gw_fake_scheduler_address(const struct gw_fake_scheduler *fake)
{
    return fake->address;
}

void gw_fake_scheduler_hold(struct gw_fake_scheduler *fake, uint32_t fetches)
{
    atomic_store(&fake->fetches_held, fetches);
}

bool gw_fake_scheduler_was_late(const struct gw_fake_scheduler *fake)
{
    return atomic_load(&fake->late);
}

int64_t gw_fake_scheduler_releases(const struct gw_fake_scheduler *fake)
{
    return atomic_load(&fake->releases);
}

void gw_fake_scheduler_refuse(struct gw_fake_scheduler *fake)
{
    atomic_store(&fake->refuse, true);
}
