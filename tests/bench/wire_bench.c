/* wire_bench [rounds]: measures encoding and decoding of frequent messages, per row. */
#include "graph/base/clock.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/message.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, VALUE_BYTES = 16 };

/* Each row has a value of 16 bytes, a list of arguments of 16 bytes, and one dependency with a
 * value. */
static uint32_t ones[ROWS], sizes[ROWS], numbers[ROWS];
static uint64_t ids[ROWS];
static uint8_t blob[ROWS * VALUE_BYTES];

static struct gw_col32 c32(const uint32_t *data)
{
    return (struct gw_col32){data, ROWS};
}

static struct gw_message make_assign(void)
{
    struct gw_message message = {.type = GW_MESSAGE_assign, .term = 1, .peer = 2, .sequence = 3};
    struct gw_col64 id = {ids, ROWS};
    struct gw_bin values = {blob, sizeof blob};
    message.assign = (struct gw_msg_assign){
        .job = id,
        .index = c32(numbers),
        .spec = c32(numbers),
        .attempt = id,
        .try_number = c32(numbers),
        .rank = c32(numbers),
        .gpu_count = c32(ones),
        .gpus = c32(numbers),
        .args_size = c32(sizes),
        .args = values,
        .dep_count = c32(ones),
        .dep_job = id,
        .dep_index = c32(numbers),
        .dep_rank = c32(numbers),
        .dep_bytes = id,
        .dep_worker = c32(numbers),
        .dep_value_size = c32(sizes),
        .dep_values = values,
    };
    return message;
}

static struct gw_message make_finished(void)
{
    struct gw_message message = {.type = GW_MESSAGE_finished, .term = 1, .peer = 2, .sequence = 3};
    struct gw_col64 id = {ids, ROWS};
    message.finished = (struct gw_msg_finished){
        .attempt = id,
        .rank = c32(numbers),
        .bytes = id,
        .value_size = c32(sizes),
        .values = {blob, sizeof blob},
        .run_ns = id,
    };
    return message;
}

static struct gw_message make_submit(void)
{
    struct gw_message message = {.type = GW_MESSAGE_submit, .term = 1, .peer = 2, .sequence = 3};
    message.submit = (struct gw_msg_submit){
        .request = 1,
        .flags = GW_SUBMIT_LAST,
        .name = "bag",
        .spec = c32(numbers),
        .args_size = c32(sizes),
        .args = {blob, sizeof blob},
        .dep_count = c32(ones),
        .dep_job = {ids, ROWS},
        .dep_index = c32(numbers),
        .dep_rank = c32(numbers),
        .targets = c32(numbers),
    };
    return message;
}

static struct gw_message make_done(void)
{
    struct gw_message message = {.type = GW_MESSAGE_done, .term = 1, .peer = 2, .sequence = 3};
    struct gw_col64 id = {ids, ROWS};
    message.done = (struct gw_msg_done){
        .request = id,
        .index = c32(numbers),
        .rank = c32(numbers),
        .bytes = id,
        .value_size = c32(sizes),
        .values = {blob, sizeof blob},
    };
    return message;
}

static void must(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "wire_bench: %s\n", gw_error_text(rc));
        exit(1);
    }
}

static void measure(const struct gw_message *message, uint32_t rows, uint32_t rounds)
{
    struct gw_buffer buffer = {0};
    struct gw_arena arena = {0};
    uint64_t start_ns = gw_clock_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        buffer.size = 0;
        must(gw_message_encode(message, 0, &buffer));
    }
    uint64_t encoded_ns = gw_clock_now_ns();
    for (uint32_t i = 0; i < rounds; i++) {
        struct gw_message decoded;
        must(gw_message_decode(buffer.data + GW_FRAME_HEADER_BYTES,
                               buffer.size - GW_FRAME_HEADER_BYTES, &arena, &decoded, NULL));
        gw_arena_reset(&arena);
    }
    uint64_t decoded_ns = gw_clock_now_ns();
    double count = (double)rounds * rows;
    printf("%-10s %6u %8zu %12.2f %12.2f\n", gw_message_name(message->type), rows, buffer.size,
           (double)(encoded_ns - start_ns) / count, (double)(decoded_ns - encoded_ns) / count);
    gw_arena_deinit(&arena);
    gw_buffer_deinit(&buffer);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20000;
    for (uint32_t i = 0; i < ROWS; i++) {
        ones[i] = 1;
        sizes[i] = VALUE_BYTES;
        numbers[i] = i;
        ids[i] = i;
    }
    struct gw_message messages[] = {make_assign(), make_finished(), make_submit(), make_done()};
    printf("%-10s %6s %8s %12s %12s\n", "message", "rows", "bytes", "encode ns/row",
           "decode ns/row");
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        measure(&messages[i], ROWS, rounds);
    struct gw_message small = {.type = GW_MESSAGE_forget, .forget = {.job = 7}};
    measure(&small, 1, rounds * 50);
    return 0;
}
