/* JSON for MLflow. */
#include "client/sweep/mlflow/mlflow_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS_LEFT = 2, ITEM_BYTES = 100, NS_PER_MS = 1000000 };

/* -- Texts --- */

/* Whether Python's re takes a character as a letter: those of the common scripts, not all. */
static bool is_letter(uint32_t c)
{
    static const uint32_t ranges[][2] = {
        {'0', '9'},       {'A', 'Z'},       {'a', 'z'},      {0xc0, 0xd6},     {0xd8, 0xf6},
        {0xf8, 0x2c1},    {0x391, 0x3a1},   {0x3a3, 0x3f5},  {0x400, 0x481},   {0x48a, 0x52f},
        {0x5d0, 0x5ea},   {0x620, 0x64a},   {0x905, 0x939},  {0x3041, 0x3096}, {0x30a1, 0x30fa},
        {0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

/* Reads a character of UTF-8 of up to 3 bytes. Returns its length; 1 and a character that is no
 * letter if it is malformed or longer. */
static size_t read_character(const unsigned char *at, uint32_t *c)
{
    *c = at[0];
    if (at[0] < 0x80)
        return 1;
    *c = 0;
    const size_t bytes = at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 1;
    uint32_t made = at[0] & (bytes == 2 ? 0x1f : 0xf);
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        made = made << 6 | (at[i] & 0x3f);
    }
    *c = bytes == 3 && made < 0x800 ? 0 : made;
    return *c ? bytes : 1;
}

/* Whether a name that begins here has a part that is empty, "." or "..", which MLflow refuses. */
static bool is_bad_part(const char *part)
{
    const size_t bytes = strcspn(part, "/");
    return bytes == strspn(part, ".") && bytes <= 2;
}

char *gw_mlflow_json_name(const char *name)
{
    char *made = malloc(3 * strlen(name) + 4), *to = made;
    if (!made)
        return NULL;
    bool begins = true;
    for (const char *at = name; *at;) {
        uint32_t c;
        const size_t bytes = read_character((const unsigned char *)at, &c);
        const bool stays = is_letter(c) || (c && c < 0x80 && strchr("_-./: ", (int)c));
        const bool bad = begins && is_bad_part(at);
        begins = c == '/' && !bad;
        if (stays && !bad) {
            memcpy(to, at, bytes);
            to += bytes;
        } else
            for (size_t i = 0; i < bytes; i++)
                to += sprintf(to, "_%02X", (unsigned char)at[i]);
        at += bytes;
    }
    *to = '\0';
    const size_t bytes = gw_mlflow_json_cut(made, GW_MLFLOW_NAME_BYTES_MAX - 1);
    const bool open = bytes == 0 || made[bytes - 1] == '/';
    memcpy(made + bytes, "_", open ? 2 : 0);
    made[bytes + open] = '\0';
    return made;
}

size_t gw_mlflow_json_cut(const char *text, size_t bytes_max)
{
    size_t bytes = strlen(text);
    if (bytes <= bytes_max)
        return bytes;
    bytes = bytes_max;
    while (bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

/* A text that is cut off, as valid UTF-8. */
static json_t *make_text(const char *text, size_t bytes_max)
{
    const size_t bytes = gw_mlflow_json_cut(text, bytes_max);
    json_t *made = json_stringn(text, bytes);
    if (made)
        return made;
    char *ascii = strndup(text, bytes);
    for (char *at = ascii; at && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    made = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return made;
}

static json_t *make_pair(const char *name, const char *value, size_t bytes_max)
{
    json_t *pair = json_object();
    json_object_set_new(pair, "key", make_text(name, GW_MLFLOW_NAME_BYTES_MAX));
    json_object_set_new(pair, "value", make_text(value, bytes_max));
    return pair;
}

/* -- Batches --- */

void gw_mlflow_json_batch_init(struct gw_mlflow_batch *batch)
{
    *batch = (struct gw_mlflow_batch){json_array(), json_array(), json_array(), 0};
}

static bool take_room(struct gw_mlflow_batch *batch, size_t bytes)
{
    const size_t items = json_array_size(batch->metrics) + json_array_size(batch->params);
    if (items + TAGS_LEFT >= GW_MLFLOW_ITEMS_MAX ||
        (items && batch->bytes + bytes > GW_MLFLOW_BYTES_MAX))
        return false;
    batch->bytes += bytes;
    return true;
}

bool gw_mlflow_json_batch_add_param(struct gw_mlflow_batch *batch, const char *name,
                                    const char *value)
{
    /* a control character becomes six bytes */
    const size_t bytes = strlen(name) + 6 * gw_mlflow_json_cut(value, GW_MLFLOW_VALUE_BYTES_MAX);
    if (json_array_size(batch->params) == GW_MLFLOW_PARAMS_MAX ||
        !take_room(batch, bytes + ITEM_BYTES))
        return false;
    json_array_append_new(batch->params, make_pair(name, value, GW_MLFLOW_VALUE_BYTES_MAX));
    return true;
}

/* A number as the JSON of protocol buffers has it. */
static json_t *make_number(double number)
{
    return isnan(number)   ? json_string("NaN")
           : isinf(number) ? json_string(number > 0 ? "Infinity" : "-Infinity")
                           : json_real(number);
}

bool gw_mlflow_json_batch_add_metric(struct gw_mlflow_batch *batch,
                                     const struct gw_mlflow_report *report)
{
    if (!take_room(batch, strlen(report->name) + ITEM_BYTES))
        return false;
    json_t *metric = json_object();
    json_object_set_new(metric, "key", make_text(report->name, GW_MLFLOW_NAME_BYTES_MAX));
    json_object_set_new(metric, "value", make_number(report->value));
    json_object_set_new(metric, "timestamp",
                        json_integer((json_int_t)(report->wall_ns / NS_PER_MS)));
    json_object_set_new(metric, "step", json_integer(report->step));
    json_array_append_new(batch->metrics, metric);
    return true;
}

void gw_mlflow_json_add_tag(json_t *tags, const char *name, const char *value)
{
    json_array_append_new(tags, make_pair(name, value, GW_MLFLOW_NOTE_BYTES_MAX));
}

void gw_mlflow_json_batch_add_tag(struct gw_mlflow_batch *batch, const char *name,
                                  const char *value)
{
    gw_mlflow_json_add_tag(batch->tags, name, value);
}

json_t *gw_mlflow_json_batch_take(struct gw_mlflow_batch *batch, const char *run)
{
    json_t *body = json_object();
    json_object_set_new(body, "run_id", json_string(run));
    json_object_set_new(body, "metrics", batch->metrics);
    json_object_set_new(body, "params", batch->params);
    json_object_set_new(body, "tags", batch->tags);
    *batch = (struct gw_mlflow_batch){0};
    return body;
}

/* -- Runs --- */

const char *gw_mlflow_json_tag(const json_t *run, const char *name)
{
    const json_t *tags = json_object_get(json_object_get(run, "data"), "tags");
    for (size_t i = 0; i < json_array_size(tags); i++) {
        const json_t *tag = json_array_get(tags, i);
        const char *key = json_string_value(json_object_get(tag, "key"));
        if (key && strcmp(key, name) == 0)
            return json_string_value(json_object_get(tag, "value"));
    }
    return NULL;
}

const char *gw_mlflow_json_status(enum gw_study_state state)
{
    static const char *const words[GW_STUDY_STATES] = {
        [GW_STUDY_RUNNING] = "RUNNING", [GW_STUDY_PAUSED] = "SCHEDULED",
        [GW_STUDY_DONE] = "FINISHED",   [GW_STUDY_PRUNED] = "KILLED",
        [GW_STUDY_FAILED] = "FAILED",   [GW_STUDY_CANCELLED] = "KILLED"};
    return words[state];
}
