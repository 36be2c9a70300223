/* Writes TFRecords of Event messages: length, checksum, bytes, checksum, all little-endian. */
#include "client/sweep/export/tensorboard.h"

#include "client/sweep/export/crc32c.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NS_PER_S 1000000000.

enum {
    TAG_MAX = 512,        /* bytes of the name of a metric that are written */
    RECORD_MAX = 1024,    /* of an event with such a name */
    FOLDER_NAME_MAX = 180 /* bytes of a folder's name; file systems take 255 */
};

/* Keys of protocol buffers: number of the field << 3 | its encoding. */
enum {
    EVENT_WALL_TIME = 1 << 3 | 1,
    EVENT_STEP = 2 << 3 | 0,
    EVENT_FILE_VERSION = 3 << 3 | 2,
    EVENT_SUMMARY = 5 << 3 | 2,
    SUMMARY_VALUE = 1 << 3 | 2,
    VALUE_TAG = 1 << 3 | 2,
    VALUE_NUMBER = 2 << 3 | 5,
};

struct bytes {
    uint8_t at[RECORD_MAX];
    size_t count;
};

static void put(struct bytes *to, const void *bytes, size_t count)
{
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

static void put_fixed(struct bytes *to, uint64_t number, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to->at[to->count++] = (uint8_t)(number >> (8 * i));
}

static void put_varint(struct bytes *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        to->at[to->count++] = (uint8_t)(number | 0x80);
    to->at[to->count++] = (uint8_t)number;
}

static void put_field(struct bytes *to, unsigned key, const void *bytes, size_t count)
{
    put_varint(to, key);
    put_varint(to, count);
    put(to, bytes, count);
}

static uint32_t masked_checksum(const void *bytes, size_t count)
{
    const uint32_t sum = gw_crc32c(bytes, count);
    return ((sum >> 15) | (sum << 17)) + 0xa282ead8u;
}

static void write_record(FILE *out, const struct bytes *event)
{
    struct bytes head = {.count = 0}, tail = {.count = 0};
    put_fixed(&head, event->count, 8);
    put_fixed(&head, masked_checksum(head.at, 8), 4);
    put_fixed(&tail, masked_checksum(event->at, event->count), 4);
    (void)fwrite(head.at, 1, head.count, out);
    (void)fwrite(event->at, 1, event->count, out);
    (void)fwrite(tail.at, 1, tail.count, out);
}

static void put_wall_time(struct bytes *event, uint64_t wall_ns)
{
    const double seconds = (double)wall_ns / NS_PER_S;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    put_varint(event, EVENT_WALL_TIME);
    put_fixed(event, bits, 8);
}

static void write_report(FILE *out, const struct gw_study_report *report)
{
    struct bytes value = {.count = 0}, summary = {.count = 0}, event = {.count = 0};
    const float number = (float)report->value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_field(&value, VALUE_TAG, report->name, strnlen(report->name, TAG_MAX));
    put_varint(&value, VALUE_NUMBER);
    put_fixed(&value, bits, 4);
    put_field(&summary, SUMMARY_VALUE, value.at, value.count);
    put_wall_time(&event, report->wall_ns);
    put_varint(&event, EVENT_STEP);
    put_varint(&event, (uint64_t)report->step);
    put_field(&event, EVENT_SUMMARY, summary.at, summary.count);
    write_record(out, &event);
}

void gw_tensorboard_write(FILE *out, const struct gw_study *study, size_t number)
{
    static const char version[] = "brain.Event:2";
    const struct gw_study_trial *trial = &study->trials[number];
    struct bytes first = {.count = 0};
    put_wall_time(&first, trial->began_ns);
    put_field(&first, EVENT_FILE_VERSION, version, sizeof version - 1);
    write_record(out, &first);
    for (size_t i = 0; i < trial->report_count; i++)
        write_report(out, &trial->reports[i]);
    if (trial->report_count == 0 && !isnan(trial->value))
        write_report(out, &(struct gw_study_report){.name = study->metric,
                                                    .step = trial->step,
                                                    .wall_ns = trial->ended_ns,
                                                    .value = trial->value});
}

void gw_tensorboard_path(const struct gw_study *study, size_t number,
                         char path[static GW_TENSORBOARD_PATH_BYTES])
{
    const struct gw_study_trial *trial = &study->trials[number];
    char folder[FOLDER_NAME_MAX];
    size_t used = (size_t)snprintf(folder, sizeof folder, "%04zu", number);
    const size_t begin = used;
    for (size_t i = 0; i < study->param_count && used < sizeof folder; i++) {
        const struct gw_study_param *param = &study->params[i];
        if (isnan(trial->params[i]))
            continue;
        used += (size_t)snprintf(folder + used, sizeof folder - used,
                                 "%c%s=", used == begin ? '-' : ',', param->name);
        if (used >= sizeof folder)
            break;
        if (param->kind == GW_STUDY_CHOICE)
            used += (size_t)snprintf(folder + used, sizeof folder - used, "%s",
                                     param->choices[(size_t)trial->params[i]].text);
        else
            used += (size_t)snprintf(folder + used, sizeof folder - used, "%.4g", trial->params[i]);
    }
    for (char *at = folder; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_=,.+", *at))
            *at = '_';
    (void)snprintf(path, GW_TENSORBOARD_PATH_BYTES, "%s/events.out.tfevents.%" PRIu64 ".gangway",
                   folder, (uint64_t)((double)trial->began_ns / NS_PER_S));
}
