/* Pointwise loops of the LSTM. Always: the inner loop runs over the hidden units without a branch
 * or a call, so that it vectorises; exp is a polynomial of our own for that reason. */
#include "examples/petnames/gates.h"

#include <math.h>
#include <string.h>

#define PET_INLINE __attribute__((always_inline))

/* Each kernel is compiled three times in one program and chosen as it runs, because programs are
 * shipped to other machines: for any x86-64, for one with AVX2 and FMA, and for one with AVX-512.
 */
#ifdef __x86_64__
#define PET_AVX2 __attribute__((target("avx2,fma")))
#define PET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
static int pet_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
static int pet_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("fma");
}
#else
#define PET_AVX2
#define PET_AVX512
static int pet_has_avx2(void)
{
    return 0;
}
static int pet_has_avx512(void)
{
    return 0;
}
#endif

#define PET_KERNEL(name, parameters, arguments)                                                    \
    PET_AVX2 static void name##_avx2 parameters                                                    \
    {                                                                                              \
        name##_any arguments;                                                                      \
    }                                                                                              \
    PET_AVX512 static void name##_avx512 parameters                                                \
    {                                                                                              \
        name##_any arguments;                                                                      \
    }                                                                                              \
    void name parameters                                                                           \
    {                                                                                              \
        if (pet_has_avx512())                                                                      \
            name##_avx512 arguments;                                                               \
        else if (pet_has_avx2())                                                                   \
            name##_avx2 arguments;                                                                 \
        else                                                                                       \
            name##_any arguments;                                                                  \
    }

/* The exponential. An exponent beyond a limit counts as the limit: beyond PET_PAIR_MAX, so that
 * (1 + e^x) (1 + e^y) does not overflow. */
#ifdef NN_DOUBLE
#define PET_EXPONENT_MAX 700.0
#define PET_PAIR_MAX 350.0
#else
#define PET_EXPONENT_MAX 87.0f
#define PET_PAIR_MAX 43.0f
#endif

#ifdef NN_DOUBLE
static inline PET_INLINE double pet_exp(double x, double max)
{
    return exp(fabs(x) > max ? copysign(max, x) : x);
}
#else
/* To 2e-7 relative. x = n ln 2 + r: 2^n comes from the exponent's bits, exp(r) from the polynomial
 * of degree 5 that begins with 1 + r and errs least for |r| <= ln 2 / 2; n is rounded by adding
 * 1.5 * 2^23, which leaves it in the low bits of the sum. */
static inline PET_INLINE float pet_exp(float x, float max)
{
    x = fabsf(x) > max ? copysignf(max, x) : x;
    float shifted = x * 1.44269504f + 12582912.0f;
    float n = shifted - 12582912.0f;
    float r = x - n * 0.693145752f;
    r -= n * 1.42860677e-6f;
    float series = 0.00831250101f;
    series = series * r + 0.0418903306f;
    series = series * r + 0.166671157f;
    series = series * r + 0.499992311f;
    series = series * r + 1.0f;
    series = series * r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return series * power;
}
#endif

static inline PET_INLINE pet_real pet_tanh(pet_real x)
{
    return 2 / (1 + pet_exp(-2 * x, PET_EXPONENT_MAX)) - 1;
}

/* The four blocks of a row of gates, apart so that the compiler sees that they do not overlap. */
#define PET_BLOCKS(row, hidden) (row), (row) + (hidden), (row) + 2 * (hidden), (row) + 3 * (hidden)

