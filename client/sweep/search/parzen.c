/* Parzen estimators with the kernels and the constants of Optuna's TPE: normal distributions that
 * are cut at the ends of the range, and for a choice, counts. One constant differs: the narrowest
 * kernel is half as wide (tests/bench/NOTES.md has what that gains). */
#include "client/sweep/search/parzen.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum {
    FULL_WEIGHTS = 25,
    FAR = 9, /* beyond so many sigmas a kernel adds less than 1e-17, which the prior exceeds */
};

static double normal_cdf(double z)
{
    return .5 * erfc(-z * M_SQRT1_2);
}

/* The mass of the normal distribution between a and b. On the right side differences of the other
 * tail are exact. */
static double normal_mass(double a, double b)
{
    return a > 0 ? normal_cdf(-a) - normal_cdf(-b) : normal_cdf(b) - normal_cdf(a);
}

/* The inverse of normal_cdf: Acklam's approximation and one step of Halley's method. */
static double normal_quantile(double p)
{
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                               -2.759285104469687e+02, 1.383577518672690e+02,
                               -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                               -1.556989798598866e+02, 6.680131188771972e+01,
                               -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                               -2.400758277161838e+00, -2.549732539343734e+00,
                               4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    const double tail = fmin(p, 1 - p);
    double x;
    if (tail < DBL_MIN)
        return p < .5 ? -38 : 38;
    if (tail < .02425) {
        const double q = sqrt(-2 * log(tail));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        x = p < .5 ? x : -x;
    } else {
        const double q = p - .5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    const double e = normal_cdf(x) - p, u = e * sqrt(2 * M_PI) * exp(x * x / 2);
    return x - u / (1 + x * u / 2);
}

static void set_weights(struct gw_parzen *parzen)
{
    const size_t count = parzen->count - 1, ramp = count < FULL_WEIGHTS ? 0 : count - FULL_WEIGHTS;
    double sum = 0;
    for (size_t i = 0; i <= count; i++) {
        const double least = 1 / (double)count;
        const double part = ramp > 1 ? (double)i / (double)(ramp - 1) : 0;
        parzen->weights[i] = i < ramp ? least + (1 - least) * part : 1; /* the last: the prior */
        sum += parzen->weights[i];
    }
    for (size_t i = 0; i <= count; i++)
        parzen->weights[i] /= sum;
}

static void set_choice_masses(struct gw_parzen *parzen, const double *observed)
{
    const size_t choices = parzen->param->choices.count;
    const double prior = 1 / (double)parzen->count;
    for (size_t c = 0; c < choices; c++)
        parzen->masses[c] = 0;
    for (size_t i = 0; i < parzen->count; i++) {
        const bool is_prior = i + 1 == parzen->count;
        const double sum = prior * (double)choices + !is_prior;
        for (size_t c = 0; c < choices; c++)
            parzen->masses[c] += parzen->weights[i] * prior / sum;
        if (!is_prior)
            parzen->masses[(size_t)observed[i]] += parzen->weights[i] / sum;
    }
}

struct place {
    double mu;
    size_t i;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    if (one->mu != two->mu)
        return one->mu < two->mu ? -1 : 1;
    return one->i < two->i ? -1 : one->i > two->i;
}

/* Each kernel is as wide as the larger gap to a neighbour, and the prior as the range. */
static int set_sigmas(struct gw_parzen *parzen)
{
    const size_t count = parzen->count - 1;
    const double range = parzen->high - parzen->low;
    /* Optuna 5.0.0 (_tpe/parzen_estimator.py, consider_magic_clip) divides by min(100, n + 2), n
     * observations. Here a kernel may be half as wide, because that lowers the regret on all 10
     * functions (tests/bench/NOTES.md, "Search"). Both agree from n = 98 on. */
    const double narrowest = range / fmin(100, 2 * (2. + (double)count));
    parzen->sigmas[count] = range;
    struct place *places = malloc(parzen->count * sizeof *places);
    if (!places)
        return GW_ENOMEM;
    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){parzen->mus[i], i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; i < count; i++) {
        const double left = places[i].mu - (i > 0 ? places[i - 1].mu : parzen->low);
        const double right = (i + 1 < count ? places[i + 1].mu : parzen->high) - places[i].mu;
        double gap = fmax(left, right);
        if (count > 1 && (i == 0 || i + 1 == count)) /* the end of the range is no neighbour */
            gap = i == 0 ? right : left;
        parzen->sigmas[places[i].i] = fmin(fmax(gap, narrowest), range);
    }
    free(places);
    return 0;
}

