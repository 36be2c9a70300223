/* Shows trials of a sweep. */
#include "client/cli/sweep/sweep_view.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/table.h"
#include "client/cli/lib/units.h"
#include "client/cli/sweep/trial_command.h"
#include "graph/base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *const gw_sweep_view_states[] = {
    [GW_TRIAL_RUNNING] = "running", [GW_TRIAL_PAUSED] = "paused",
    [GW_TRIAL_DONE] = "done",       [GW_TRIAL_PRUNED] = "pruned",
    [GW_TRIAL_FAILED] = "failed",   [GW_TRIAL_CANCELLED] = "cancelled"};

const char *gw_sweep_view_state(const struct gw_sweep_trial *trial)
{
    return gw_sweep_view_waits(trial) ? "waiting" : gw_sweep_view_states[trial->trial->state];
}

struct gw_sweep_counts gw_sweep_view_count(const struct gw_sweep *sweep)
{
    struct gw_sweep_counts counts = {0};
    for (uint32_t i = 0; i < gw_sweep_count(sweep); i++) {
        counts.of[gw_sweep_trial(sweep, i)->trial->state]++;
        counts.waiting += gw_sweep_view_waits(gw_sweep_trial(sweep, i));
    }
    counts.ended = counts.of[GW_TRIAL_DONE] + counts.of[GW_TRIAL_PRUNED] +
                   counts.of[GW_TRIAL_FAILED] + counts.of[GW_TRIAL_CANCELLED];
    if (!counts.of[GW_TRIAL_RUNNING]) /* nobody continues the paused ones: the sweep is over */
        counts.ended += counts.of[GW_TRIAL_PAUSED];
    return counts;
}

void gw_sweep_view_params(const struct gw_value *params, bool cut, char *text, size_t text_bytes)
{
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < gw_value_count(params) && used < text_bytes; i++) {
        const struct gw_value *value = gw_value_at(params, i);
        char word[128];
        double real;
        if (cut && gw_value_type(value) == GW_F64 && gw_value_get_f64(value, &real, NULL) == 0)
            (void)snprintf(word, sizeof word, "%.4g", real);
        else
            (void)gw_sweep_word(value, word, sizeof word);
        used += (size_t)snprintf(text + used, text_bytes - used, "%s%s=%s", i ? " " : "",
                                 gw_value_key(params, i), word);
    }
}

void gw_sweep_view_value(double value, bool cut, char text[GW_TEXT_REAL_ROOM])
{
    if (isnan(value))
        (void)snprintf(text, GW_TEXT_REAL_ROOM, "-");
    else if (cut)
        (void)snprintf(text, GW_TEXT_REAL_ROOM, "%.6g", value);
    else
        (void)gw_text_real(value, text);
}

/* The summary in words, without a newline. */
void gw_sweep_view_line(const struct gw_sweep_definition *d, const struct gw_sweep *sweep,
                        char *text, size_t bytes)
{
    const struct gw_sweep_counts counts = gw_sweep_view_count(sweep);
    const struct gw_sweep_trial *best;
    char value[GW_TEXT_REAL_ROOM];
    int used = snprintf(text, bytes, "%s: ", d->name);
    if (d->search.trials)
        used += snprintf(text + used, bytes - (size_t)used, "%" PRIu32 " of %" PRIu32 " trials",
                         counts.ended, d->search.trials);
    else
        used += snprintf(text + used, bytes - (size_t)used, "%" PRIu32 " trials", counts.ended);
    for (int state = GW_TRIAL_RUNNING; state <= GW_TRIAL_CANCELLED; state++) {
        const uint32_t of = counts.of[state] - (state == GW_TRIAL_RUNNING ? counts.waiting : 0);
        if (of && state != GW_TRIAL_DONE)
            used += snprintf(text + used, bytes - (size_t)used, ", %" PRIu32 " %s", of,
                             gw_sweep_view_states[state]);
    }
    if (counts.waiting)
        used +=
            snprintf(text + used, bytes - (size_t)used, ", %" PRIu32 " waiting", counts.waiting);
    if (gw_sweep_best(sweep, &best, NULL) == 0)
        (void)snprintf(text + used, bytes - (size_t)used, ", best %s %s", d->metric,
                       gw_text_real(best->trial->value, value));
}

void gw_sweep_view_summary(FILE *out, const struct gw_sweep_definition *d,
                           const struct gw_sweep *sweep)
{
    char text[GW_SWEEP_LINE_MAX];
    gw_sweep_view_line(d, sweep, text, sizeof text);
    gw_table_wrap(out, 0, text);
}

/* -- At the end --- */

