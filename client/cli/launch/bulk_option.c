/* Options of one task, as JSON.
 *
 * The keys are the long options of `submit` and `dispatch` without the dashes. A value is the text
 * that a user would type, or the matching JSON type: a number, true or false, a list, or an object
 * of NAME: VALUE. */
#include "client/cli/launch/bulk_option.h"

#include "client/cli/launch/launch_word.h"
#include "client/cli/lib/units.h"
#include "graph/wire/enums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For BUDGET, DELAY and PATIENCE, 0 in JSON means 0, as explained at GW_OPTION_BUDGET. */
enum kind {
    COUNT,
    TRIES,
    FROM_1,
    BUDGET,
    PRIORITY,
    TIME,
    DELAY,
    PATIENCE,
    SIZE,
    STEP,
    NAMES,
    FLAG,
    GPUS,
    SIGNAL,
    BIND,
    PAIRS,
    ON,
    PREFER,
    FILES
};

static const struct key {
    const char *name;
    enum kind kind;
    size_t at; /* offset of the field in struct gw_task_options */
} keys[] = {
#define AT(field) offsetof(struct gw_task_options, field)
    {"retries", TRIES, AT(retries)},
    {"backoff", TIME, AT(backoff_ns)},
    {"max-worker-losses", BUDGET, AT(worker_losses_max)},
    {"max-preemptions", BUDGET, AT(preemptions_max)},
    {"time-limit", TIME, AT(time_limit_ns)},
    {"inactivity-timeout", TIME, AT(inactivity_timeout_ns)},
    {"until-step", STEP, AT(until_step)},
    {"metric", NAMES, AT(metrics)},
    {"hang-timeout", PATIENCE, AT(gang.hang_timeout_ns)},
    {"grace", DELAY, AT(grace_ns)},
    {"fail-grace", DELAY, AT(gang.fail_grace_ns)},
    {"signal", SIGNAL, AT(signal)},
    {"priority", PRIORITY, AT(priority)},
    {"slots", FROM_1, AT(slots)},
    {"memory", SIZE, AT(memory_bytes)},
    {"gpus", GPUS, AT(gpu.count)},
    {"gpu-memory", SIZE, AT(gpu.memory_bytes)},
    {"isolate-gpus", FLAG, AT(gpu.isolate)},
    {"bind", BIND, AT(gpu.unbound)},
    {"resources", PAIRS, AT(resources)},
    {"on", ON, AT(workers)},
    {"prefer", PREFER, AT(workers)},
    {"annotate", PAIRS, AT(annotations)},
    {"ship", FILES, AT(files)},
    {"ranks", COUNT, AT(ranks)},
    {"min-ranks", COUNT, AT(gang.min_ranks)},
    {"full-size-timeout", DELAY, AT(gang.full_size_timeout_ns)},
    {"per-node", COUNT, AT(gang.ranks_per_node)},
    {"spread", FLAG, AT(gang.spread)},
#undef AT
};
enum { KEYS = sizeof keys / sizeof *keys };

static const char *const takes_texts[] = {
    [COUNT] = "a number from 0 on",
    [TRIES] = "a number from 0 to 255, or \"none\"",
    [FROM_1] = "a number from 1 on, or \"none\"",
    [BUDGET] = "a number from 0 on, or \"none\"",
    [PRIORITY] = "a number",
    [TIME] = "seconds, or a text like \"1h30m\", \"1:30:00\" or \"none\"",
    [DELAY] = "seconds, or a text like \"1h30m\", \"1:30:00\" or \"none\"",
    [PATIENCE] = "seconds, or a text like \"1h30m\", \"1:30:00\" or \"none\"",
    [SIZE] = "bytes, or a text like \"8G\"",
    [STEP] = "a whole number",
    [NAMES] = "a name, or a list of names",
    [FLAG] = "true or false",
    [GPUS] = "how many GPUs (2), a fraction of one (0.5), or \"any\"",
    [SIGNAL] = "a name (\"USR1\") or a number (10)",
    [BIND] = "\"near\" (the CPUs near its GPUs) or \"none\"",
    [PAIRS] = "\"NAME=VALUE,...\", or {\"NAME\": VALUE, ...}",
    [ON] = "names of workers or hosts, \"a,b\" or [\"a\", \"b\"], and not beside \"prefer\"",
    [PREFER] = "names of workers or hosts, \"a,b\" or [\"a\", \"b\"], and not beside \"on\"",
    [FILES] = "\"PATH\" or \"PATH:NAME\", or a list of those",
};

