/* How long trials took to reach a value of the metric, against their ranks. The trials of a line
 * have the same global batch, because others do not do the same work in a step. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include "graph/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEGEND_Y = 84, LABEL_ROOM = 34, IDEAL_POINTS = 32, LINE_TEXT_BYTES = 512 };

static const char *const colours[] = {"#2f6fb5", "#d1590a", "#1d8348", "#8e44ad",
                                      "#a5812a", "#a3123a", "#16858c", "#5a5a5a"};
enum { COLOURS = sizeof colours / sizeof *colours };

/* A trial that has reported its metric. */
struct point {
    double batch; /* the global one; 0: not known */
    uint32_t ranks;
    double best; /* value */
    double s;    /* until the target; NaN: not reached */
    size_t trial;
};

struct scaling {
    const struct gw_study *study;
    struct point *points; /* by batch, ranks and time */
    size_t count;
    double target;
    struct gw_axis x, y;
};

static bool is_better(const struct gw_study *study, double a, double b)
{
    return study->maximize ? a > b : a < b;
}

/* The parameter whose name has this word in it; param_count: there is none. */
static size_t find_param(const struct gw_study *study, const char *word)
{
    size_t i = 0;
    while (i < study->param_count && !strcasestr(study->params[i].name, word))
        i++;
    return i;
}

static double param_of(const struct gw_study *study, size_t trial, size_t param)
{
    const struct gw_study_param *p = &study->params[param];
    const double value = study->trials[trial].params[param];
    if (p->kind != GW_STUDY_CHOICE || !isfinite(value))
        return value;
    return strtod(p->choices[(size_t)value].text, NULL);
}

/* A parameter with "global" in its name is the global batch. Else one with "batch" in its name is
 * the batch of a rank. */
static double global_batch(const struct gw_study *study, size_t trial, uint32_t ranks)
{
    const size_t global = find_param(study, "global"), batch = find_param(study, "batch");
    const double value = global < study->param_count  ? param_of(study, trial, global)
                         : batch < study->param_count ? param_of(study, trial, batch) * ranks
                                                      : 0;
    return isfinite(value) ? value : 0;
}

static int by_line(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    if (isnan(x->s) != isnan(y->s))
        return isnan(x->s) ? 1 : -1;
    return x->s != y->s && !isnan(x->s) ? (x->s < y->s ? -1 : 1)
                                        : (x->trial > y->trial) - (x->trial < y->trial);
}

static bool is_metric(const struct gw_study *study, const struct gw_study_report *report)
{
    return strcmp(report->name, study->metric) == 0 && isfinite(report->value);
}

/* Finds the trials that have reported the metric. */
static void add_points(struct scaling *scaling)
{
    const struct gw_study *study = scaling->study;
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        struct point point = {.best = NAN, .s = NAN, .trial = i, .ranks = 1};
        for (size_t k = 0; k < trial->run_count; k++)
            if (trial->runs[k].ranks > point.ranks)
                point.ranks = trial->runs[k].ranks;
        for (size_t k = 0; k < trial->report_count; k++)
            if (is_metric(study, &trial->reports[k]) &&
                (isnan(point.best) || is_better(study, trial->reports[k].value, point.best)))
                point.best = trial->reports[k].value;
        point.batch = global_batch(study, i, point.ranks);
        if (!isnan(point.best))
            scaling->points[scaling->count++] = point;
    }
}

static bool is_same(const struct point *a, const struct point *b)
{
    return a->batch == b->batch && a->ranks == b->ranks;
}

/* The value that some trial of each batch and number of ranks has reached. */
static double common_target(const struct scaling *scaling)
{
    double target = NAN;
    for (size_t i = 0; i < scaling->count; i++) {
        double best = scaling->points[i].best;
        for (; i + 1 < scaling->count && is_same(&scaling->points[i], &scaling->points[i + 1]); i++)
            if (is_better(scaling->study, scaling->points[i + 1].best, best))
                best = scaling->points[i + 1].best;
        if (isnan(target) || is_better(scaling->study, target, best))
            target = best;
    }
    return target;
}

