/* Frames, texts, axes and legends as SVG. */
#include "client/sweep/picture/draw.h"

#include <math.h>
#include <string.h>

enum {
    LABEL_SIZE = 12,
    NAME_SIZE = 13,
    TICK_GAP = 26, /* least distance of the labels of a vertical axis */
};

const char *const gw_draw_colours[GW_STUDY_STATES] = {
    [GW_STUDY_RUNNING] = "#1d8348", [GW_STUDY_PAUSED] = "#a5812a",
    [GW_STUDY_DONE] = "#2f6fb5",    [GW_STUDY_PRUNED] = "#a9b1ba",
    [GW_STUDY_FAILED] = "#a3123a",  [GW_STUDY_CANCELLED] = "#6b7280"};
const char *const gw_draw_states[GW_STUDY_STATES] = {
    [GW_STUDY_RUNNING] = "running", [GW_STUDY_PAUSED] = "paused",
    [GW_STUDY_DONE] = "done",       [GW_STUDY_PRUNED] = "pruned",
    [GW_STUDY_FAILED] = "failed",   [GW_STUDY_CANCELLED] = "cancelled"};

/* -- Texts --- */

static bool begins_character(char byte)
{
    return (byte & 0xc0) != 0x80;
}

static double character_width(int size)
{
    return 0.6 * size; /* digits of DejaVu Sans are 0.64, small letters 0.58 */
}

double gw_draw_text_width(const char *text, int size)
{
    size_t count = 0;
    for (; *text; text++)
        count += begins_character(*text);
    return character_width(size) * (double)count;
}

static void write_escaped(FILE *out, const char *text, size_t characters)
{
    for (; *text; text++) {
        if (begins_character(*text) && characters-- == 0)
            break;
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if ((unsigned char)*text >= 0x20) /* XML has no other control characters */
            fputc(*text, out);
    }
}

void gw_draw_text(FILE *out, double x, double y, double room, struct gw_draw_style style,
                  const char *text)
{
    const char *colour = style.colour ? style.colour : GW_DRAW_INK;
    const bool cut = room > 0 && gw_draw_text_width(text, style.size) > room;
    const double fits = fmax(1, floor(room / character_width(style.size)) - 1);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" fill=\"%s\" text-anchor=\"%s\"", x,
            y, style.size, colour, style.anchor ? style.anchor : "start");
    if (style.bold)
        fputs(" font-weight=\"bold\"", out);
    if (style.turned)
        fprintf(out, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    if (style.halo)
        fputs(" stroke=\"#fff\" stroke-width=\"3\" stroke-opacity=\"0.85\" "
              "stroke-linejoin=\"round\" paint-order=\"stroke\"",
              out);
    fputc('>', out);
    if (cut) /* the whole text where the mouse is */
        fputs("<title>", out), write_escaped(out, text, SIZE_MAX), fputs("</title>", out);
    write_escaped(out, text, cut ? (size_t)fits : SIZE_MAX);
    fputs(cut ? "…</text>\n" : "</text>\n", out);
}

/* -- Frames --- */

void gw_draw_begin(FILE *out, double width, double height, const char *title, const char *subtitle)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    gw_draw_text(out, 24, 34, width - 48, (struct gw_draw_style){.size = 18, .bold = true}, title);
    gw_draw_text(out, 24, 56, width - 48,
                 (struct gw_draw_style){.size = 13, .colour = GW_DRAW_FAINT_INK}, subtitle);
}

void gw_draw_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void gw_draw_nothing(FILE *out, double width, double height, const char *why)
{
    gw_draw_text(
        out, width / 2, height / 2, width - 48,
        (struct gw_draw_style){.size = 15, .anchor = "middle", .colour = GW_DRAW_FAINT_INK}, why);
}

/* -- Axes, drawn --- */

void gw_draw_x_axis(FILE *out, const struct gw_axis *axis, double y, const char *name)
{
    const struct gw_draw_style style = {
        .size = LABEL_SIZE, .anchor = "middle", .colour = GW_DRAW_FAINT_INK};
    const double width = axis->to - axis->from;
    double ticks[GW_AXIS_TICKS_MAX];
    char text[GW_AXIS_LABEL_BYTES];
    size_t count = gw_axis_ticks(axis, (unsigned)fmax(2, width / (axis->choices ? 45 : 70)), ticks);
    const double room = axis->choices ? width / fmax((double)count, 1) - 4 : 0;
    fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"" GW_DRAW_RULE "\" fill=\"none\"/>\n",
            axis->from, y, axis->to);
    for (size_t i = 0; i < count; i++) {
        const double at = gw_axis_at(axis, ticks[i]);
        fprintf(out, "<path d=\"M%.1f %.1fv5\" stroke=\"" GW_DRAW_RULE "\"/>\n", at, y);
        gw_axis_label(axis, ticks[i], text);
        gw_draw_text(out, at, y + 19, room, style, text);
    }
    if (name)
        gw_draw_text(out, (axis->from + axis->to) / 2, y + 40, width,
                     (struct gw_draw_style){.size = NAME_SIZE, .anchor = "middle"}, name);
}

void gw_draw_y_axis(FILE *out, const struct gw_axis *axis, double x, double x_to, const char *name)
{
    const struct gw_draw_style style = {
        .size = LABEL_SIZE, .anchor = "end", .colour = GW_DRAW_FAINT_INK};
    const double height = fabs(axis->to - axis->from);
    double ticks[GW_AXIS_TICKS_MAX];
    char text[GW_AXIS_LABEL_BYTES];
    size_t count = gw_axis_ticks(axis, (unsigned)fmax(2, height / (2 * TICK_GAP)), ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = gw_axis_at(axis, ticks[i]);
        fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"" GW_DRAW_GRID "\"/>\n", x, at, x_to);
        gw_axis_label(axis, ticks[i], text);
        gw_draw_text(out, x - 8, at + 4, GW_DRAW_LEFT - 36, style, text);
    }
    if (name)
        gw_draw_text(out, 26, (axis->from + axis->to) / 2, height,
                     (struct gw_draw_style){.size = NAME_SIZE, .anchor = "middle", .turned = true},
                     name);
}

void gw_draw_legend(FILE *out, double *x, double y, const char *colour, bool line, const char *text)
{
    if (line)
        fprintf(out, "<path d=\"M%.1f %.1fh22\" stroke=\"%s\" stroke-width=\"2.5\"/>\n", *x, y - 4,
                colour);
    else
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", *x + 5, y - 4.5,
                colour);
    *x += line ? 28 : 15;
    gw_draw_text(out, *x, y, 0, (struct gw_draw_style){.size = LABEL_SIZE}, text);
    *x += gw_draw_text_width(text, LABEL_SIZE) + 22;
}