/* -- Numbers -------------------------------------------------------------------------------------
 */

static int number_of(const json_t *value, uint64_t most, uint64_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return GW_EINVAL;
    *number = (uint64_t)json_integer_value(value);
    return 0;
}

static int set_count(uint32_t *count, enum kind kind, const json_t *value)
{
    uint64_t n = 0;
    const bool none = json_is_string(value) && gw_units_is_none(json_string_value(value));
    if (none && (kind == BUDGET || kind == TRIES || kind == FROM_1)) {
        *count = kind == BUDGET ? GW_UNLIMITED : kind == TRIES ? GW_RETRIES_MAX : GW_NONE;
        return 0;
    }
    int rc = number_of(value, kind == TRIES ? GW_RETRIES_MAX : INT32_MAX, &n);
    if (rc == 0 && n == 0 && kind == FROM_1)
        rc = GW_EINVAL;
    if (rc == 0)
        *count = n == 0 && kind == BUDGET ? UINT32_MAX : (uint32_t)n;
    return rc;
}

static int set_priority(int32_t *priority, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) > INT32_MAX ||
        json_integer_value(value) < INT32_MIN)
        return GW_EINVAL;
    *priority = (int32_t)json_integer_value(value);
    return 0;
}

static int set_amount(uint64_t *amount, enum kind kind, const json_t *value)
{
    uint64_t n = 0;
    int rc;
    if (!json_is_string(value))
        rc = number_of(value, UINT64_MAX / 1000000000, &n);
    else if (gw_units_is_none(json_string_value(value))) {
        *amount = kind == DELAY ? GW_UNITS_NONE : kind == PATIENCE ? UINT64_MAX : 0;
        return 0;
    } else if (kind == SIZE)
        rc = gw_units_parse_size(json_string_value(value), &n);
    else
        rc = gw_units_parse_duration(json_string_value(value), &n);
    if (rc < 0)
        return rc;
    if (kind != SIZE && !json_is_string(value))
        n *= 1000000000;
    *amount = n > 0 ? n : kind == DELAY ? 1 : kind == PATIENCE ? UINT64_MAX : 0;
    return 0;
}

/* Sets an option whose value is a word of the command line: a text, or a number. */
static int set_words(struct gw_task_options *task, enum kind kind, const json_t *value)
{
    char digits[40];
    const char *text = json_string_value(value);
    if (!text && !json_is_number(value))
        return GW_EINVAL;
    if (!text) {
        (void)snprintf(digits, sizeof digits, "%.9g", json_number_value(value));
        text = digits;
    }
    bool well = kind == GPUS     ? gw_launch_word_gpus(text, task)
                : kind == SIGNAL ? gw_launch_word_signal(text, &task->signal)
                                 : gw_launch_word_bind(text, task);
    return well ? 0 : GW_EINVAL;
}

/* -- Lists ---------------------------------------------------------------------------------------
 */

/* Appends "a" or "NAME=VALUE" to a list with commas. */
static int append(char **list, const char *name, const json_t *value)
{
    char number[40] = "", *longer;
    const char *text = json_string_value(value);
    if (!text && !(name && json_is_number(value)))
        return GW_EINVAL;
    if (!text) {
        (void)snprintf(number, sizeof number, "%.15g", json_number_value(value));
        text = number;
    }
    if (!*text || strchr(text, ','))
        return GW_EINVAL;
    if (asprintf(&longer, "%s%s%s%s%s", *list ? *list : "", *list ? "," : "", name ? name : "",
                 name ? "=" : "", text) < 0)
        return GW_ENOMEM;
    free(*list);
    *list = longer;
    return 0;
}