static double time_to(const struct gw_study *study, size_t number, double target)
{
    const struct gw_study_trial *trial = &study->trials[number];
    for (size_t k = 0; k < trial->report_count; k++)
        if (is_metric(study, &trial->reports[k]) &&
            !is_better(study, target, trial->reports[k].value))
            return gw_trials_run_s(trial, trial->reports[k].wall_ns);
    return NAN;
}

/* Finds times and axes. Returns why there is nothing to show, or NULL. */
static const char *measure(struct scaling *scaling)
{
    double least = INFINITY, most = 0, longest = 0;
    add_points(scaling);
    if (scaling->count == 0)
        return "no trial has reported its metric";
    qsort(scaling->points, scaling->count, sizeof *scaling->points, by_line);
    scaling->target =
        isnan(scaling->study->target) ? common_target(scaling) : scaling->study->target;
    for (size_t i = 0; i < scaling->count; i++) {
        struct point *point = &scaling->points[i];
        point->s = time_to(scaling->study, point->trial, scaling->target);
        least = fmin(least, point->ranks);
        most = fmax(most, point->ranks);
        longest = fmax(longest, isnan(point->s) ? 0 : point->s);
    }
    qsort(scaling->points, scaling->count, sizeof *scaling->points, by_line);
    if (least == most)
        return "all trials have the same number of ranks";
    scaling->x = gw_axis_numbers(least, most, true);
    scaling->y = gw_axis_numbers(0, longest * 1.05, false);
    scaling->y.is_time = true;
    return longest > 0 ? NULL : "no trial has reached the target";
}

/* -- Drawing --- */

/* An axis with a tick at each number of ranks. */
static void draw_ranks(FILE *out, const struct scaling *scaling)
{
    const struct gw_draw_style style = {
        .size = 12, .anchor = "middle", .colour = GW_DRAW_FAINT_INK};
    const double y = scaling->y.from;
    double last = -INFINITY;
    fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"" GW_DRAW_RULE "\" fill=\"none\"/>\n",
            scaling->x.from - LABEL_ROOM, y, scaling->x.to + LABEL_ROOM / 2.);
    for (uint32_t ranks = (uint32_t)scaling->x.low; ranks <= scaling->x.high; ranks++) {
        char text[16];
        bool some = false;
        for (size_t i = 0; i < scaling->count; i++)
            some |= scaling->points[i].ranks == ranks;
        const double at = gw_axis_at(&scaling->x, ranks);
        if (!some || at - last < LABEL_ROOM)
            continue;
        last = at;
        (void)snprintf(text, sizeof text, "%u", (unsigned)ranks);
        fprintf(out, "<path d=\"M%.1f %.1fv5\" stroke=\"" GW_DRAW_RULE "\"/>\n", at, y);
        gw_draw_text(out, at, y + 19, 0, style, text);
    }
    gw_draw_text(out, (scaling->x.from + scaling->x.to) / 2, y + 40, 0,
                 (struct gw_draw_style){.size = 13, .anchor = "middle"}, "ranks");
}

/* The time if twice the ranks were twice as fast, from the first point of a line on. */
static void draw_ideal(FILE *out, const struct scaling *scaling, const struct point *from,
                       uint32_t to_ranks, const char *colour)
{
    const double ratio = (double)to_ranks / from->ranks;
    fprintf(
        out,
        "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.6\" stroke-dasharray=\"3 5\" d=\"",
        colour);
    for (int i = 0; i <= IDEAL_POINTS; i++) {
        const double ranks = from->ranks * pow(ratio, (double)i / IDEAL_POINTS);
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', gw_axis_at(&scaling->x, ranks),
                gw_axis_at(&scaling->y, from->s * from->ranks / ranks));
    }
    fputs("\"><title>twice the ranks, half the time</title></path>\n", out);
}

