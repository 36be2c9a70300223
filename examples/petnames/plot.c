/* SVG plots. All sizes are in the units of the viewBox, which a browser shows as pixels. */
#include "examples/petnames/plot.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WIDTH = 900,
    HEIGHT = 540,
    LEFT = 72,
    TOP = 72,
    BOTTOM = 60,
    LEGEND_ROW = 20,
    LEGEND_LINE = 28,
    SHADES = 4,
    DOTS_MAX = 40, /* a curve of at most so many points shows them */
};

/* Colours of a family, strongest first; hues that colour-blind readers tell apart. */
static const char *const palette[PET_PLOT_FAMILIES][SHADES] = {
    {"#1f5fa8", "#5b93d3", "#123a69", "#93bbe6"}, {"#d1590a", "#f0954f", "#8a3a05", "#f5b98a"},
    {"#1d8348", "#55b97f", "#0f4d2a", "#92d3ae"}, {"#8e3a9d", "#be7fca", "#572361", "#d6acde"},
    {"#7a5c00", "#bd9a2e", "#4a3800", "#d8bf6f"}, {"#b3203f", "#de6a83", "#6e1226", "#eba2b3"},
};

static const char *const dashes[] = {"", "7 3", "2 3", "9 3 2 3"};

/* One axis: a range of values on a range of the picture, and where its ticks lie. */
struct axis {
    double low, high;   /* values at the ends */
    double from, to;    /* the picture's */
    double tick, first; /* values */
    int digits;         /* after the point, in ticks' labels */
};

static double place(const struct axis *axis, double value)
{
    return axis->from + (value - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

/* Ticks are multiples of 1, 2 or 5 times a power of ten, about `wanted` of them. */
static void axis_init(struct axis *axis, double low, double high, int wanted)
{
    if (!(high > low)) {
        double middle = isfinite(low) ? low : 0;
        low = middle - 0.5;
        high = middle + 0.5;
    }
    double rough = (high - low) / wanted, power = pow(10, floor(log10(rough)));
    double step = rough / power < 1.5 ? 1 : rough / power < 3.5 ? 2 : rough / power < 7.5 ? 5 : 10;
    axis->tick = step * power;
    axis->low = low;
    axis->high = high;
    axis->first = ceil(low / axis->tick - 1e-9) * axis->tick;
    axis->digits = (int)fmax(0, -floor(log10(axis->tick) + 1e-9));
}

static void write_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            if ((unsigned char)*text >= 0x20) /* XML has no other control characters */
                fputc(*text, file);
        }
    }
}

static void write_label(FILE *file, double x, double y, const char *attributes, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    write_text(file, text);
    fputs("</text>\n", file);
}

static void find_ranges(const struct pet_plot *plot, struct axis *x, struct axis *y)
{
    double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;
    for (size_t s = 0; s < plot->series_count; s++) {
        const struct pet_plot_series *series = &plot->series[s];
        for (size_t i = 0; i < series->count; i++) {
            if (!isfinite(series->x[i]) || !isfinite(series->y[i]))
                continue;
            x_low = fmin(x_low, series->x[i]);
            x_high = fmax(x_high, series->x[i]);
            y_low = fmin(y_low, series->y[i]);
            y_high = fmax(y_high, series->y[i]);
        }
    }
    if (plot->level_label) {
        y_low = fmin(y_low, plot->level);
        y_high = fmax(y_high, plot->level);
    }
    if (x_low > 0 && x_low < 0.25 * x_high)
        x_low = 0; /* epochs and seconds begin at 0 */
    double margin = 0.04 * (y_high - y_low);
    axis_init(x, x_low, x_high, 8);
    axis_init(y, y_low - margin, y_high + margin, 6);
}

static void write_axes(FILE *file, const struct pet_plot *plot, const struct axis *x,
                       const struct axis *y)
{
    char text[64];
    fputs("<g font-size=\"13\" fill=\"#444\">\n", file);
    for (double value = y->first; value <= y->high + 1e-9 * y->tick; value += y->tick) {
        double at = place(y, value);
        fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>\n", x->from, at, x->to);
        (void)snprintf(text, sizeof text, "%.*f", y->digits, value + 0.0);
        write_label(file, x->from - 9, at + 4.5, "text-anchor=\"end\"", text);
    }
    for (double value = x->first; value <= x->high + 1e-9 * x->tick; value += x->tick) {
        double at = place(x, value);
        fprintf(file, "<path d=\"M%.1f %.1fv5\" stroke=\"#888\"/>\n", at, y->from);
        (void)snprintf(text, sizeof text, "%.*f", x->digits, value + 0.0);
        write_label(file, at, y->from + 20, "text-anchor=\"middle\"", text);
    }
    fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#888\" fill=\"none\"/>\n", x->from, y->from,
            x->to);
    fputs("</g>\n", file);
    write_label(file, (x->from + x->to) / 2, HEIGHT - 14,
                "text-anchor=\"middle\" font-size=\"14\" fill=\"#222\"", plot->x_label);
    fprintf(file, "<g transform=\"translate(20 %.1f) rotate(-90)\">", (y->from + y->to) / 2);
    write_label(file, 0, 0, "text-anchor=\"middle\" font-size=\"14\" fill=\"#222\"", plot->y_label);
    fputs("</g>\n", file);
}

