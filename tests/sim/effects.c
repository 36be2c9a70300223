/* The effect hash. A change that only moves or renames code keeps the hash. A change of behaviour
 * changes it.
 *
 * Each step of a core is appended to a buffer: the time, the core, the deadline that it requests,
 * and for each effect all numbers, the message as encoded bytes, and the bytes of durable facts.
 * The new hash is the hash of the old one and this buffer. Not included are fields with texts for
 * people, answers to queries, and log lines, so that texts can be reworded. Numbers of commits are
 * not included either, because in the simulator they are the size of all facts, including texts. */
#include "tests/sim/effects.h"

#include "graph/base/must.h"
#include "graph/wire/frame.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* True for the names of fields that are not included. Each name is given with a message that has
 * such a field, so that a wrong name does not compile. */
#define IS(field, name, message)                                                                   \
    (sizeof(((struct gw_msg_##message *)NULL)->name) && strcmp(field, #name) == 0)
#define LEFT_OUT(field)                                                                            \
    (IS(field, body, reply) || IS(field, by, gpu_undrain) || IS(field, commits, heartbeat) ||      \
     IS(field, text, ended) || IS(field, trouble, memory) || IS(field, version, welcome) ||        \
     IS(field, why, gpu_drained))

static bool started;
static uint8_t hash[GW_HASH_BYTES];
static struct gw_buffer step;

static void add(const void *data, size_t bytes)
{
    GW_MUST(gw_buffer_append(&step, data, bytes));
}

static void add_number(uint64_t number)
{
    add(&number, sizeof number);
}

/* -- Messages ------------------------------------------------------------------------------------
 */

#define CLEAR_U32(field)
#define CLEAR_U64(field)                                                                           \
    if (LEFT_OUT(#field))                                                                          \
        body->field = 0;
#define CLEAR_I32(field)
#define CLEAR_I64(field)
#define CLEAR_F64(field)
#define CLEAR_C32(field)
#define CLEAR_C64(field)
#define CLEAR_STR(field)                                                                           \
    if (LEFT_OUT(#field))                                                                          \
        body->field = NULL;
#define CLEAR_BIN(field)                                                                           \
    if (LEFT_OUT(#field))                                                                          \
        body->field = (struct gw_bin){0};

static void clear_left_out(struct gw_message *message)
{
    switch (message->type) {
#define F(kind, field) CLEAR_##kind(field)
#define M(name, number, ...)                                                                       \
    case number: {                                                                                 \
        struct gw_msg_##name *body = &message->name;                                               \
        (void)body;                                                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
#include "graph/wire/messages.def"
#undef M
#undef F
    }
}

static void add_message(const struct gw_message *message)
{
    struct gw_message copy = *message;
    clear_left_out(&copy);
    GW_MUST(gw_message_encode(&copy, 0, &step));
}

/* -- Durable facts -------------------------------------------------------------------------------
 */

enum fact_kind { FACT_U32, FACT_I32, FACT_U64, FACT_CHARGES, FACT_STR, FACT_BIN, FACT_RESULTS };

/* Removes bytes from the front of `left` and adds them to the hash. */
static const uint8_t *add_part(struct gw_bin *left, uint32_t bytes)
{
    const uint8_t *part = left->data;
    assert(bytes <= left->size);
    *left = (struct gw_bin){part + bytes, left->size - bytes};
    add(part, bytes);
    return part;
}

static uint32_t add_u32(struct gw_bin *left)
{
    uint32_t number;
    memcpy(&number, add_part(left, sizeof number), sizeof number);
    return number;
}

static void add_fact_field(struct gw_bin *left, enum fact_kind kind, const char *name)
{
    size_t before = step.size;
    switch (kind) {
    case FACT_U32:
    case FACT_I32:
        (void)add_part(left, 4);
        break;
    case FACT_U64:
    case FACT_CHARGES:
        (void)add_part(left, 8);
        break;
    case FACT_STR:
    case FACT_BIN:
        (void)add_part(left, add_u32(left));
        break;
    case FACT_RESULTS:
        for (uint32_t count = add_u32(left); count; count--) {
            (void)add_part(left, 12);
            (void)add_part(left, add_u32(left));
        }
    }
    if (LEFT_OUT(name))
        step.size = before;
}

/* Adds one fact in the format of durable.c. */
static void add_fact(struct gw_bin *left)
{
    uint16_t number;
    /* Skip the size, because it includes the texts. */
    memcpy(&number, (const uint8_t *)left->data + sizeof(uint32_t), sizeof number);
    *left = (struct gw_bin){(const uint8_t *)left->data + 6, left->size - 6};
    add_number(number);
    switch (number) {
#define F(kind, field) add_fact_field(left, FACT_##kind, #field);
#define DURABLE(name, number, ...)                                                                 \
    case number:                                                                                   \
        __VA_ARGS__                                                                                \
        break;
#include "scheduler/core/model/facts.def"
#undef DURABLE
#undef F
    default:
        assert(!"a fact that facts.def lacks");
    }
}

/* -- Effects -------------------------------------------------------------------------------------
 */

static void add_effect(const struct gw_effect *effect)
{
    const uint64_t numbers[] = {
        effect->type,  effect->peer.id, effect->held,     effect->token_count, effect->number,
        effect->count, effect->size,    effect->lazy,     effect->rendezvous,  effect->spans,
        effect->doors, effect->alone,   effect->checksum, effect->stand_count};
    add(numbers, sizeof numbers);
    for (uint32_t i = 0; i < effect->token_count; i++)
        add_number(effect->tokens[i]);
    for (uint32_t i = 0; i < effect->stand_count; i++)
        add_number((uint64_t)effect->stands[i].rank << 32 | effect->stands[i].place);
    if (effect->message.type)
        add_message(&effect->message);
    struct gw_bin bytes = effect->bytes;
    if (effect->type == GW_EFFECT_COMMIT)
        while (bytes.size)
            add_fact(&bytes);
    else if (effect->type != GW_EFFECT_LOG && effect->type != GW_EFFECT_DAMAGED)
        add(bytes.data, bytes.size);
}

void sim_effects_begin(void)
{
    started = true;
}

void sim_effects_add(uint64_t now_ns, uint32_t core, uint64_t deadline_ns,
                     const struct gw_effects *effects)
{
    if (!started)
        return;
    step.size = 0;
    add(hash, sizeof hash);
    add_number(now_ns);
    add_number(core);
    add_number(deadline_ns);
    for (size_t i = 0; i < effects->list.count; i++)
        add_effect(&effects->list.items[i]);
    gw_hash_bytes(step.data, step.size, hash);
}

void sim_effects_print(void)
{
    char text[GW_HASH_TEXT_BYTES];
    gw_hash_format(hash, text);
    puts(text);
}

bool sim_effects_compare(const char *path)
{
    char now[GW_HASH_TEXT_BYTES], recorded[GW_HASH_TEXT_BYTES] = "";
    gw_hash_format(hash, now);
    FILE *file = fopen(path, "re");
    if (file) {
        (void)fgets(recorded, sizeof recorded, file);
        (void)fclose(file);
    }
    if (strcmp(now, recorded) == 0)
        return true;
    printf("The cores behave differently: the hash of their effects is not the one in %s.\n"
           "A commit that only moves or renames must not change it. If the change is meant, "
           "record it:\n  echo %s >%s\n",
           path, now, path);
    return false;
}