/* One node, from the sums of its gates to its states. */
static inline PET_INLINE void forward_row(size_t hidden, pet_real *restrict in,
                                          pet_real *restrict retain, pet_real *restrict candidate,
                                          pet_real *restrict out, const pet_real *restrict cell_in,
                                          pet_real *restrict cell, pet_real *restrict output)
{
    for (size_t j = 0; j < hidden; j++) {
        /* Sigmoids are 1 / (1 + e^-x), tanh is (1 - e^-2x) / (1 + e^-2x). A division costs more
         * than an exponential here, so one serves two of them. */
        pet_real ei = 1 + pet_exp(-in[j], PET_PAIR_MAX),
                 eg = pet_exp(-2 * candidate[j], PET_PAIR_MAX);
        pet_real ef = 1 + pet_exp(-retain[j], PET_PAIR_MAX),
                 eo = 1 + pet_exp(-out[j], PET_PAIR_MAX);
        pet_real ig = 1 / (ei * (1 + eg)), fo = 1 / (ef * eo);
        pet_real i = ig * (1 + eg), f = fo * eo, g = (1 - eg) * ei * ig, o = fo * ef;
        pet_real c = i * g + f * cell_in[j];
        in[j] = i;
        retain[j] = f;
        candidate[j] = g;
        out[j] = o;
        cell[j] = c;
        output[j] = o * pet_tanh(c);
    }
}

/* The sums of a row: what its layer's GEMM left in it (or its symbol's row), bias, parent's part.
 */
static inline PET_INLINE void sum_row(size_t width, pet_real *restrict gates,
                                      const pet_real *restrict own, const pet_real *restrict bias,
                                      const pet_real *restrict parent)
{
    if (own && parent)
        for (size_t j = 0; j < width; j++)
            gates[j] = own[j] + bias[j] + parent[j];
    else if (own)
        for (size_t j = 0; j < width; j++)
            gates[j] = own[j] + bias[j];
    else if (parent)
        for (size_t j = 0; j < width; j++)
            gates[j] += bias[j] + parent[j];
    else
        for (size_t j = 0; j < width; j++)
            gates[j] += bias[j];
}

static inline PET_INLINE void pet_gates_forward_any(const struct pet_gates *layer,
                                                    const struct pet_batch *batch, int level,
                                                    const struct pet_gates_input *input)
{
    const size_t hidden = layer->hidden, width = 4 * hidden;
    const size_t parents = level > 0 ? batch->level_start[level - 1] : 0;
    for (size_t k = batch->level_start[level]; k < batch->level_start[level + 1]; k++) {
        const pet_real *own = input->by_symbol ? input->by_symbol + batch->symbol[k] * width : NULL;
        const pet_real *cell_in = layer->zeroes, *recurrent = NULL;
        if (level > 0) {
            cell_in = layer->cell + batch->parent[k] * hidden;
            if (input->by_parent)
                recurrent = input->by_parent + (batch->parent[k] - parents) * width;
        }
        pet_real *gates = layer->gates + k * width;
        sum_row(width, gates, own, input->bias, recurrent);
        forward_row(hidden, PET_BLOCKS(gates, hidden), cell_in, layer->cell + k * hidden,
                    layer->output + k * hidden);
    }
}

PET_KERNEL(pet_gates_forward,
           (const struct pet_gates *layer, const struct pet_batch *batch, int level,
            const struct pet_gates_input *input),
           (layer, batch, level, input))

/* One node's gates, from activations to gradients; what its parent's cell gets is added to
 * parent_cell, which the first child overwrites. */
static inline PET_INLINE void
backward_row(size_t hidden, pet_real *restrict in, pet_real *restrict retain,
             pet_real *restrict candidate, pet_real *restrict out, const pet_real *restrict output,
             const pet_real *restrict cell_in, const pet_real *restrict d_output,
             const pet_real *restrict d_cell, pet_real *restrict parent_cell, int first)
{
    for (size_t j = 0; j < hidden; j++) {
        pet_real i = in[j], f = retain[j], g = candidate[j], o = out[j];
        /* The tanh of the cell. A division takes less time than memory for one more array, and
         * PET_PAIR_MAX keeps o above 0. */
        pet_real s = output[j] / o;
        pet_real dc = d_cell[j] + d_output[j] * o * (1 - s * s);
        in[j] = dc * g * i * (1 - i);
        retain[j] = dc * cell_in[j] * f * (1 - f);
        candidate[j] = dc * i * (1 - g * g);
        out[j] = d_output[j] * s * o * (1 - o);
        parent_cell[j] = first ? dc * f : parent_cell[j] + dc * f;
    }
}

