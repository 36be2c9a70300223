/* Checkpoints whose sections are in device memory: the file has them, the host and the
 * stream only wait for copies, and bad sections are refused. With WITH_FAKES also the order of
 * work on the stream, which a gate holds up. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <gangway/checkpoint_writer.h>
#include <gangway/optimizer.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef WITH_FAKES
#include "tests/gpu/fake/fake.h"
#include <pthread.h>
#include <sched.h>
#endif

extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { SECTIONS = 300, ROOM = 1000, LARGE = 16 << 20, WEIGHTS = 50000, PATH_BYTES = 64 };

/* A writer, and memory on the device with ROOM bytes for each section. */
struct subject {
    char folder[PATH_BYTES / 2], path[PATH_BYTES];
    cudaStream_t stream;
    char *memory;
    struct gw_checkpoint_writer *writer;
};

static int subject_init(struct world_rank *self, struct subject *subject, size_t bytes)
{
    (void)snprintf(subject->folder, sizeof subject->folder, "/tmp/gangway-device-XXXXXX");
    RANK_CHECK(mkdtemp(subject->folder));
    (void)snprintf(subject->path, sizeof subject->path, "%s/model", subject->folder);
    void *memory;
    RANK_CHECK(cudaSetDevice(0) == cudaSuccess);
    RANK_CHECK(cudaStreamCreateWithFlags(&subject->stream, cudaStreamNonBlocking) == cudaSuccess);
    RANK_CHECK(cudaMalloc(&memory, bytes) == cudaSuccess);
    subject->memory = memory;
    RANK_CHECK_RC(gw_checkpoint_writer_open(GW_CHECKPOINT_WRITER_OPTIONS(.path = subject->path,
                                                                         .stream = subject->stream),
                                            &subject->writer, NULL),
                  0);
    return 0;
}

static int subject_deinit(struct world_rank *self, struct subject *subject)
{
    char command[PATH_BYTES + 8];
    RANK_CHECK_RC(gw_checkpoint_writer_close(subject->writer, NULL), 0);
    RANK_CHECK(cudaFree(subject->memory) == cudaSuccess);
    RANK_CHECK(cudaStreamDestroy(subject->stream) == cudaSuccess);
    (void)snprintf(command, sizeof command, "rm -r %s", subject->folder);
    RANK_CHECK(system(command) == 0);
    return 0;
}

static int fill(struct world_rank *self, const struct subject *subject, int value, size_t bytes)
{
    RANK_CHECK(cudaMemsetAsync(subject->memory, value, bytes, subject->stream) == cudaSuccess);
    return 0;
}

/* A section of 0 to ROOM bytes. */
static size_t bytes_of(size_t section)
{
    return section * 7 % (ROOM + 1);
}

static void name_of(char name[16], size_t section)
{
    (void)snprintf(name, 16, "s%zu", section);
}

/* The checkpoint at the path has `value` in all sections. */
static int file_check(struct world_rank *self, const struct subject *subject, int value,
                      size_t sections)
{
    struct gw_checkpoint *found;
    char name[16];
    const void *data;
    size_t bytes;
    RANK_CHECK_RC(gw_checkpoint_file_read(subject->path, &found, NULL), 0);
    for (size_t i = 0; i < sections; i++) {
        name_of(name, i);
        RANK_CHECK_RC(gw_checkpoint_bytes(found, name, &data, &bytes), 0);
        RANK_CHECK(bytes == bytes_of(i));
        for (size_t k = 0; k < bytes; k++)
            RANK_CHECK(((const char *)data)[k] == value);
    }
    gw_checkpoint_free(found);
    return 0;
}

