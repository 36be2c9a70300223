/* Runs a fuzz target without libFuzzer: replays files, or mutates the target's seeds.
 *
 *     fuzz_wire FILE...               each file once
 *     fuzz_wire --seed S --runs N     N inputs that follow from S alone
 *     fuzz_wire --seed S --run I      input I of those, to look at it
 *
 * When a run dies its number is printed, so that one line replays it. */
#include "tests/fuzz/fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_BYTES_MAX = 4096, MUTATIONS_MAX = 8 };

static uint64_t seed = 1, running;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void say_run(void)
{
    char text[96];
    int length = snprintf(text, sizeof text, "replay with: --seed %llu --run %llu\n",
                          (unsigned long long)seed, (unsigned long long)running);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

static void driver_on_abort(int signal_number)
{
    say_run();
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
}

/* Of ASan and UBSan, where they are linked. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
    uint8_t data[INPUT_BYTES_MAX];
    size_t size;
};

/* Bytes that mean something in MessagePack or at a border. */
static const uint8_t telling[] = {0x00, 0x01, 0x7f, 0x80, 0x90, 0xa0, 0xc0, 0xc1, 0xc4, 0xc6,
                                  0xc9, 0xcf, 0xd3, 0xd6, 0xdb, 0xdd, 0xdf, 0xe0, 0xfe, 0xff};

static void replace(struct input *input, uint64_t random)
{
    size_t at = (random >> 8) % input->size;
    size_t count = 1 + (random >> 40) % 5;
    for (size_t i = 0; i < count && at + i < input->size; i++)
        input->data[at + i] = telling[(random >> (44 + i)) % sizeof telling];
}

/* Takes `count` bytes out at `at`, or puts a copy of them in before. */
static void cut(struct input *input, uint64_t random)
{
    size_t at = (random >> 8) % input->size;
    size_t count = 1 + (random >> 40) % 16;
    if (count > input->size - at)
        count = input->size - at;
    memmove(input->data + at, input->data + at + count, input->size - at - count);
    input->size -= count;
}

static void repeat(struct input *input, uint64_t random)
{
    size_t at = (random >> 8) % input->size;
    size_t count = 1 + (random >> 40) % 16;
    if (count > input->size - at)
        count = input->size - at;
    if (input->size + count > sizeof input->data)
        return;
    memmove(input->data + at + count, input->data + at, input->size - at);
    input->size += count;
}

static void mutate(struct input *input, uint64_t random)
{
    if (input->size == 0)
        return;
    size_t at = (random >> 8) % input->size;
    switch (random % 6) {
    case 0:
        input->data[at] ^= (uint8_t)(1 << (random >> 40) % 8);
        break;
    case 1:
        input->data[at] = (uint8_t)(random >> 40);
        break;
    case 2:
        input->data[at] = (uint8_t)(input->data[at] + ((random >> 40) % 2 ? 1 : -1));
        break;
    case 3:
        replace(input, random);
        break;
    case 4:
        cut(input, random);
        break;
    case 5:
        repeat(input, random);
        break;
    }
}

static void run_one(uint32_t seeds)
{
    static struct input input;
    uint64_t state = seed * UINT64_C(0x2545f4914f6cdd1d) + running;
    input.size =
        gw_fuzz_seed((uint32_t)(next_random(&state) % seeds), input.data, sizeof input.data);
    uint64_t mutations = next_random(&state) % (MUTATIONS_MAX + 1); /* none: it must be accepted */
    for (uint64_t i = 0; i < mutations; i++)
        mutate(&input, next_random(&state));
    uint8_t *exact = malloc(input.size ? input.size : 1); /* so that ASan sees one byte too far */
    if (!exact)
        abort();
    memcpy(exact, input.data, input.size);
    (void)LLVMFuzzerTestOneInput(exact, input.size);
    free(exact);
}

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    static uint8_t data[1 << 22];
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    return 0;
}

int main(int argc, char **argv)
{
    static struct input probe;
    uint64_t from = 0, to = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            to = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--run") == 0 && i + 1 < argc) {
            from = strtoull(argv[++i], NULL, 10);
            to = from + 1;
        } else {
            failed |= replay(argv[i]);
        }
    }
    signal(SIGABRT, driver_on_abort);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_run);
    uint32_t seeds = 0;
    while (gw_fuzz_seed(seeds, probe.data, sizeof probe.data))
        seeds++;
    for (running = from; running < to; running++)
        run_one(seeds);
    printf("%llu inputs from %u seeds\n", (unsigned long long)(to - from), seeds);
    return failed;
}