/* `cut`: numbers with few digits, so that the table fits a terminal. */
static struct gw_value *describe(const struct gw_sweep_trial *trial, bool table, bool cut)
{
    struct gw_value *row = gw_dict();
    char params[GW_SWEEP_LINE_MAX];
    const uint64_t end_ns = trial->ended_ns ? trial->ended_ns : gw_clock_wall_ns();
    int rc = gw_dict_set(row, "number", gw_i64(trial->trial->number));
    rc |= gw_dict_set(row, "state", gw_str(gw_sweep_view_state(trial)));
    if (table) {
        char value[GW_TEXT_REAL_ROOM];
        gw_sweep_view_params(trial->trial->params, cut, params, sizeof params);
        gw_sweep_view_value(trial->trial->value, cut, value);
        rc |= gw_dict_set(row, "params", gw_str(params));
        rc |= gw_dict_set(row, "value", gw_str(value));
        rc |= gw_dict_set(row, "time_ns",
                          gw_i64(trial->began_ns ? (int64_t)(end_ns - trial->began_ns) : 0));
    } else {
        rc |= gw_dict_set(row, "params", gw_value_ref(trial->trial->params));
        rc |= gw_dict_set(row, "value",
                          isnan(trial->trial->value) ? gw_nil() : gw_f64(trial->trial->value));
        rc |= gw_dict_set(row, "began_ns", gw_i64((int64_t)trial->began_ns));
        rc |= gw_dict_set(row, "ended_ns", gw_i64((int64_t)trial->ended_ns));
        rc |= gw_dict_set(row, "starts", gw_i64(trial->starts));
    }
    rc |= gw_dict_set(row, "step", gw_i64((int64_t)trial->trial->step));
    rc |= gw_dict_set(row, "job", gw_i64((int64_t)trial->job));
    (void)snprintf(params, sizeof params, "%.*s", table ? (int)strcspn(trial->text, "\n") : 500,
                   trial->text);
    rc |= gw_dict_set(row, "text", gw_str(params));
    if (rc == 0)
        return row;
    gw_value_unref(row);
    return NULL;
}

int gw_sweep_view_best(FILE *out, const struct gw_sweep_definition *d, const struct gw_sweep *sweep,
                       struct gw_error *error)
{
    const struct gw_sweep_trial *best = NULL;
    char value[GW_TEXT_REAL_ROOM];
    int rc = gw_sweep_best(sweep, &best, error);
    if (rc < 0)
        return rc;
    char *command = gw_trial_command_text(d, best->trial);
    if (!command)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (d->json) {
        struct gw_value *row = describe(best, false, false);
        rc = gw_dict_set(row, "command", gw_str(command));
        rc = rc == 0 ? gw_table_json(out, row, true) : rc;
        gw_value_unref(row);
        free(command);
        return rc < 0 ? gw_error_set(error, GW_ENOMEM, "out of memory") : 0;
    }
    fprintf(out, "Best: trial %" PRIu32 " (job %" PRIu64 "), %s %s\n", best->trial->number,
            best->job, d->metric, gw_text_real(best->trial->value, value));
    for (size_t i = 0; i < gw_value_count(best->trial->params); i++) {
        char word[256];
        (void)gw_sweep_word(gw_value_at(best->trial->params, i), word, sizeof word);
        fprintf(out, "  %s = ", gw_value_key(best->trial->params, i));
        gw_table_say(out, word);
        fputc('\n', out);
    }
    fprintf(out, "To run it again: ");
    gw_table_say(out, command);
    fputc('\n', out);
    free(command);
    return 0;
}

static bool maximizes; /* for by_value */

/* Done trials first, the best first. */
static int by_value(const void *a, const void *b)
{
    const struct gw_trial *x = (*(const struct gw_sweep_trial *const *)a)->trial,
                          *y = (*(const struct gw_sweep_trial *const *)b)->trial;
    if ((x->state == GW_TRIAL_DONE) != (y->state == GW_TRIAL_DONE))
        return x->state == GW_TRIAL_DONE ? -1 : 1;
    if (isnan(x->value) != isnan(y->value))
        return isnan(x->value) ? 1 : -1;
    if (!isnan(x->value) && x->value != y->value)
        return (x->value < y->value) == maximizes ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* All trials as rows, for a table the best first. */
static struct gw_value *list_trials(const struct gw_sweep_definition *d,
                                    const struct gw_sweep *sweep, size_t limit, bool table,
                                    bool cut)
{
    const size_t count = gw_sweep_count(sweep);
    const struct gw_sweep_trial **trials = calloc(count + 1, sizeof *trials);
    struct gw_value *rows = gw_list();
    int rc = trials ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < count && trials; i++)
        trials[i] = gw_sweep_trial(sweep, (uint32_t)i);
    maximizes = d->search.maximize;
    if (rc == 0 && table && count > 1)
        qsort(trials, count, sizeof *trials, by_value);
    for (size_t i = 0; i < count && rc == 0 && (!limit || i < limit); i++)
        rc = gw_list_push(rows, describe(trials[i], table, cut));
    free(trials);
    if (rc == 0)
        return rows;
    gw_value_unref(rows);
    return NULL;
}

