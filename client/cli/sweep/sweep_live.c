/* Shows a sweep while it runs. */
#include "client/cli/sweep/sweep_live.h"

#include "client/cli/lib/table.h"
#include "client/cli/sweep/sweep_view.h"
#include "graph/base/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LIVE_ROWS = 10, PRINT_AGAIN_MS = 100, COLUMNS_DEFAULT = 80 };

void gw_sweep_live_init(struct gw_sweep_live *live, const struct gw_sweep_definition *definition)
{
    *live = (struct gw_sweep_live){.definition = definition,
                                   .terminal = gw_table_is_terminal(stderr),
                                   .earlier = definition->continues,
                                   .began_ns = gw_clock_now_ns()};
}

static int columns_of(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col
                                                                            : COLUMNS_DEFAULT;
}

static void print_line(struct gw_sweep_live *live, const char *text)
{
    const int room = columns_of() - 1;
    const bool cut = strlen(text) > (size_t)room;
    fprintf(stderr, "%.*s%s\033[K\n", cut ? room - 3 : room, text, cut ? "..." : "");
    live->lines++;
}

static void print_left(struct gw_sweep_live *live, const struct gw_sweep *sweep)
{
    const struct gw_sweep_counts counts = gw_sweep_view_count(sweep);
    const uint32_t trials = live->definition->search.trials;
    const uint64_t passed_ns = gw_clock_now_ns() - live->began_ns;
    char text[GW_SWEEP_LINE_MAX], passed[GW_TEXT_DURATION_ROOM], left[GW_TEXT_DURATION_ROOM];
    (void)gw_text_duration(passed_ns, passed);
    if (counts.ended && trials > counts.ended) {
        (void)gw_text_duration(passed_ns / counts.ended * (trials - counts.ended), left);
        (void)snprintf(text, sizeof text, "%s since it began, about %s left", passed, left);
    } else
        (void)snprintf(text, sizeof text, "%s since it began", passed);
    print_line(live, text);
}

static void print_trial(struct gw_sweep_live *live, const struct gw_sweep_trial *trial)
{
    char params[256], text[GW_SWEEP_LINE_MAX], value[GW_TEXT_REAL_ROOM];
    gw_sweep_view_params(trial->trial->params, true, params, sizeof params);
    gw_sweep_view_value(trial->trial->value, true, value);
    (void)snprintf(text, sizeof text, "%7" PRIu32 "  %-8s %6" PRIu64 "  %-11s %s",
                   trial->trial->number, gw_sweep_view_state(trial), trial->trial->step, value,
                   params);
    print_line(live, text);
}

static void print_block(struct gw_sweep_live *live, const struct gw_sweep *sweep)
{
    const struct gw_sweep_trial *best;
    const uint32_t count = gw_sweep_count(sweep);
    char text[GW_SWEEP_LINE_MAX];
    if (live->lines)
        fprintf(stderr, "\033[%dA", live->lines);
    live->lines = 0;
    gw_sweep_view_line(live->definition, sweep, text, sizeof text);
    print_line(live, text);
    print_left(live, sweep);
    (void)snprintf(text, sizeof text, "%7s  %-8s %6s  %-11.11s %s", "TRIAL", "STATE", "STEP",
                   live->definition->metric, "PARAMETERS");
    print_line(live, text);
    if (gw_sweep_best(sweep, &best, NULL) == 0)
        print_trial(live, best);
    int rows = 0;
    for (uint32_t i = 0; i < count && rows < LIVE_ROWS; i++)
        if (gw_sweep_trial(sweep, i)->trial->state == GW_TRIAL_RUNNING) {
            print_trial(live, gw_sweep_trial(sweep, i));
            rows++;
        }
    fputs("\033[J", stderr);
    fflush(stderr);
}

static void print_ends(struct gw_sweep_live *live, const struct gw_sweep *sweep)
{
    const uint32_t count = gw_sweep_count(sweep);
    if (count > live->told_count) {
        uint8_t *more = realloc(live->told, count);
        if (!more)
            return;
        memset(more + live->told_count, 0, count - live->told_count);
        live->told = more;
        live->told_count = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_sweep_trial *trial = gw_sweep_trial(sweep, i);
        const uint8_t state = (uint8_t)(trial->trial->state + 1);
        char params[GW_SWEEP_LINE_MAX], value[GW_TEXT_REAL_ROOM];
        if (live->told[i] == state || trial->trial->state == GW_TRIAL_RUNNING)
            continue;
        live->told[i] = state;
        if (live->earlier)
            continue;
        gw_sweep_view_params(trial->trial->params, false, params, sizeof params);
        fprintf(stderr, "trial %" PRIu32 " %s", i, gw_sweep_view_state(trial));
        if (!isnan(trial->trial->value))
            fprintf(stderr, " %s=%s", live->definition->metric,
                    gw_text_real(trial->trial->value, value));
        fprintf(stderr, " %s%s%.*s\n", params, *trial->text ? ": " : "",
                (int)strcspn(trial->text, "\n"), trial->text);
    }
}

void gw_sweep_live_update(struct gw_sweep_live *live, const struct gw_sweep *sweep)
{
    if (live->definition->quiet)
        return;
    if (!live->terminal) {
        print_ends(live, sweep);
        if (live->earlier && gw_sweep_count(sweep) > 0)
            gw_sweep_view_summary(stderr, live->definition, sweep);
        live->earlier = false;
        return;
    }
    if (gw_clock_now_ns() - live->printed_ns < PRINT_AGAIN_MS * GW_NS_PER_MS)
        return;
    live->printed_ns = gw_clock_now_ns();
    print_block(live, sweep);
}

void gw_sweep_live_deinit(struct gw_sweep_live *live)
{
    if (live->lines)
        fprintf(stderr, "\033[%dA\033[J", live->lines);
    free(live->told);
}
