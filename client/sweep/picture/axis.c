/* Axes: linear, logarithmic, of choices, of times. */
#include "client/sweep/picture/axis.h"

#include "graph/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOG_RATIO 10. /* a derived parameter with a wider range has a logarithmic axis */

struct gw_axis gw_axis_numbers(double low, double high, bool log)
{
    struct gw_axis axis = {.low = low, .high = high, .log = log && low > 0};
    if (high > low)
        return axis;
    axis.low = isfinite(low) ? low : 0;
    axis.high = axis.low;
    if (axis.log) {
        axis.low /= 2;
        axis.high *= 2;
    } else {
        const double half = axis.low == 0 ? 0.5 : fabs(axis.low) / 4;
        axis.low -= half;
        axis.high += half;
    }
    return axis;
}

struct gw_axis gw_axis_param(const struct gw_study *study, size_t param)
{
    const struct gw_study_param *p = &study->params[param];
    if (p->kind == GW_STUDY_CHOICE)
        return (struct gw_axis){
            .low = -0.5, .high = (double)p->choice_count - 0.5, .choices = p->choices};
    double low = p->derived ? INFINITY : p->low, high = p->derived ? -INFINITY : p->high;
    for (size_t i = 0; i < study->trial_count; i++)
        if (isfinite(study->trials[i].params[param])) {
            low = fmin(low, study->trials[i].params[param]);
            high = fmax(high, study->trials[i].params[param]);
        }
    const bool wide = p->derived && low > 0 && high >= LOG_RATIO * low;
    struct gw_axis axis = gw_axis_numbers(low, high, p->log || wide);
    axis.is_whole = p->kind == GW_STUDY_INT;
    return axis;
}

double gw_axis_at(const struct gw_axis *axis, double value)
{
    value = fmin(fmax(value, axis->low), axis->high);
    const double part = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                                  : (value - axis->low) / (axis->high - axis->low);
    return axis->from + part * (axis->to - axis->from);
}

static size_t log_ticks(const struct gw_axis *axis, unsigned wanted,
                        double ticks[GW_AXIS_TICKS_MAX])
{
    static const int all[] = {1}, some[] = {1, 2, 5};
    const double decades = log10(axis->high / axis->low);
    const bool few = decades * 2 < wanted;
    const int stride = (int)fmax(1, ceil(decades / wanted));
    size_t count = 0;
    for (int power = (int)floor(log10(axis->low)); power <= log10(axis->high) + 1; power++)
        for (size_t i = 0; i < (few ? 3 : 1); i++) {
            const double tick = (few ? some[i] : all[i]) * pow(10, power);
            if (power % stride == 0 && tick >= axis->low * (1 - 1e-9) &&
                tick <= axis->high * (1 + 1e-9) && count < GW_AXIS_TICKS_MAX)
                ticks[count++] = tick;
        }
    return count;
}

/* The distance of ticks on an axis of seconds. */
static double time_step(double rough)
{
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                   600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && rough > 0.5; i++)
        if (steps[i] >= rough * 0.8)
            return steps[i];
    return 0;
}

static double linear_step(const struct gw_axis *axis, unsigned wanted)
{
    const double rough = (axis->high - axis->low) / fmax(wanted, 1);
    const double power = pow(10, floor(log10(rough))), part = rough / power;
    double step = (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10) * power;
    if (axis->is_time && time_step(rough) > 0)
        step = time_step(rough);
    return axis->is_whole ? fmax(1, step) : step;
}

size_t gw_axis_ticks(const struct gw_axis *axis, unsigned wanted, double ticks[GW_AXIS_TICKS_MAX])
{
    size_t count = 0;
    if (axis->log && (count = log_ticks(axis, wanted, ticks)) > 1)
        return count;
    if (axis->choices) {
        const size_t all = (size_t)(axis->high + 0.5);
        const size_t stride = all / GW_AXIS_TICKS_MAX + 1 > (all + wanted - 1) / wanted
                                  ? all / GW_AXIS_TICKS_MAX + 1
                                  : (all + wanted - 1) / wanted;
        for (size_t i = 0; i < all && count < GW_AXIS_TICKS_MAX; i += stride)
            ticks[count++] = (double)i;
        return count;
    }
    count = 0;
    const double step = linear_step(axis, wanted);
    for (double i = ceil(axis->low / step - 1e-9);
         i * step <= axis->high + 1e-9 * step && count < GW_AXIS_TICKS_MAX; i++)
        ticks[count++] = i * step + 0.0;
    return count;
}

/* Writes 1e-05 as 1e-5. */
static void shorten_exponent(char *text)
{
    char *exponent = strchr(text, 'e');
    if (!exponent)
        return;
    char *from = exponent + 2, *to = exponent + (exponent[1] == '-' ? 2 : 1);
    while (*from == '0' && from[1])
        from++;
    memmove(to, from, strlen(from) + 1);
}

void gw_axis_label(const struct gw_axis *axis, double value, char text[GW_AXIS_LABEL_BYTES])
{
    char duration[GW_TEXT_DURATION_ROOM];
    if (axis->choices)
        (void)snprintf(text, GW_AXIS_LABEL_BYTES, "%s", axis->choices[(size_t)value].text);
    else if (axis->is_time)
        (void)snprintf(text, GW_AXIS_LABEL_BYTES, "%s",
                       value > 0 ? gw_text_duration((uint64_t)(value * 1e9 + 0.5), duration) : "0");
    else {
        (void)snprintf(text, GW_AXIS_LABEL_BYTES, "%.6g", value);
        shorten_exponent(text);
    }
}