/* How many series of the same family come before this one. */
static int member_of(const struct pet_plot *plot, size_t series)
{
    int member = 0;
    for (size_t i = 0; i < series; i++)
        member += plot->series[i].family == plot->series[series].family;
    return member;
}

static const char *colour_of(const struct pet_plot *plot, size_t series)
{
    int family = plot->series[series].family % PET_PLOT_FAMILIES;
    return palette[family < 0 ? 0 : family][member_of(plot, series) % SHADES];
}

static const char *dash_of(const struct pet_plot *plot, size_t series)
{
    return dashes[(size_t)member_of(plot, series) % (sizeof dashes / sizeof dashes[0])];
}

static void write_series(FILE *file, const struct pet_plot *plot, size_t s, const struct axis *x,
                         const struct axis *y)
{
    const struct pet_plot_series *series = &plot->series[s];
    const char *colour = colour_of(plot, s);
    int drawing = 0;
    fprintf(file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" "
            "stroke-dasharray=\"%s\" d=\"",
            colour, dash_of(plot, s));
    for (size_t i = 0; i < series->count; i++) {
        int shown = isfinite(series->x[i]) && isfinite(series->y[i]);
        if (shown)
            fprintf(file, "%c%.1f %.1f", drawing ? 'L' : 'M', place(x, series->x[i]),
                    place(y, series->y[i]));
        drawing = shown;
    }
    fputs("\"/>\n", file);
    if (series->count > DOTS_MAX)
        return;
    for (size_t i = 0; i < series->count; i++)
        if (isfinite(series->x[i]) && isfinite(series->y[i]))
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n",
                    place(x, series->x[i]), place(y, series->y[i]), colour);
}

static void write_legend(FILE *file, const struct pet_plot *plot, double left)
{
    double at = TOP + 8;
    fputs("<g font-size=\"13\" fill=\"#222\">\n", file);
    for (size_t s = 0; s < plot->series_count; s++) {
        if (s > 0 && plot->series[s].family != plot->series[s - 1].family)
            at += 8; /* families stand apart */
        fprintf(file,
                "<path d=\"M%.1f %.1fh%d\" stroke=\"%s\" stroke-width=\"2.5\" "
                "stroke-dasharray=\"%s\"/>\n",
                left, at - 4.5, LEGEND_LINE, colour_of(plot, s), dash_of(plot, s));
        write_label(file, left + LEGEND_LINE + 8, at, "", plot->series[s].label);
        at += LEGEND_ROW;
    }
    fputs("</g>\n", file);
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80; /* bytes that go on with a character do not count */
    return count;
}

static void write_level(FILE *file, const struct pet_plot *plot, const struct axis *x,
                        const struct axis *y)
{
    double at = place(y, plot->level);
    fprintf(file,
            "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#555\" stroke-width=\"1.2\" "
            "stroke-dasharray=\"4 4\"/>\n",
            x->from, at, x->to);
    write_label(file, x->to - 4, at - 6, "text-anchor=\"end\" font-size=\"12\" fill=\"#555\"",
                plot->level_label);
}

static void write_plot(FILE *file, const struct pet_plot *plot)
{
    struct axis x, y;
    size_t longest = 0;
    size_t points = 0;
    for (size_t s = 0; s < plot->series_count; s++) {
        size_t length = characters(plot->series[s].label);
        longest = length > longest ? length : longest;
        points += plot->series[s].count;
    }
    double legend = longest > 0 ? LEGEND_LINE + 8 + 7.4 * (double)longest + 24 : 0;
    double rows = TOP + 8 + 28.0 * (double)plot->series_count + BOTTOM;
    double height = fmax(HEIGHT, rows);
    find_ranges(plot, &x, &y);
    x.from = LEFT;
    x.to = WIDTH - 24;
    y.from = HEIGHT - BOTTOM;
    y.to = TOP;

    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n",
            WIDTH + legend, height, WIDTH + legend, height);
    fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", file);
    write_label(file, LEFT, 30, "font-size=\"18\" font-weight=\"bold\" fill=\"#111\"", plot->title);
    if (plot->subtitle)
        write_label(file, LEFT, 52, "font-size=\"13\" fill=\"#555\"", plot->subtitle);
    write_axes(file, plot, &x, &y);
    if (plot->level_label)
        write_level(file, plot, &x, &y);
    for (size_t s = 0; s < plot->series_count; s++)
        write_series(file, plot, s, &x, &y);
    if (points == 0)
        write_label(file, (x.from + x.to) / 2, (y.from + y.to) / 2,
                    "text-anchor=\"middle\" font-size=\"16\" fill=\"#777\"", "no data");
    write_legend(file, plot, WIDTH);
    fputs("</svg>\n", file);
}

int pet_plot_write(const struct pet_plot *plot, const char *path, struct gw_error *error)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.%d.new", path, (int)getpid()) >=
        (int)sizeof temporary)
        return gw_error_set(error, GW_EIO, "cannot write %s: the path is too long", path);
    FILE *file = fopen(temporary, "we");
    if (!file)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    write_plot(file, plot);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed || rename(temporary, path) < 0) {
        int rc = gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
        unlink(temporary);
        return rc;
    }
    return 0;
}
