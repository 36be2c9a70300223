/* Large results, one after another in the same memory. `memfiles WHAT ROUNDS`; prints what
 * test_memfiles.py reads. Every byte that is read is checked. */
#include "tests/e2e/programs/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 1 << 19 /* of a result: 4 MiB */ };

static struct gw_client *client;

static uint64_t word_of(uint64_t seed, uint64_t i)
{
    return seed * 1000003 + i;
}

static bool is_of(const void *data, size_t bytes, uint64_t seed)
{
    uint64_t word;
    for (size_t i = 0; i < bytes / sizeof word; i++) {
        memcpy(&word, (const char *)data + i * sizeof word, sizeof word);
        if (word != word_of(seed, i))
            return false;
    }
    return bytes / sizeof word >= WORDS / 2;
}

/* -- Task functions ------------------------------------------------------------------------------
 */

/* (seed): a result in which each word tells its position and seed; every other result is shorter.
 */
static int make(struct gw_task *task)
{
    int64_t seed;
    if (gw_task_arg_i64(task, 0, &seed) < 0)
        return GW_EINVAL;
    const size_t bytes = (seed % 2 ? WORDS : WORDS - 1000) * sizeof(uint64_t);
    uint64_t *data = malloc(bytes);
    for (size_t i = 0; data && i < bytes / sizeof *data; i++)
        data[i] = word_of((uint64_t)seed, i);
    int rc = data ? gw_task_return(task, gw_bytes(data, bytes)) : GW_ENOMEM;
    free(data);
    return rc;
}
GW_TASK(make);

/* (seed, bytes): how many page faults it took to read them; all of them have that seed. */
static int look(struct gw_task *task)
{
    int64_t seed;
    const void *data;
    size_t bytes;
    struct rusage before, after;
    if (gw_task_arg_i64(task, 0, &seed) < 0 || gw_task_arg_bytes(task, 1, &data, &bytes) < 0)
        return GW_EINVAL;
    (void)getrusage(RUSAGE_SELF, &before);
    if (!is_of(data, bytes, (uint64_t)seed))
        return gw_task_fail(task, GW_ECORRUPT, "not what seed %ld gives", (long)seed);
    (void)getrusage(RUSAGE_SELF, &after);
    return gw_task_return(task, gw_i64(after.ru_minflt - before.ru_minflt));
}
GW_TASK(look);

/* The first result is in no memory file, because its size was unknown. */
enum { RETAINED = 4 };
static struct gw_value *retained;

/* (seed, bytes): like look, and retains the bytes of seed KEPT, which stay unchanged; returns the
 * retained seed, or 0. */
static int retain(struct gw_task *task)
{
    int64_t seed;
    const void *data;
    size_t bytes;
    struct gw_value *value;
    if (gw_task_arg_i64(task, 0, &seed) < 0 || gw_task_arg_value(task, 1, &value) < 0)
        return GW_EINVAL;
    if (!retained && seed == RETAINED)
        retained = gw_value_ref(value);
    if (retained &&
        (gw_value_get_bytes(retained, &data, &bytes, NULL) < 0 || !is_of(data, bytes, RETAINED)))
        return gw_task_fail(task, GW_ECORRUPT, "what was kept has changed");
    if (gw_value_get_bytes(value, &data, &bytes, NULL) < 0 || !is_of(data, bytes, (uint64_t)seed))
        return gw_task_fail(task, GW_ECORRUPT, "not what seed %ld gives", (long)seed);
    return gw_task_return(task, gw_i64(retained ? RETAINED : 0));
}
GW_TASK(retain);

/* Whether a word there is of another thousand of seeds. A value's data begin behind a header of a
 * few bytes: at any of the first eight. */
static bool is_strange(const unsigned char bytes[16], uint64_t at, int64_t seed)
{
    for (uint64_t shift = 0; shift < 8; shift++)
        for (uint64_t head = 0; head <= 2 && head <= at / 8; head++) {
            uint64_t word, i = at / 8 - head;
            memcpy(&word, bytes + shift, sizeof word);
            uint64_t of = word > i ? (word - i) / 1000003 : 0;
            if (of > 0 && of < 10000 && word == word_of(of, i) &&
                of / 1000 != (uint64_t)seed / 1000)
                return true;
        }
    return false;
}

/* Checks a memory file that this process has open. */
static bool has_strange(int files, const char *name, int64_t seed)
{
    unsigned char bytes[16];
    bool strange = false;
    int fd = openat(files, name, O_RDONLY | O_CLOEXEC);
    for (off_t at = 0; !strange && pread(fd, bytes, sizeof bytes, at) == sizeof bytes; at += 65536)
        strange = is_strange(bytes, (uint64_t)at, seed);
    if (fd >= 0)
        (void)close(fd);
    return strange;
}

/* (seed): like make; fails if the file for its result contains data of another thousand of seeds.
 * Returns that result, and prints how many files it examined. */