static int rank_saves(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new();
    char name[16], host[64];
    RANK_CHECK_RC(subject_init(self, &subject, (size_t)SECTIONS * ROOM), 0);
    for (size_t i = 0; i < SECTIONS; i++) {
        name_of(name, i);
        RANK_CHECK_RC(gw_checkpoint_set_device(set, name, subject.memory + i * ROOM, bytes_of(i)),
                      0);
    }
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "none", NULL, 0), 0);
    RANK_CHECK_RC(gw_checkpoint_set_bytes(set, "host", host, sizeof host), 0);
    for (int save = 1; save <= 3; save++) {
        memset(host, save, sizeof host);
        RANK_CHECK_RC(fill(self, &subject, save, (size_t)SECTIONS * ROOM), 0);
#ifdef WITH_FAKES
        const unsigned waits = fake_count(FAKE_SYNC);
#endif
        RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, (uint64_t)save, -save, NULL),
                      0);
        memset(host, 99, sizeof host);
        RANK_CHECK_RC(fill(self, &subject, 99, (size_t)SECTIONS * ROOM), 0);
        RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
#ifdef WITH_FAKES
        RANK_CHECK(fake_count(FAKE_SYNC) == waits + 1); /* the thread's, for all sections */
#endif
        RANK_CHECK_RC(file_check(self, &subject, save, SECTIONS), 0);
    }
    struct gw_checkpoint *found;
    RANK_CHECK_RC(gw_checkpoint_file_read(subject.path, &found, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_copy(found, "host", host, sizeof host, NULL), 0);
    RANK_CHECK(host[0] == 3 && host[63] == 3);
    RANK_CHECK_RC(gw_checkpoint_copy(found, "none", host, 0, NULL), 0);
    gw_checkpoint_free(found);
    gw_checkpoint_free(set);
    return subject_deinit(self, &subject);
}

static int run_alone(world_function *function)
{
    struct world world = {.hooks = hooks, .ranks = 1, .function = function};
    return world_run(&world);
}

static void sections_in_device_memory_are_saved_as_they_were(void **state)
{
    assert_int_equal(run_alone(rank_saves), 0);
}

#ifdef WITH_FAKES
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_open;