int gw_sweep_view_table(FILE *out, const struct gw_sweep_definition *d,
                        const struct gw_sweep *sweep, size_t count, struct gw_error *error)
{
    struct gw_column columns[] = {
        {"number", "TRIAL", GW_CELL_NUMBER},
        {"job", "JOB", GW_CELL_MINOR_NUMBER},
        {"state", "STATE", GW_CELL_TEXT},
        {"value", d->metric, GW_CELL_NUMBER},
        {"step", "STEP", GW_CELL_NUMBER},
        {"time_ns", "TIME", GW_CELL_DURATION},
        {"params", "PARAMETERS", GW_CELL_TEXT},
        {"text", "WHY", GW_CELL_MINOR_TEXT},
        {0},
    };
    if (gw_sweep_view_count(sweep).of[GW_TRIAL_FAILED] == 0)
        columns[sizeof columns / sizeof *columns - 2].key = NULL;
    struct gw_value *rows = list_trials(d, sweep, count, true, isatty(fileno(out)));
    if (!rows)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    gw_table_print(out, columns, rows);
    gw_value_unref(rows);
    if (count && gw_sweep_count(sweep) > count)
        fprintf(out, "(%zu more)\n", gw_sweep_count(sweep) - count);
    return 0;
}

int gw_sweep_view_json(FILE *out, const struct gw_sweep_definition *d, const struct gw_sweep *sweep,
                       struct gw_error *error)
{
    const struct gw_sweep_trial *best;
    struct gw_value *all = gw_dict();
    int rc = gw_dict_set(all, "name", gw_str(d->name));
    rc |= gw_dict_set(all, "metric", gw_str(d->metric));
    rc |= gw_dict_set(all, "direction", gw_str(d->search.maximize ? "maximize" : "minimize"));
    rc |= gw_dict_set(all, "best",
                      gw_sweep_best(sweep, &best, NULL) == 0 ? gw_i64(best->trial->number)
                                                             : gw_nil());
    rc |= gw_dict_set(all, "trials", list_trials(d, sweep, 0, false, false));
    if (rc == 0)
        rc = gw_table_json(out, all, true);
    gw_value_unref(all);
    return rc < 0 ? gw_error_set(error, GW_ENOMEM, "out of memory") : 0;
}

static void print_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

/* The names of all parameters, in the order in which trials have them; some trials lack some. */
static struct gw_value *param_names(const struct gw_sweep *sweep)
{
    struct gw_value *names = gw_dict();
    for (uint32_t i = 0; i < gw_sweep_count(sweep); i++) {
        const struct gw_value *params = gw_sweep_trial(sweep, i)->trial->params;
        for (size_t k = 0; k < gw_value_count(params); k++)
            if (!gw_value_find(names, gw_value_key(params, k)))
                (void)gw_dict_set(names, gw_value_key(params, k), gw_nil());
    }
    return names;
}

void gw_sweep_view_csv(FILE *out, const struct gw_sweep_definition *d, const struct gw_sweep *sweep)
{
    struct gw_value *names = param_names(sweep);
    char value[GW_TEXT_REAL_ROOM];
    fprintf(out, "trial,state,");
    print_field(out, d->metric);
    fprintf(out, ",step,job,began_ns,ended_ns");
    for (size_t k = 0; k < gw_value_count(names); k++) {
        fputc(',', out);
        print_field(out, gw_value_key(names, k));
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < gw_sweep_count(sweep); i++) {
        const struct gw_sweep_trial *trial = gw_sweep_trial(sweep, i);
        fprintf(out, "%" PRIu32 ",%s,", i, gw_sweep_view_state(trial));
        if (!isnan(trial->trial->value))
            fputs(gw_text_real(trial->trial->value, value), out);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, trial->trial->step,
                trial->job, trial->began_ns, trial->ended_ns);
        for (size_t k = 0; k < gw_value_count(names); k++) {
            const struct gw_value *param =
                gw_value_find(trial->trial->params, gw_value_key(names, k));
            char word[1024] = "";
            if (param)
                (void)gw_sweep_word(param, word, sizeof word);
            fputc(',', out);
            print_field(out, word);
        }
        fputc('\n', out);
    }
    gw_value_unref(names);
}
