/* The audit log: a file of JSON lines that says who did what in a cluster, from where, and with
 * which outcome. It contains no secrets, arguments or environments.
 *
 * A thread appends the lines. The file is renamed to PATH.1 when it would exceed its limit. If
 * another program (logrotate) renames or removes the file, the next line begins a new file. If the
 * file cannot be written, the log says so once, lines are retained up to a limit and written later,
 * and the first line after that says how many were lost. */
#ifndef GW_SCHEDULER_STORE_AUDIT_H
#define GW_SCHEDULER_STORE_AUDIT_H

#include <gangway/error.h>
#include <stdint.h>

struct gw_audit;

#define GW_AUDIT_BYTES_MAX (UINT64_C(64) << 20) /* default limit of the file */

/* One act. All texts are borrowed during the call; NULL or empty: the line lacks the field. */
struct gw_audit_act {
    const char *what;       /* "submit", "cancel", ... */
    const char *user;       /* who */
    const char *token;      /* id of the token by which the peer authenticated */
    const char *from;       /* address, or process of this host */
    const char *object;     /* what it was done to, if that is not a job */
    uint64_t job, last_job; /* 0: none; last_job: the last one of several, or 0 */
    uint32_t task;          /* UINT32_MAX: the whole job */
    int code;               /* 0, or a negative GW_E... */
    const char *text;       /* the error */
};

/* gw_audit_open opens the file for appending, with mode 0600 if it creates the file, and starts the
 * thread. bytes_max: 0 means GW_AUDIT_BYTES_MAX, UINT64_MAX no limit. Returns GW_EIO with a text.
 */
int gw_audit_open(const char *path, uint64_t bytes_max, struct gw_audit **audit,
                  struct gw_error *error);

/* gw_audit_limit changes bytes_max, for the next line. */
void gw_audit_limit(struct gw_audit *audit, uint64_t bytes_max);

/* gw_audit_add queues a line. It never blocks on the file. Successful submissions of consecutive
 * jobs by the same peer within 200 ms become one line with the first and the last job. Acts with
 * an error that nobody can be blamed for by name (`user` is empty) become at most 10 lines a
 * second; further ones are counted in a line of their own. */
void gw_audit_add(struct gw_audit *audit, const struct gw_audit_act *act);

/* gw_audit_close writes the queued lines, tries once if the file fails, and frees the audit log.
 * NULL is accepted. */
void gw_audit_close(struct gw_audit *audit);

#endif