/* Kernels of a logarithmic parameter lie on a logarithmic scale. */
static double to_scale(const struct gw_param *param, double x)
{
    return param->log ? log(x) : x;
}

static void set_scale(struct gw_parzen *parzen)
{
    const struct gw_param *param = parzen->param;
    parzen->half = param->step / 2;
    parzen->low = to_scale(param, param->low - parzen->half);
    parzen->high = to_scale(param, param->high + parzen->half);
}

int gw_parzen_init(struct gw_parzen *parzen, const struct gw_param *param, const double *observed,
                   size_t count)
{
    *parzen = (struct gw_parzen){.param = param, .count = count + 1};
    const bool choice = param->kind == GW_PARAM_CHOICE;
    const size_t masses = choice ? param->choices.count : count + 1;
    parzen->weights = malloc((count + 1) * sizeof(double));
    parzen->masses = malloc(masses * sizeof(double));
    parzen->mus = malloc((count + 1) * sizeof(double));
    parzen->sigmas = malloc((count + 1) * sizeof(double));
    if (!parzen->weights || !parzen->masses || !parzen->mus || !parzen->sigmas)
        return GW_ENOMEM;
    set_weights(parzen);
    if (choice) {
        set_choice_masses(parzen, observed);
        return 0;
    }
    set_scale(parzen);
    for (size_t i = 0; i < count; i++)
        parzen->mus[i] = to_scale(param, observed[i]);
    parzen->mus[count] = (parzen->low + parzen->high) / 2;
    const int rc = set_sigmas(parzen);
    for (size_t i = 0; rc == 0 && i <= count; i++)
        parzen->masses[i] = normal_mass((parzen->low - parzen->mus[i]) / parzen->sigmas[i],
                                        (parzen->high - parzen->mus[i]) / parzen->sigmas[i]);
    return rc;
}

void gw_parzen_deinit(struct gw_parzen *parzen)
{
    free(parzen->mus);
    free(parzen->sigmas);
    free(parzen->weights);
    free(parzen->masses);
}

/* The index at which the running sum of the numbers passes u. */
static size_t pick(const double *numbers, size_t count, double u)
{
    size_t i = 0;
    while (i + 1 < count && u >= numbers[i])
        u -= numbers[i++];
    return i;
}

double gw_parzen_draw(const struct gw_parzen *parzen, struct gw_rng *rng)
{
    const double u = gw_rng_unit(rng);
    if (parzen->param->kind == GW_PARAM_CHOICE)
        return (double)pick(parzen->masses, parzen->param->choices.count, u);
    const size_t i = pick(parzen->weights, parzen->count, u);
    const double mu = parzen->mus[i], sigma = parzen->sigmas[i];
    const double below = normal_cdf((parzen->low - mu) / sigma);
    double x = mu + sigma * normal_quantile(below + gw_rng_unit(rng) * parzen->masses[i]);
    x = fmin(fmax(x, parzen->low), parzen->high);
    return gw_param_round(parzen->param, parzen->param->log ? exp(x) : x);
}

double gw_parzen_log_density(const struct gw_parzen *parzen, double x)
{
    const struct gw_param *param = parzen->param;
    if (param->kind == GW_PARAM_CHOICE)
        return log(parzen->masses[(size_t)x]);
    const double left = to_scale(param, x - parzen->half);
    const double right = to_scale(param, x + parzen->half);
    double sum = 0;
    for (size_t i = 0; i < parzen->count; i++) {
        const double mu = parzen->mus[i], sigma = parzen->sigmas[i];
        if (left > mu + FAR * sigma || right < mu - FAR * sigma)
            continue;
        const double z = (left - mu) / sigma, weight = parzen->weights[i] / parzen->masses[i];
        if (parzen->half > 0)
            sum += weight * normal_mass(z, (right - mu) / sigma);
        else
            sum += weight / sigma * exp(-.5 * z * z);
    }
    return log(sum); /* the prior makes it positive */
}