/* Draws the points of one batch, and the line of the fastest. */
static void draw_line(FILE *out, const struct scaling *scaling, size_t first, size_t end,
                      const char *colour, const char *name)
{
    const struct point *before = NULL, *begin = NULL;
    char said[LINE_TEXT_BYTES], duration[GW_TEXT_DURATION_ROOM];
    struct gw_text text = {said, sizeof said, 0};
    gw_text_say(&text, "%s:", name);
    fprintf(out,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" stroke-linejoin=\"round\" d=\"",
            colour);
    for (size_t i = first; i < end; i++) {
        const struct point *point = &scaling->points[i];
        if (isnan(point->s) || (before && is_same(before, point)))
            continue;
        fprintf(out, "%c%.1f %.1f", before ? 'L' : 'M', gw_axis_at(&scaling->x, point->ranks),
                gw_axis_at(&scaling->y, point->s));
        gw_text_say(&text, "%s %u rank%s %s", begin ? "," : "", (unsigned)point->ranks,
                    point->ranks == 1 ? "" : "s",
                    gw_text_duration((uint64_t)(point->s * 1e9), duration));
        begin = begin ? begin : point;
        before = point;
    }
    fprintf(out, "\"><title>%s</title></path>\n", said);
    if (before && before->ranks > begin->ranks)
        draw_ideal(out, scaling, begin, before->ranks, colour);
    before = NULL;
    for (size_t i = first; i < end; i++) {
        const struct point *point = &scaling->points[i];
        if (isnan(point->s))
            continue;
        const bool fastest = !before || !is_same(before, point);
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\" fill-opacity=\"%s\"><title>"
                "trial %zu</title></circle>\n",
                gw_axis_at(&scaling->x, point->ranks), gw_axis_at(&scaling->y, point->s),
                fastest ? "5" : "3", colour, fastest ? "1" : "0.5", point->trial);
        before = point;
    }
}

static void draw_lines(FILE *out, const struct scaling *scaling)
{
    double legend = 26;
    for (size_t first = 0, end, line = 0; first < scaling->count; first = end, line++) {
        const double batch = scaling->points[first].batch;
        const char *colour = colours[line % COLOURS];
        char name[64] = "all trials";
        for (end = first; end < scaling->count && scaling->points[end].batch == batch; end++)
            ;
        if (batch > 0)
            (void)snprintf(name, sizeof name, "global batch %.6g", batch);
        draw_line(out, scaling, first, end, colour, name);
        if (line > 0) /* the first entry says what the numbers are */
            (void)snprintf(name, sizeof name, "%.6g", batch);
        if (legend + gw_draw_text_width(name, 12) < GW_DRAW_WIDTH - GW_DRAW_RIGHT - 40)
            gw_draw_legend(out, &legend, LEGEND_Y, colour, true, name);
    }
}

void gw_picture_scaling(FILE *out, const struct gw_study *study)
{
    struct scaling scaling = {.study = study,
                              .points = calloc(study->trial_count + 1, sizeof *scaling.points)};
    char text[GW_TRIALS_TEXT_BYTES] = "time to a target against ranks";
    const char *nothing = scaling.points ? measure(&scaling) : "out of memory";
    if (!nothing)
        (void)snprintf(text, sizeof text,
                       "time until %.60s is %s %.4g, the fastest trials joined; dashed: twice the "
                       "ranks, half the time",
                       study->metric, study->maximize ? "at least" : "at most", scaling.target);
    gw_draw_begin(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, study->name, text);
    if (nothing)
        gw_draw_nothing(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, nothing);
    else {
        scaling.x.from = GW_DRAW_LEFT + LABEL_ROOM;
        scaling.x.to = GW_DRAW_WIDTH - GW_DRAW_RIGHT - LABEL_ROOM / 2.;
        scaling.y.from = GW_DRAW_HEIGHT - GW_DRAW_BOTTOM;
        scaling.y.to = GW_DRAW_TOP;
        gw_draw_y_axis(out, &scaling.y, GW_DRAW_LEFT, GW_DRAW_WIDTH - GW_DRAW_RIGHT,
                       "time that the trial has run");
        draw_ranks(out, &scaling);
        draw_lines(out, &scaling);
    }
    free(scaling.points);
    gw_draw_end(out);
}
