/* Timing functions for benchmarks of communicators. Include it in one file of a program. */
#ifndef GW_TESTS_BENCH_TIMING_H
#define GW_TESTS_BENCH_TIMING_H

#include <errno.h>
#include <gangway/error.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double timing_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Compares two doubles, for qsort. */
static int timing_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ends the process on an error. The process may be one rank of several. */
static void timing_must(int rc, const struct gw_error *error)
{
    if (rc < 0) {
        (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, error->text);
        _exit(1);
    }
}

#endif
