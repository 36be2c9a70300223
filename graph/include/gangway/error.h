/* Error codes and error texts. A function that can fail returns 0 (or a positive result) on success
 * and one of the negative codes below on failure.
 *
 * A `struct gw_error *` is the last parameter of a function. It may be NULL. If it is not NULL, a
 * function that fails writes the code and a text for people into it. A gw_error needs no cleanup.
 * The functions in this header do not block. Any thread may call them, if no other thread uses the
 * same gw_error. */
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

/* Each entry of this list is an error code with its name, its number and its meaning. Processes
 * send these numbers to each other: never change the number of a code, nor use it for another
 * code. */
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
    X(GW_EACTOR, -26, "its actor has ended")                                                       \
    X(GW_EDEVICE, -27, "a GPU failed")                                                             \
    X(GW_ENOTFINITE, -28, "a number is not finite")

enum gw_error_code {
    GW_OK = 0,
#define GW_ERROR_ENUM(name, number, text) name = (number),
    GW_ERRORS(GW_ERROR_ENUM)
#undef GW_ERROR_ENUM
};

enum { GW_ERROR_TEXT_MAX = 1024 };

struct gw_error {
    int code;                     /* GW_OK or a negative code */
    char text[GW_ERROR_TEXT_MAX]; /* the text of the error: one or more lines, without a newline at
                                     the end; a text that does not fit is cut */
};

/* gw_error_name returns the name of a code, for example "GW_EINVAL", or "GW_E?" for an unknown
 * code. The string is static. */
GW_API const char *gw_error_name(int code);

/* gw_error_text returns the meaning of a code in a few words. The string is static and never NULL.
 */
GW_API const char *gw_error_text(int code);

/* gw_error_exit_code returns the exit status of a program that ends with this error: 0 for GW_OK; 2
 * for usage errors (GW_EINVAL, GW_EINFEASIBLE, GW_ECYCLE, GW_EEXIST, GW_ENOENT, GW_ENOTSUP); 3 if
 * there is no scheduler or the connection to it was closed; 124 for a timeout; 130 for cancelled; 1
 * for all other errors. NULL counts as GW_EIO. */
GW_API int gw_error_exit_code(const struct gw_error *error);

/* gw_error_set writes the code and a formatted text to error, if error is not NULL. It returns
 * code. */
GW_API int gw_error_set(struct gw_error *error, int code, const char *format, ...) GW_PRINTF(3, 4);

/* gw_error_set_v is gw_error_set with a va_list. */
GW_API int gw_error_set_v(struct gw_error *error, int code, const char *format, va_list args)
    GW_PRINTF(3, 0);

/* gw_error_prefix inserts a formatted text and ": " before the text of the error. It returns the
 * error's code. */
GW_API int gw_error_prefix(struct gw_error *error, const char *format, ...) GW_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
