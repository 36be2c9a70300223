/* A Parzen estimator: the density of one parameter, from values that were observed and a prior. */
#ifndef GW_SEARCH_PARZEN_H
#define GW_SEARCH_PARZEN_H

#include "client/sweep/search/param.h"
#include "client/sweep/search/rng.h"

struct gw_parzen {
    const struct gw_param *param;
    double low, high, half; /* on the scale of the kernels; half a step */
    size_t count;           /* kernels: the observations and the prior */
    double *mus, *sigmas;   /* NULL for a choice */
    double *weights;        /* of the kernels; their sum is 1 */
    double *masses;         /* of a kernel inside the range; of a choice: of each of its values */
};

/* gw_parzen_init builds the estimator. The observations are in the order of their trials; 25 at the
 * end have the full weight, older ones less. Returns GW_ENOMEM. */
int gw_parzen_init(struct gw_parzen *parzen, const struct gw_param *param, const double *observed,
                   size_t count);
void gw_parzen_deinit(struct gw_parzen *parzen);

/* gw_parzen_draw returns a value of the parameter, gw_parzen_log_density the logarithm of the
 * density (of the mass, if the values can be counted) at one, up to a constant for each value. */
double gw_parzen_draw(const struct gw_parzen *parzen, struct gw_rng *rng);
double gw_parzen_log_density(const struct gw_parzen *parzen, double x);

#endif
