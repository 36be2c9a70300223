/* Writes a journal of Optuna: one operation a line. Studies and trials are numbered from 0 in the
 * order of the lines that make them. Not a number and infinity are written as Python reads them. */
#include "client/sweep/export/optuna.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

enum operation { /* numbers of Optuna */
                 CREATE_STUDY = 0,
                 CREATE_TRIAL = 4,
                 SET_PARAM = 5,
                 SET_STATE = 6,
                 SET_INTERMEDIATE = 7,
                 SET_USER_ATTRIBUTE = 8,
};

static const int states[GW_STUDY_STATES] = {
    [GW_STUDY_RUNNING] = 0, [GW_STUDY_DONE] = 1,   [GW_STUDY_PAUSED] = 2,
    [GW_STUDY_PRUNED] = 2,  [GW_STUDY_FAILED] = 3, [GW_STUDY_CANCELLED] = 3};

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_number(FILE *out, double number)
{
    if (isnan(number))
        fputs("NaN", out);
    else if (isinf(number))
        fputs(number > 0 ? "Infinity" : "-Infinity", out);
    else
        fprintf(out, "%.17g", number);
}

/* Python makes a float of 1.0 and an int of 1. */
static void write_float(FILE *out, double number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.17g", number);
    fprintf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
}

static void write_time(FILE *out, uint64_t wall_ns)
{
    const time_t seconds = (time_t)(wall_ns / NS_PER_S);
    struct tm local;
    char text[32] = "1970-01-01T00:00:00";
    if (localtime_r(&seconds, &local))
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
    fprintf(out, "\"%s.%06u\"", text, (unsigned)(wall_ns % NS_PER_S / 1000));
}

static void begin(FILE *out, enum operation operation)
{
    fprintf(out, "{\"op_code\": %d, \"worker_id\": \"gangway\"", operation);
}

static void begin_of_trial(FILE *out, enum operation operation, size_t trial)
{
    begin(out, operation);
    fprintf(out, ", \"trial_id\": %zu", trial);
}

/* The distribution of a parameter: JSON, which the journal holds as a string. */
static void write_distribution(FILE *out, const struct gw_study_param *param)
{
    if (param->kind == GW_STUDY_CHOICE) {
        fputs("{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [", out);
        for (size_t i = 0; i < param->choice_count; i++) {
            fputs(i ? ", " : "", out);
            if (param->choices[i].is_text)
                write_string(out, param->choices[i].text);
            else
                fputs(param->choices[i].text, out);
        }
        fputs("]}}", out);
        return;
    }
    const bool whole = param->kind == GW_STUDY_INT;
    /* Optuna has no steps on a logarithmic scale. */
    const bool log = param->log && param->step == (whole ? 1 : 0);
    fprintf(out, "{\"name\": \"%sDistribution\", \"attributes\": {\"log\": %s, \"step\": ",
            whole ? "Int" : "Float", log ? "true" : "false");
    if (param->step == 0)
        fputs("null", out);
    else if (whole)
        fprintf(out, "%.0f", param->step);
    else
        write_float(out, param->step);
    if (whole)
        fprintf(out, ", \"low\": %.0f, \"high\": %.0f}}", param->low, param->high);
    else {
        fputs(", \"low\": ", out);
        write_float(out, param->low);
        fputs(", \"high\": ", out);
        write_float(out, param->high);
        fputs("}}", out);
    }
}

static void write_param(FILE *out, const struct gw_study_param *param, double value, size_t trial)
{
    if (param->derived) {
        begin_of_trial(out, SET_USER_ATTRIBUTE, trial);
        fputs(", \"user_attr\": {", out);
        write_string(out, param->name);
        fputs(": ", out);
        write_number(out, value);
        fputs("}}\n", out);
        return;
    }
    char *distribution = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&distribution, &bytes);
    if (memory) {
        write_distribution(memory, param);
        (void)fclose(memory);
    }
    begin_of_trial(out, SET_PARAM, trial);
    fputs(", \"param_name\": ", out);
    write_string(out, param->name);
    fputs(", \"param_value_internal\": ", out);
    if (param->kind == GW_STUDY_FLOAT)
        write_float(out, value);
    else
        fprintf(out, "%.0f", value);
    fputs(", \"distribution\": ", out);
    write_string(out, distribution ? distribution : "");
    fputs("}\n", out);
    free(distribution);
}

static void write_trial(FILE *out, const struct gw_study *study, size_t number)
{
    const struct gw_study_trial *trial = &study->trials[number];
    begin(out, CREATE_TRIAL);
    fputs(", \"study_id\": 0, \"datetime_start\": ", out);
    write_time(out, trial->began_ns);
    fputs("}\n", out);
    for (size_t i = 0; i < study->param_count; i++)
        if (!isnan(trial->params[i]))
            write_param(out, &study->params[i], trial->params[i], number);
    for (size_t i = 0; i < trial->report_count; i++) {
        const struct gw_study_report *report = &trial->reports[i];
        if (strcmp(report->name, study->metric) != 0)
            continue;
        begin_of_trial(out, SET_INTERMEDIATE, number);
        fprintf(out, ", \"step\": %" PRId64 ", \"intermediate_value\": ", report->step);
        write_number(out, report->value);
        fputs("}\n", out);
    }
    if (trial->state == GW_STUDY_RUNNING)
        return;
    begin_of_trial(out, SET_STATE, number);
    fprintf(out, ", \"state\": %d, \"values\": ", states[trial->state]);
    if (states[trial->state] == states[GW_STUDY_FAILED] || isnan(trial->value))
        fputs("null", out);
    else {
        fputc('[', out);
        write_number(out, trial->value);
        fputc(']', out);
    }
    fputs(", \"datetime_complete\": ", out);
    write_time(out, trial->ended_ns);
    fputs("}\n", out);
}

void gw_optuna_write(FILE *out, const struct gw_study *study)
{
    begin(out, CREATE_STUDY);
    fputs(", \"study_name\": ", out);
    write_string(out, study->name);
    fprintf(out, ", \"directions\": [%d]}\n", study->maximize ? 2 : 1);
    for (size_t i = 0; i < study->trial_count; i++)
        write_trial(out, study, i);
}