static void gate_run(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    while (!is_open)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void gate_set(bool open)
{
    pthread_mutex_lock(&mutex);
    is_open = open;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* The save begins and is "copied" while the stream is held up: the host waits for nothing. The
 * stream then waits for the copies before it overwrites the section. */
static int rank_goes_on(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new(), *found;
    const void *data;
    size_t bytes;
    RANK_CHECK_RC(subject_init(self, &subject, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "w", subject.memory, LARGE), 0);
    fake_enqueue(subject.stream, gate_run, NULL);
    RANK_CHECK_RC(fill(self, &subject, 5, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_start(subject.writer, set, 1, 1, NULL), 0);
    gw_checkpoint_writer_copied(subject.writer);
    RANK_CHECK_RC(fill(self, &subject, 9, LARGE), 0);
    gate_set(true);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_file_read(subject.path, &found, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_bytes(found, "w", &data, &bytes), 0);
    for (size_t i = 0; i < LARGE; i++)
        RANK_CHECK(((const char *)data)[i] == 5);
    gw_checkpoint_free(found);
    gw_checkpoint_free(set);
    return subject_deinit(self, &subject);
}

static void host_goes_on_while_sections_are_copied(void **state)
{
    assert_int_equal(run_alone(rank_goes_on), 0);
}

/* A save that is held up: every wait for it ends, and so does the save when the gate opens. */
static int rank_is_late(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new();
    struct gw_checkpoint_writer *late;
    struct gw_error error;
    char path[PATH_BYTES + 16];
    RANK_CHECK_RC(subject_init(self, &subject, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "w", subject.memory, LARGE), 0);
    for (int close = 0; close < 2; close++) {
        (void)snprintf(path, sizeof path, "%s%d", subject.path, close);
        RANK_CHECK_RC(gw_checkpoint_writer_open(
                          GW_CHECKPOINT_WRITER_OPTIONS(.path = path, .stream = subject.stream,
                                                       .timeout_ns = 1),
                          &late, NULL),
                      0);
        gate_set(false);
        fake_enqueue(subject.stream, gate_run, NULL);
        RANK_CHECK_RC(gw_checkpoint_writer_save(late, set, 7, 1, NULL), 0);
        RANK_CHECK_RC(gw_checkpoint_writer_save(late, set, 8, 1, &error), GW_ETIMEDOUT);
        RANK_CHECK(strstr(error.text, "step 7 is not on disk after 1ns"));
        RANK_CHECK_RC(gw_checkpoint_writer_wait(late, NULL), GW_ETIMEDOUT);
        if (close)
            RANK_CHECK_RC(gw_checkpoint_writer_close(late, NULL), GW_ETIMEDOUT);
        gate_set(true);
        int rc = close ? 0 : GW_ETIMEDOUT;
        while (rc == GW_ETIMEDOUT)
            rc = gw_checkpoint_writer_wait(late, NULL);
        RANK_CHECK_RC(rc, 0);
        if (!close)
            RANK_CHECK_RC(gw_checkpoint_writer_close(late, NULL), 0);
        (void)snprintf(path, sizeof path, "%s%d.best", subject.path, close);
        while (access(path, F_OK) < 0) /* the last file of the thread */
            sched_yield();
    }
    gw_checkpoint_free(set);
    return subject_deinit(self, &subject);
}

static void wait_for_a_late_save_has_a_deadline(void **state)
{
    assert_int_equal(run_alone(rank_is_late), 0);
}
#endif

/* Parameters on the device, which start as 1, with gradients of 0.5. */
struct learner {
    void *w, *g;
    struct gw_optimizer *optimizer;
};

static int learner_init(struct world_rank *self, struct learner *learner,
                        struct gw_optimizer_options options)
{
    static float numbers[WEIGHTS];
    for (int half = 0; half < 2; half++) {
        void **to = half ? &learner->g : &learner->w;
        for (size_t i = 0; i < WEIGHTS; i++)
            numbers[i] = half ? 0.5f : 1;
        RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof numbers, to, NULL), 0);
        hooks->copy(*to, numbers, sizeof numbers);
    }
    const struct gw_optimizer_tensor tensor = {
        .data = learner->w, .gradient = learner->g, .count = WEIGHTS};
    RANK_CHECK_RC(gw_optimizer_new(&options, &tensor, 1, &learner->optimizer, NULL), 0);
    return 0;
}

static void learner_deinit(struct world_rank *self, struct learner *learner)
{
    gw_optimizer_free(learner->optimizer);
    gw_comm_dealloc(self->comm, learner->w);
    gw_comm_dealloc(self->comm, learner->g);
}

/* Loads the optimizer's section, and copies the parameters. */
static int learner_load(struct world_rank *self, const struct learner *to, const char *path)
{
    const struct gw_checkpoint_place places[] = {
        gw_optimizer_checkpoint_place(to->optimizer, "adam"),
        {"w", to->w, WEIGHTS * sizeof(float)},
    };
    struct gw_checkpoint *rest;
    RANK_CHECK_RC(gw_checkpoint_comm_load_into(self->comm, path, places, 2, &rest, NULL), 0);
    gw_checkpoint_free(rest);
    return 0;
}

static int rank_saves_optimizer(struct world_rank *self)
{
    struct subject subject;
    struct learner saved, loaded, other;
    struct gw_checkpoint *set = gw_checkpoint_new();
    struct gw_error error;
    static float seen[2][WEIGHTS];
    size_t bytes;
    RANK_CHECK_RC(subject_init(self, &subject, 1), 0);
    struct gw_optimizer_options adam = gw_optimizer_adam(0.1), adamw = gw_optimizer_adamw(0.1);
    adam.stream = adamw.stream = subject.stream;
    RANK_CHECK_RC(learner_init(self, &saved, adam), 0);
    RANK_CHECK_RC(learner_init(self, &loaded, adam), 0);
    RANK_CHECK_RC(learner_init(self, &other, adamw), 0);
    for (int step = 0; step < 3; step++)
        RANK_CHECK_RC(gw_optimizer_step(saved.optimizer, NULL), 0);
    RANK_CHECK_RC(gw_optimizer_checkpoint_set(saved.optimizer, set, "adam"), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "w", saved.w, WEIGHTS * sizeof(float)), 0);
#ifdef WITH_FAKES
    const unsigned waits = fake_count(FAKE_SYNC);
#endif
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 1, 1, NULL), 0);
    RANK_CHECK_RC(gw_optimizer_step(saved.optimizer, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
#ifdef WITH_FAKES
    RANK_CHECK(fake_count(FAKE_SYNC) == waits + 1); /* the thread's */
#endif

    RANK_CHECK_RC(learner_load(self, &loaded, subject.path), 0);
    RANK_CHECK_RC(gw_optimizer_checkpoint_loaded(loaded.optimizer, NULL), 0);
    RANK_CHECK_RC(gw_optimizer_step(loaded.optimizer, NULL), 0);
    const void *states[] = {gw_optimizer_state(saved.optimizer, &bytes),
                            gw_optimizer_state(loaded.optimizer, &bytes)};
    RANK_CHECK(memcmp(states[0], states[1], bytes) == 0);
    hooks->copy(seen[0], saved.w, sizeof seen[0]);
    hooks->copy(seen[1], loaded.w, sizeof seen[1]);
    RANK_CHECK(memcmp(seen[0], seen[1], sizeof seen[0]) == 0 && seen[0][0] != 1);

    RANK_CHECK_RC(learner_load(self, &other, subject.path), 0);
    RANK_CHECK_RC(gw_optimizer_checkpoint_loaded(other.optimizer, &error), GW_EMISMATCH);
    RANK_CHECK(strstr(error.text, "of kind 2") && strstr(error.text, "of kind 3"));
    gw_checkpoint_free(set);
    learner_deinit(self, &saved);
    learner_deinit(self, &loaded);
    learner_deinit(self, &other);
    return subject_deinit(self, &subject);
}

static void optimizer_is_saved_and_loaded_where_it_lies(void **state)
{
    assert_int_equal(run_alone(rank_saves_optimizer), 0);
}

/* Starts a save of one section, which is refused. */
static int refusal_check(struct world_rank *self, struct gw_checkpoint_writer *writer,
                         const void *data, size_t bytes, const char *text)
{
    struct gw_checkpoint *set = gw_checkpoint_new();
    struct gw_error error;
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "w", data, bytes), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_save(writer, set, 1, 1, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, text));
    gw_checkpoint_free(set);
    return 0;
}

