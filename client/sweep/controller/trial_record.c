/* Annotations are "name=value,name=value"; a comma, a percent sign and bytes that are no printable
 * ASCII are written as %XX. */
#include "client/sweep/controller/trial_record.h"

#include "graph/base/text.h"

#include <gangway/sweep.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void encode(struct gw_text *to, const char *text)
{
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        if (byte == ',' || byte == '%' || byte < 0x20 || byte > 0x7e)
            gw_text_say(to, "%%%02X", byte);
        else
            gw_text_say(to, "%c", byte);
    }
}

static char *decode(const char *text)
{
    char *made = strdup(text), *to = made;
    unsigned byte;
    for (; made && *text; text++) {
        if (*text == '%' && sscanf(text + 1, "%2x", &byte) == 1 && text[1] && text[2]) {
            *to++ = (char)byte;
            text += 2;
        } else
            *to++ = *text;
    }
    if (made)
        *to = '\0';
    return made;
}

int gw_trial_record_write(const struct gw_trial_record *record, const char *sweep,
                          char text[static GW_TRIAL_RECORD_BYTES], struct gw_error *error)
{
    struct gw_text to = {text, GW_TRIAL_RECORD_BYTES, 0};
    gw_text_say(&to,
                "sweep=%s,trial=%" PRIu32 ",sweep.start=%" PRIu32 ",sweep.batch=%" PRIu32
                ",sweep.seen=%" PRIu64 ",params=",
                sweep, record->trial, record->start, record->batch, record->seen);
    encode(&to, record->params);
    if (record->held && *record->held)
        gw_text_say(&to, ",sweep.held=%s", record->held);
    if (record->definition) {
        gw_text_say(&to, ",sweep.definition=");
        encode(&to, record->definition);
    }
    if (record->unfit) {
        gw_text_say(&to, ",sweep.unfit=");
        encode(&to, record->unfit);
    }
    if (to.used < GW_TRIAL_RECORD_BYTES)
        return 0;
    return gw_error_set(error, GW_ELIMIT,
                        "the parameters of a trial and the definition of its sweep have more than "
                        "%d bytes as annotations: use shorter names and values, or put options of "
                        "the command into a file or script",
                        GW_TRIAL_RECORD_BYTES - 1);
}

static const char *find(const struct gw_value *annotations, const char *name)
{
    const char *text = NULL;
    return gw_value_get_str(gw_value_find(annotations, name), &text, NULL) == 0 ? text : NULL;
}

static bool read_number(const struct gw_value *annotations, const char *name, uint64_t most,
                        uint64_t *number)
{
    const char *text = find(annotations, name);
    char *end = NULL;
    if (!text || *text < '0' || *text > '9')
        return false;
    *number = strtoull(text, &end, 10);
    return !*end && *number <= most;
}

int gw_trial_record_read(const struct gw_value *annotations, struct gw_trial_record *record)
{
    uint64_t start, batch, trial, seen;
    const char *params = find(annotations, "params");
    const char *definition = find(annotations, "sweep.definition");
    const char *held = find(annotations, "sweep.held");
    const char *unfit = find(annotations, "sweep.unfit");
    *record = (struct gw_trial_record){0};
    if (!params || !read_number(annotations, "sweep.start", UINT32_MAX - 1, &start) ||
        !read_number(annotations, "sweep.batch", start, &batch) ||
        !read_number(annotations, "trial", UINT32_MAX - 1, &trial) ||
        !read_number(annotations, "sweep.seen", UINT64_MAX, &seen))
        return GW_EINVAL;
    *record = (struct gw_trial_record){.start = (uint32_t)start,
                                       .batch = (uint32_t)batch,
                                       .trial = (uint32_t)trial,
                                       .seen = seen,
                                       .params = decode(params),
                                       .held = decode(held ? held : ""),
                                       .definition = definition ? decode(definition) : NULL,
                                       .unfit = unfit ? decode(unfit) : NULL};
    if (record->params && record->held && (!definition || record->definition) &&
        (!unfit || record->unfit))
        return 0;
    gw_trial_record_deinit(record);
    return GW_ENOMEM;
}

void gw_trial_record_deinit(struct gw_trial_record *record)
{
    free((void *)(uintptr_t)record->params);
    free((void *)(uintptr_t)record->held);
    free((void *)(uintptr_t)record->definition);
    free((void *)(uintptr_t)record->unfit);
    *record = (struct gw_trial_record){0};
}

size_t gw_sweep_word(const struct gw_value *value, char *text, size_t text_bytes)
{
    char number[GW_TEXT_REAL_ROOM];
    const char *said = number;
    double real = 0;
    bool yes = false;
    if (gw_value_type(value) == GW_F64 && gw_value_get_f64(value, &real, NULL) == 0)
        (void)gw_text_real(real, number);
    else if (gw_value_get_bool(value, &yes, NULL) == 0)
        said = yes ? "true" : "false";
    else if (gw_value_get_str(value, &said, NULL) < 0)
        return gw_value_format(value, text, text_bytes);
    return (size_t)snprintf(text, text_bytes, "%s", said);
}

char *gw_trial_record_params(const struct gw_value *params)
{
    const size_t count = gw_value_count(params);
    size_t bytes = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        bytes +=
            strlen(gw_value_key(params, i)) + 2 + gw_sweep_word(gw_value_at(params, i), NULL, 0);
    char *text = calloc(1, bytes);
    for (size_t i = 0; text && i < count; i++) {
        used += (size_t)snprintf(text + used, bytes - used, "%s%s=", i ? " " : "",
                                 gw_value_key(params, i));
        used += gw_sweep_word(gw_value_at(params, i), text + used, bytes - used);
    }
    return text;
}
