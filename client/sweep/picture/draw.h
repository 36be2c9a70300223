/* Parts of pictures, as SVG. All sizes are in pixels of a picture at its natural size. */
#ifndef GW_SWEEP_DRAW_H
#define GW_SWEEP_DRAW_H

#include "client/sweep/picture/axis.h"

#include <stdio.h>

enum {
    GW_DRAW_WIDTH = 900, /* of most pictures */
    GW_DRAW_HEIGHT = 540,
    GW_DRAW_LEFT = 84, /* free for texts on each side of the axes */
    GW_DRAW_RIGHT = 28,
    GW_DRAW_TOP = 104,
    GW_DRAW_BOTTOM = 60,
};

/* Colours; hues that colour-blind readers tell apart. */
#define GW_DRAW_INK "#222222"
#define GW_DRAW_FAINT_INK "#5a5a5a"
#define GW_DRAW_RULE "#8c8c8c"
#define GW_DRAW_GRID "#e6e6e6"
#define GW_DRAW_BEST "#d1590a"
extern const char *const gw_draw_colours[GW_STUDY_STATES]; /* of trials */
extern const char *const gw_draw_states[GW_STUDY_STATES];  /* names */

/* gw_draw_begin begins a picture: the frame, and the title and what is below it. gw_draw_end ends
 * it. gw_draw_nothing says in the middle that there is nothing to show. */
void gw_draw_begin(FILE *out, double width, double height, const char *title, const char *subtitle);
void gw_draw_end(FILE *out);
void gw_draw_nothing(FILE *out, double width, double height, const char *why);

/* gw_draw_text writes a text at its base line. A text that is wider than `room` is cut and ends
 * with "…"; room 0: as wide as it is. gw_draw_text_width estimates the width. */
struct gw_draw_style {
    int size;
    const char *colour; /* NULL: GW_DRAW_INK */
    const char *anchor; /* start, middle or end; NULL: start */
    bool bold;
    bool turned; /* reads from bottom to top */
    bool halo;   /* readable over lines */
};
void gw_draw_text(FILE *out, double x, double y, double room, struct gw_draw_style style,
                  const char *text);
double gw_draw_text_width(const char *text, int size);

/* gw_draw_x_axis and gw_draw_y_axis draw an axis with ticks and its name; the first at the height
 * y, the second with lines of a grid from x to x_to. name NULL: none. */
void gw_draw_x_axis(FILE *out, const struct gw_axis *axis, double y, const char *name);
void gw_draw_y_axis(FILE *out, const struct gw_axis *axis, double x, double x_to, const char *name);

/* gw_draw_legend draws an entry at *x and moves *x behind it: a dot, or a line if `line`. */
void gw_draw_legend(FILE *out, double *x, double y, const char *colour, bool line,
                    const char *text);

#endif
