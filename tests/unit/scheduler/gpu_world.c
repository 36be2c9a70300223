/* Workers with GPUs around a scheduler's core. */
#include "tests/unit/scheduler/gpu_world.h"

#include "graph/wire/codec.h"

static void push(struct gw_value *list, struct gw_value *value)
{
    assert_int_equal(gw_list_push(list, value), 0);
}

/* A worker with a GPU of 16 GiB per letter; GPUs of the same letter are one NVLink domain. Capital
 * letters are MIG instances of 5 GiB on the physical GPU of that letter; 'X' has one of 20 GiB.
 * bridges, nodes: the same for switches (NULL: each GPU has its own) and for NUMA nodes (NULL: all
 * GPUs are on one). */
void add_gpus_at(struct world *w, int number, const char *name, const char *domains,
                 const char *bridges, const char *nodes)
{
    struct gw_value *list = gw_list();
    struct gw_buffer bytes = {0};
    for (size_t i = 0; domains[i]; i++) {
        struct gw_value *gpu = gw_list();
        char uuid[48];
        (void)snprintf(uuid, sizeof uuid, "%s%zu", name, i);
        push(gpu, gw_str(uuid));
        push(gpu, gw_str("Fake"));
        bool instance = domains[i] < 'a';
        int64_t gib = !instance ? 16 : domains[i] == 'X' ? 20 : 5;
        push(gpu, gw_i64(gib * (int64_t)GIB));
        push(gpu, gw_i64(instance ? 1000 + (int64_t)i : domains[i]));
        push(gpu, gw_i64(bridges ? bridges[i] : (int64_t)i));
        push(gpu, gw_i64(nodes ? nodes[i] : 0));
        push(gpu, gw_str(instance ? (const char[]){domains[i], '\0'} : ""));
        push(list, gpu);
    }
    assert_int_equal(gw_codec_encode(list, NULL, &bytes), 0);
    uint64_t peer = WORKER + (uint64_t)number;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = 16,
                                             .memory_bytes = 1000,
                                             .gpus = {bytes.data, (uint32_t)bytes.size},
                                             .host = name,
                                             .address = name}});
    gw_buffer_deinit(&bytes);
    gw_value_unref(list);
}

void add_gpus(struct world *w, int number, const char *name, const char *domains)
{
    add_gpus_at(w, number, name, domains, NULL, NULL);
}

/* The same, on a machine with other workers; each GPU is named by its number. */
void add_machine(struct world *w, int number, const char *name, uint32_t gpus, const uint32_t *held)
{
    struct gw_value *list = gw_list();
    struct gw_buffer bytes = {0};
    const uint64_t attempt = 1, job = 1;
    const uint32_t zero = 0, none = GW_RANK_NONE, one = 1;
    for (uint32_t i = 0; i < gpus; i++) {
        struct gw_value *gpu = gw_list();
        push(gpu, gw_str((const char[]){(char)('0' + i), '\0'}));
        push(gpu, gw_str("Fake"));
        push(gpu, gw_i64(16 * (int64_t)GIB));
        push(list, gpu);
    }
    assert_int_equal(gw_codec_encode(list, NULL, &bytes), 0);
    uint64_t peer = WORKER + (uint64_t)number;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    struct gw_msg_registration registration = {.incarnation = 1 + (uint64_t)number,
                                               .slots = 16 + (uint32_t)number,
                                               .memory_bytes = 1000,
                                               .gpus = {bytes.data, (uint32_t)bytes.size},
                                               .host = name,
                                               .address = name,
                                               .machine = "one"};
    if (held) {
        registration.attempt = (struct gw_col64){(const void *)&attempt, 1};
        registration.attempt_job = (struct gw_col64){(const void *)&job, 1};
        registration.attempt_index = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_rank = (struct gw_col32){(const void *)&none, 1};
        registration.attempt_claim = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_world = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_gpu_count = (struct gw_col32){(const void *)&one, 1};
        registration.attempt_gpus = (struct gw_col32){(const void *)held, 1};
    }
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration, .registration = registration});
    gw_buffer_deinit(&bytes);
    gw_value_unref(list);
}

void leaves(struct world *w, int number)
{
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)number}, .text = "gone"});
}

/* Lets seconds pass while worker b is connected. */
void pass_seconds(struct world *w, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        w->now_ns += 1000 * MS - 1;
        say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    }
}

/* "0,1 2,3": the GPUs of each row of the assign message to a worker. */
void assert_gpus(struct world *w, int worker, const char *wanted)
{
    const struct gw_msg_assign *assign =
        &must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign)->assign;
    char text[128] = "";
    uint32_t at = 0;
    for (uint32_t i = 0; i < assign->gpu_count.count; i++)
        for (uint32_t k = 0; k < gw_col32_at(assign->gpu_count, i); k++) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s%u",
                           k   ? ","
                           : i ? " "
                               : "",
                           gw_col32_at(assign->gpus, at++));
        }
    assert_string_equal(text, wanted);
}

void refused(struct world *w, int32_t code, const char *text)
{
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, code);
    if (!strstr(rejected->text, text))
        fail_msg("%s", rejected->text);
}

void drain(struct world *w, int worker, uint32_t gpu, const char *why)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_gpu_drained, .gpu_drained = {gpu, why}});
}

void end_badly(struct world *w, int worker, uint64_t attempt, uint32_t outcome, const char *tail)
{
    attempt_ended(w, worker,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = outcome,
                                        .executing = 1,
                                        .exit_code = 1,
                                        .text = "exit code 1",
                                        .stderr_tail = tail});
}