static int rank_is_refused(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new();
    struct gw_checkpoint_writer *plain;
    struct gw_error error;
    cudaGraph_t graph;
    char host[16];
    const void *data;
    size_t bytes;
    RANK_CHECK_RC(subject_init(self, &subject, LARGE), 0);
    RANK_CHECK_RC(refusal_check(self, subject.writer, host, sizeof host,
                                "section \"w\": no memory of a GPU is at"),
                  0);
    RANK_CHECK_RC(refusal_check(self, subject.writer, subject.memory + 1, LARGE, "less than"), 0);
    RANK_CHECK_RC(
        gw_checkpoint_writer_open(GW_CHECKPOINT_WRITER_OPTIONS(.path = subject.path), &plain, NULL),
        0);
    RANK_CHECK_RC(refusal_check(self, plain, subject.memory, LARGE, "with a stream"), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_close(plain, NULL), 0);
    RANK_CHECK(cudaStreamBeginCapture(subject.stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    RANK_CHECK_RC(refusal_check(self, subject.writer, subject.memory, LARGE, "being captured"), 0);
    RANK_CHECK(cudaStreamEndCapture(subject.stream, &graph) == cudaSuccess);
    RANK_CHECK(cudaGraphDestroy(graph) == cudaSuccess);

    RANK_CHECK_RC(gw_checkpoint_set_device(set, "w", subject.memory, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_bytes(set, "w", &data, &bytes), GW_EINVAL);
    RANK_CHECK_RC(gw_checkpoint_copy(set, "w", host, LARGE, NULL), GW_EINVAL);
    RANK_CHECK_RC(gw_checkpoint_file_write(set, subject.path, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "section \"w\" is in memory of a GPU"));
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 1, 1, NULL), 0);
    gw_checkpoint_writer_copied(subject.writer);
    gw_checkpoint_free(set);
    return subject_deinit(self, &subject);
}

static void memory_that_cannot_be_copied_is_refused(void **state)
{
    assert_int_equal(run_alone(rank_is_refused), 0);
}

/* 0 sections; as many as fit beside the metric; one more. */
static int rank_has_many(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new(), *found;
    struct gw_error error;
    char name[16];
    const void *data;
    size_t bytes;
    RANK_CHECK_RC(subject_init(self, &subject, GW_CHECKPOINT_SECTIONS_MAX), 0);
    RANK_CHECK_RC(fill(self, &subject, 6, GW_CHECKPOINT_SECTIONS_MAX), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 1, 1, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
    for (size_t i = 0; i < GW_CHECKPOINT_SECTIONS_MAX; i++) {
        if (i == GW_CHECKPOINT_SECTIONS_MAX - 1) {
            RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 2, 1, NULL), 0);
            RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
        }
        name_of(name, i);
        RANK_CHECK_RC(gw_checkpoint_set_device(set, name, subject.memory + i, 1), 0);
    }
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "more", subject.memory, 1), GW_ELIMIT);
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 3, 1, &error), GW_ELIMIT);
    gw_checkpoint_free(set);
    RANK_CHECK_RC(gw_checkpoint_file_read(subject.path, &found, NULL), 0);
    name_of(name, GW_CHECKPOINT_SECTIONS_MAX - 2);
    RANK_CHECK_RC(gw_checkpoint_bytes(found, name, &data, &bytes), 0);
    RANK_CHECK(bytes == 1 && *(const char *)data == 6);
    gw_checkpoint_free(found);
    return subject_deinit(self, &subject);
}

