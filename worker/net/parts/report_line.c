/* Parses the lines of reports with jansson. JSON has no word for NaN and infinity. Many programs
 * write such words nevertheless, so the words are put into quotes first. */
#include "worker/net/parts/report_line.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define EXAMPLE "write, for example, {\"step\": 3, \"loss\": 0.4}"

/* A quoted word has two more bytes than the word, which has at least three. */
enum { QUOTED_BYTES = GW_REPORT_LINE_BYTES / 3 * 5 + 5 };

/* Copies a line and puts words like NaN and -Infinity that are outside of texts into quotes.
 * Returns the length of the copy. */
static size_t quote_words(const char *line, size_t bytes, char quoted[QUOTED_BYTES])
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    size_t used = 0;
    bool in_text = false;
    for (size_t at = 0; at < bytes;) {
        size_t length = 0;
        for (size_t i = 0; !in_text && !length && i < sizeof words / sizeof *words; i++)
            if (bytes - at >= strlen(words[i]) &&
                memcmp(line + at, words[i], strlen(words[i])) == 0)
                length = strlen(words[i]);
        if (length) {
            quoted[used++] = '"';
            memcpy(quoted + used, line + at, length);
            used += length;
            quoted[used++] = '"';
            at += length;
            continue;
        }
        if (line[at] == '"')
            in_text = !in_text;
        if (in_text && line[at] == '\\' && at + 1 < bytes)
            quoted[used++] = line[at++];
        quoted[used++] = line[at++];
    }
    return used;
}

static bool read_text(const char *text, double *value)
{
    const bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    if (strcasecmp(text, "nan") == 0)
        *value = NAN;
    else if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0)
        *value = negative ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

static bool read_value(const json_t *json, double *value)
{
    if (json_is_string(json))
        return read_text(json_string_value(json), value);
    if (!json_is_number(json))
        return false;
    *value = json_number_value(json);
    return true;
}

static bool read_step(const json_t *json, int64_t *step)
{
    const double real = json_number_value(json);
    if (json_is_integer(json))
        *step = json_integer_value(json);
    else if (json_is_real(json) && real == floor(real) && fabs(real) <= 0x1p53)
        *step = (int64_t)real;
    else
        return false;
    return true;
}

static int add_metric(struct gw_report_line *report, const char *name, const json_t *json,
                      struct gw_error *error)
{
    if (report->count == GW_REPORT_METRICS_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "a report may have at most %d metrics besides the step: report only "
                            "the most useful ones",
                            GW_REPORT_METRICS_MAX);
    const size_t length = strlen(name);
    if (length == 0 || length >= GW_METRIC_NAME_BYTES)
        return gw_error_set(error, GW_EINVAL, "the name of a metric must have 1 to %d bytes",
                            GW_METRIC_NAME_BYTES - 1);
    for (const char *at = name; *at; at++)
        if (iscntrl((unsigned char)*at))
            return gw_error_set(error, GW_EINVAL,
                                "the name of a metric must not contain control characters");
    double value;
    if (!read_value(json, &value))
        return gw_error_set(error, GW_EINVAL,
                            "the value of \"%s\" must be a number, or \"nan\", \"inf\" or \"-inf\"",
                            name);
    memcpy(report->metrics[report->count].name, name, length + 1);
    report->metrics[report->count++].value = value;
    return 0;
}

int gw_report_line_parse(const char *line, size_t bytes, struct gw_report_line *report,
                         struct gw_error *error)
{
    char quoted[QUOTED_BYTES];
    json_error_t why;
    if (bytes > GW_REPORT_LINE_BYTES)
        return gw_error_set(error, GW_EINVAL, "a report may have at most %d bytes",
                            GW_REPORT_LINE_BYTES);
    const size_t length = quote_words(line, bytes, quoted);
    json_t *json = json_loadb(quoted, length, JSON_REJECT_DUPLICATES, &why);
    if (!json_is_object(json)) {
        const char *text = json ? "not an object" : why.text;
        int rc = gw_error_set(error, GW_EINVAL, "a report must be one line of JSON (%s): " EXAMPLE,
                              text);
        json_decref(json);
        return rc;
    }
    *report = (struct gw_report_line){0};
    int rc = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        if (strcmp(name, "step") != 0)
            rc = add_metric(report, name, value, error);
        else if (!(report->has_step = read_step(value, &report->step)))
            rc = gw_error_set(error, GW_EINVAL, "\"step\" must be a whole number");
        if (rc < 0)
            break;
    }
    json_decref(json);
    return rc;
}