/* Converts a text, a list or an object to "a,b". */
static int set_list(const char **to, struct gw_bulk_texts *texts, const json_t *value, bool pairs)
{
    char *list = NULL;
    const char *name;
    json_t *each;
    size_t i;
    int rc = 0;
    if (json_is_string(value)) {
        *to = json_string_value(value);
        return **to ? 0 : GW_EINVAL;
    }
    if (pairs ? !json_is_object(value) : !json_is_array(value))
        return GW_EINVAL;
    json_object_foreach((json_t *)(uintptr_t)value, name, each) rc =
        rc < 0 ? rc : append(&list, name, each);
    json_array_foreach(value, i, each) rc = rc < 0 ? rc : append(&list, NULL, each);
    if (rc == 0 && !list)
        rc = GW_EINVAL;
    if (rc < 0 || texts->count == sizeof texts->lists / sizeof *texts->lists) {
        free(list);
        return rc < 0 ? rc : GW_EINVAL;
    }
    texts->lists[texts->count++] = list;
    *to = list;
    return 0;
}

static int set_files(struct gw_task_options *task, struct gw_bulk_texts *texts, const json_t *value)
{
    bool one = json_is_string(value);
    size_t count = one ? 1 : json_array_size(value);
    if (count == 0)
        return GW_EINVAL;
    texts->files = calloc(count + 1, sizeof *texts->files);
    if (!texts->files)
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        texts->files[i] = json_string_value(one ? value : json_array_get(value, i));
        if (!texts->files[i])
            return GW_EINVAL;
    }
    task->files = texts->files;
    return 0;
}

/* -- All kinds ----------------------------------------------------------------------------------
 */

static int set(struct gw_task_options *task, struct gw_bulk_texts *texts, const struct key *key,
               const json_t *value)
{
    void *at = (char *)task + key->at;
    int rc;
    switch (key->kind) {
    case COUNT:
    case TRIES:
    case FROM_1:
    case BUDGET:
        return set_count(at, key->kind, value);
    case PRIORITY:
        return set_priority(at, value);
    case TIME:
    case DELAY:
    case PATIENCE:
    case SIZE:
        return set_amount(at, key->kind, value);
    case STEP:
        return number_of(value, INT64_MAX, at);
    case NAMES:
        return set_list(at, texts, value, false);
    case FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? 0 : GW_EINVAL;
    case GPUS:
    case SIGNAL:
    case BIND:
        return set_words(task, key->kind, value);
    case PAIRS:
        return set_list(at, texts, value, true);
    case ON:
    case PREFER:
        rc = set_list(at, texts, value, false);
        task->workers_prefer = key->kind == PREFER;
        return rc;
    case FILES:
        break;
    }
    return set_files(task, texts, value);
}

int gw_bulk_option_set(struct gw_task_options *task, struct gw_bulk_texts *texts, const char *key,
                       const json_t *value, const char **takes)
{
    for (size_t i = 0; i < KEYS; i++) {
        if (strcmp(key, keys[i].name) != 0)
            continue;
        *takes = takes_texts[keys[i].kind];
        return set(task, texts, &keys[i], value);
    }
    return GW_ENOENT;
}

bool gw_bulk_option_is_known(const char *key)
{
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(key, keys[i].name) == 0)
            return true;
    return false;
}

void gw_bulk_option_texts_deinit(struct gw_bulk_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->lists[i]);
    free(texts->files);
}

void gw_bulk_option_names(char *text, size_t text_bytes, size_t width)
{
    size_t used = 0, line = 0;
    *text = '\0';
    for (size_t i = 0; i < KEYS && used < text_bytes; i++) {
        bool last = i + 1 == KEYS;
        size_t wide = strlen(keys[i].name) + !last;
        bool breaks = i > 0 && width && line + 1 + wide > width;
        int n = snprintf(text + used, text_bytes - used, "%s%s%s",
                         i == 0   ? ""
                         : breaks ? "\n"
                                  : " ",
                         keys[i].name, last ? "" : ",");
        used += n > 0 ? (size_t)n : 0;
        line = breaks || i == 0 ? wide : line + 1 + wide;
    }
}