/* Adds a row to a sum; the first one overwrites what was there. */
static inline PET_INLINE void add_row(size_t width, int first, pet_real *restrict sum,
                                      const pet_real *restrict row)
{
    if (first)
        memcpy(sum, row, width * sizeof *row);
    else
        for (size_t j = 0; j < width; j++)
            sum[j] += row[j];
}

static inline PET_INLINE void pet_gates_backward_any(const struct pet_gates *layer,
                                                     const struct pet_batch *batch, int level,
                                                     const struct pet_gates_gradient *gradient)
{
    const size_t hidden = layer->hidden, width = 4 * hidden;
    const size_t start = batch->level_start[level], end = batch->level_start[level + 1];
    const size_t parents = level > 0 ? batch->level_start[level - 1] : 0;
    pet_real *const cell = gradient->cell[level % 2];
    pet_real *const parent_cell = gradient->cell[(level + 1) % 2]; /* of level 0: scratch */
    if (level == PET_CONTEXT - 1)
        memset(cell, 0, (end - start) * hidden * sizeof *cell);
    for (size_t k = start; k < end; k++) {
        const size_t parent = level > 0 ? batch->parent[k] : 0, at = parent - parents;
        const int first = k == start || batch->parent[k - 1] != parent;
        pet_real *gates = layer->gates + k * width;
        const pet_real *cell_in = level > 0 ? layer->cell + parent * hidden : layer->zeroes;
        const pet_real *output = layer->output + k * hidden;
        const pet_real *d_output = gradient->output + k * hidden;
        const pet_real *d_cell = cell + (k - start) * hidden;
        if (first)
            backward_row(hidden, PET_BLOCKS(gates, hidden), output, cell_in, d_output, d_cell,
                         parent_cell + at * hidden, 1);
        else
            backward_row(hidden, PET_BLOCKS(gates, hidden), output, cell_in, d_output, d_cell,
                         parent_cell + at * hidden, 0);
        add_row(width, 0,
                gradient->by_symbol ? gradient->by_symbol + batch->symbol[k] * width
                                    : gradient->bias,
                gates);
        if (level > 0 && gradient->by_parent)
            add_row(width, first, gradient->by_parent + at * width, gates);
    }
}

PET_KERNEL(pet_gates_backward,
           (const struct pet_gates *layer, const struct pet_batch *batch, int level,
            const struct pet_gates_gradient *gradient),
           (layer, batch, level, gradient))

static inline PET_INLINE void pet_gates_sum_rows_any(const pet_real *rows, size_t count,
                                                     size_t width, pet_real *sum)
{
    memset(sum, 0, width * sizeof *sum);
    for (size_t k = 0; k < count; k++)
        add_row(width, 0, sum, rows + k * width);
}

PET_KERNEL(pet_gates_sum_rows, (const pet_real *rows, size_t count, size_t width, pet_real *sum),
           (rows, count, width, sum))

static inline PET_INLINE void pet_softmax_any(pet_real *rows, size_t count, pet_real *normaliser)
{
    for (size_t k = 0; k < count; k++) {
        pet_real *row = rows + k * PET_LABELS;
        pet_real highest = row[0];
        for (int j = 1; j < PET_LABELS; j++)
            highest = row[j] > highest ? row[j] : highest;
        for (int j = 0; j < PET_LABELS; j++)
            row[j] = pet_exp(row[j] - highest, PET_EXPONENT_MAX);
        pet_real sum = 0;
        for (int j = 0; j < PET_LABELS; j++)
            sum += row[j];
        for (int j = 0; j < PET_LABELS; j++)
            row[j] /= sum;
        normaliser[k] = highest + (pet_real)log((double)sum);
    }
}

PET_KERNEL(pet_softmax, (pet_real * rows, size_t count, pet_real *normaliser),
           (rows, count, normaliser))
