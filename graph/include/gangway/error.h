/* Errors of Gangway: every function returns 0 (or a positive result) or one of these, negative.
 *
 * A `struct gw_error *` comes last in a parameter list. It may be NULL; where it is not, a function
 * that fails has written the code and a text for a person there. Nothing in it needs freeing. The
 * functions here block nowhere; any thread, on an error of its own. */
#ifndef GANGWAY_ERROR_H
#define GANGWAY_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#if defined(__GNUC__)
#define GW_API __attribute__((visibility("default")))
#define GW_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define GW_API
#define GW_PRINTF(at, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* name, number, what it means. Numbers travel between processes: never reuse or renumber one. */
#define GW_ERRORS(X)                                                                               \
    X(GW_EINVAL, -1, "invalid argument")                                                           \
    X(GW_ENOMEM, -2, "out of memory")                                                              \
    X(GW_EIO, -3, "input/output error")                                                            \
    X(GW_ENOENT, -4, "no such thing")                                                              \
    X(GW_EEXIST, -5, "exists already")                                                             \
    X(GW_ETIMEDOUT, -6, "timed out")                                                               \
    X(GW_ECANCELLED, -7, "cancelled")                                                              \
    X(GW_EABORTED, -8, "aborted")                                                                  \
    X(GW_ECLOSED, -9, "connection closed")                                                         \
    X(GW_ENOSCHEDULER, -10, "no scheduler")                                                        \
    X(GW_EPROTO, -11, "protocol error")                                                            \
    X(GW_EVERSION, -12, "versions do not match")                                                   \
    X(GW_ECORRUPT, -13, "damaged or foreign data")                                                 \
    X(GW_ECYCLE, -14, "the graph has a cycle")                                                     \
    X(GW_EINFEASIBLE, -15, "does not fit this cluster")                                            \
    X(GW_ETASK, -16, "a task failed")                                                              \
    X(GW_ECRASHED, -17, "a task's process crashed")                                                \
    X(GW_ESTART, -18, "a program cannot start")                                                    \
    X(GW_ELOST, -19, "lost with its worker")                                                       \
    X(GW_ELIMIT, -20, "a limit was reached")                                                       \
    X(GW_EMISMATCH, -21, "ranks disagree")                                                         \
    X(GW_ENOTSUP, -22, "not supported")                                                            \
    X(GW_EPERM, -23, "not permitted")                                                              \
    X(GW_EAGAIN, -24, "try again")                                                                 \
    X(GW_EDEPENDENCY, -25, "a task before it failed")                                              \
    X(GW_EACTOR, -26, "its actor has ended")

enum gw_error_code {
    GW_OK = 0,
#define GW_ERROR_ENUM(name, number, text) name = (number),
    GW_ERRORS(GW_ERROR_ENUM)
#undef GW_ERROR_ENUM
};

enum { GW_ERROR_TEXT_MAX = 1024 };

struct gw_error {
    int code;                     /* 0 or a negative GW_E... */
    char text[GW_ERROR_TEXT_MAX]; /* one or more lines, no newline at the end; cut where too long */
};

/* gw_error_name returns the name of a code ("GW_EINVAL"); static; "GW_E?" for an unknown one. */
GW_API const char *gw_error_name(int code);

/* gw_error_text returns what a code means in a few words; static; never NULL. */
GW_API const char *gw_error_text(int code);

/* gw_error_exit_code is what a program exits with: 3 for no scheduler (or one that went away), 2
 * for usage (GW_EINVAL, GW_EINFEASIBLE, GW_ECYCLE, GW_EEXIST, GW_ENOENT, GW_ENOTSUP), 124 for a
 * time-out, 130 for cancelled, else 1; 0 for GW_OK. NULL counts as GW_EIO. */
GW_API int gw_error_exit_code(const struct gw_error *error);

/* gw_error_set writes code and formatted text where error is not NULL and returns code. */
GW_API int gw_error_set(struct gw_error *error, int code, const char *format, ...) GW_PRINTF(3, 4);

/* gw_error_set_v is gw_error_set with a va_list. */
GW_API int gw_error_set_v(struct gw_error *error, int code, const char *format, va_list args)
    GW_PRINTF(3, 0);

/* gw_error_prefix puts a formatted text and ": " before the text that is there; returns the code.
 */
GW_API int gw_error_prefix(struct gw_error *error, const char *format, ...) GW_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