static int pry(struct gw_task *task)
{
    int64_t seed, looked = 0;
    DIR *files = opendir("/proc/self/fd");
    if (gw_task_arg_i64(task, 0, &seed) < 0 || !files)
        return GW_EINVAL;
    for (struct dirent *each; (each = readdir(files));) {
        char target[256] = "";
        if (readlinkat(dirfd(files), each->d_name, target, sizeof target - 1) < 0 ||
            !strstr(target, "memfd:gangway-value"))
            continue;
        looked++;
        if (has_strange(dirfd(files), each->d_name, seed)) {
            (void)closedir(files);
            return gw_task_fail(task, GW_EPERM, "another user's bytes are in %s", target);
        }
    }
    (void)closedir(files);
    printf("looked at %ld\n", (long)looked);
    return make(task);
}
GW_TASK(pry);

/* -- Rounds --------------------------------------------------------------------------------------
 */

static const struct gw_function *maker = GW_FUNCTION(make);

/* The report of a task of this function on the result with that seed. */
static int64_t round_of(const struct gw_function *function, int64_t seed)
{
    struct gw_future *future;
    struct gw_value *value;
    int64_t said;
    struct gw_graph *graph = gw_graph_new();
    struct gw_value *seeds[] = {gw_i64(seed)};
    const uint32_t retries =
        maker == GW_FUNCTION(make) ? 20 : 0; /* data that was seen once was seen */
    gw_node made = gw_graph_call(graph, maker, GW_OPTIONS(.retries = retries), seeds, 1);
    struct gw_value *args[] = {gw_i64(seed), gw_result(made)};
    gw_node looked = gw_graph_call(graph, function, GW_OPTIONS(.slots = 2, .retries = 20), args, 2);
    CHECK(gw_client_submit(client, graph, looked, &future, &error) == 0);
    gw_graph_free(graph);
    CHECK(gw_future_get(future, 0, &value, &error) == 0);
    CHECK(gw_value_get_i64(value, &said, &error) == 0);
    gw_value_unref(value);
    gw_future_release(future);
    return said;
}

/* The page faults of the first round, and the fewest of the later rounds. */
static void faults(int rounds)
{
    int64_t first = round_of(GW_FUNCTION(look), 1), fewest = first;
    for (int i = 2; i <= rounds; i++) {
        int64_t these = round_of(GW_FUNCTION(look), i);
        fewest = these < fewest ? these : fewest;
        printf("%ld\n", (long)these);
        (void)fflush(stdout);
    }
    printf("first %ld fewest %ld\n", (long)first, (long)fewest);
}

static void keeping(int rounds)
{
    for (int i = 1; i <= rounds; i++)
        CHECK(round_of(GW_FUNCTION(retain), i) == (i < RETAINED ? 0 : RETAINED));
    printf("kept\n");
}

/* A result held by this program stays unchanged, too. */
static void having(int rounds)
{
    struct gw_value *values[4];
    const void *data;
    size_t bytes;
    for (int64_t k = 0; k < 4; k++) {
        struct gw_future *future;
        struct gw_graph *graph = gw_graph_new();
        gw_node made = gw_call(graph, make, NULL, gw_i64(1000 + k));
        CHECK(gw_client_submit(client, graph, made, &future, &error) == 0);
        gw_graph_free(graph);
        CHECK(gw_future_get(future, 0, &values[k], &error) == 0);
        gw_future_release(future);
    }
    for (int i = 1; i <= rounds; i++)
        (void)round_of(GW_FUNCTION(look), i);
    for (uint64_t k = 0; k < 4; k++) {
        CHECK(gw_value_get_bytes(values[k], &data, &bytes, &error) == 0);
        CHECK(is_of(data, bytes, 1000 + k));
        gw_value_unref(values[k]);
    }
    printf("had\n");
}

/* Two users alternate, by GANGWAY_TOKEN and $OTHER_TOKEN: each might be given idle memory of the
 * other. */
static void prying(int rounds)
{
    struct gw_client *users[2] = {client};
    CHECK(setenv("GANGWAY_TOKEN", getenv("OTHER_TOKEN"), 1) == 0);
    CHECK(gw_client_open(NULL, &users[1], &error) == 0);
    maker = GW_FUNCTION(pry);
    for (int i = 0; i < 2 * rounds; i++) {
        client = users[i % 2];
        (void)round_of(GW_FUNCTION(look), 1000 * (1 + i % 2) + i / 2);
    }
    client = users[0];
    gw_client_close(users[1]);
    printf("pried\n");
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    CHECK(argc == 3);
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(argv[1], "faults") == 0)
        faults(atoi(argv[2]));
    else if (strcmp(argv[1], "keep") == 0)
        keeping(atoi(argv[2]));
    else if (strcmp(argv[1], "pry") == 0)
        prying(atoi(argv[2]));
    else
        having(atoi(argv[2]));
    gw_client_close(client);
    return 0;
}