static void number_of_sections_is_limited(void **state)
{
    assert_int_equal(run_alone(rank_has_many), 0);
}

/* A limit of the size of files stands for a full disk: both end in one function. */
static int rank_has_no_room(struct world_rank *self)
{
    struct subject subject;
    struct gw_checkpoint *set = gw_checkpoint_new();
    struct gw_error error;
    struct rlimit usual, tight;
    RANK_CHECK_RC(subject_init(self, &subject, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "s1", subject.memory, bytes_of(1)), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "s0", subject.memory, 0), 0);
    RANK_CHECK_RC(gw_checkpoint_set_device(set, "large", subject.memory, LARGE), 0);
    RANK_CHECK_RC(fill(self, &subject, 4, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 1, 1, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
    RANK_CHECK(getrlimit(RLIMIT_FSIZE, &usual) == 0);
    tight = (struct rlimit){.rlim_cur = LARGE, .rlim_max = usual.rlim_max};
    RANK_CHECK(setrlimit(RLIMIT_FSIZE, &tight) == 0);
    RANK_CHECK_RC(fill(self, &subject, 8, LARGE), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 2, 1, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, &error), GW_EIO);
    RANK_CHECK(strstr(error.text, "ulimit -f"));
    RANK_CHECK(setrlimit(RLIMIT_FSIZE, &usual) == 0);
    RANK_CHECK_RC(file_check(self, &subject, 4, 2), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_save(subject.writer, set, 3, 1, NULL), 0);
    RANK_CHECK_RC(gw_checkpoint_writer_wait(subject.writer, NULL), 0);
    RANK_CHECK_RC(file_check(self, &subject, 8, 2), 0);
    gw_checkpoint_free(set);
    return subject_deinit(self, &subject);
}

static void full_disk_leaves_the_checkpoint_before(void **state)
{
    assert_int_equal(run_alone(rank_has_no_room), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_in_device_memory_are_saved_as_they_were),
#ifdef WITH_FAKES
        cmocka_unit_test(host_goes_on_while_sections_are_copied),
        cmocka_unit_test(wait_for_a_late_save_has_a_deadline),
#endif
        cmocka_unit_test(optimizer_is_saved_and_loaded_where_it_lies),
        cmocka_unit_test(memory_that_cannot_be_copied_is_refused),
        cmocka_unit_test(number_of_sections_is_limited),
        cmocka_unit_test(full_disk_leaves_the_checkpoint_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
