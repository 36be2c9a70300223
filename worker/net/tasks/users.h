/* Separate users: each has a supervisor and an agent for files of its own, which the launcher
 * (worker/launcher) starts as its Unix user. Without --separate-users, all functions do nothing,
 * and the worker's own supervisor serves everybody.
 *
 * The processes of a user are not trusted: their supervisor may report only about processes that it
 * was given. */
#ifndef GW_NET_USERS_H
#define GW_NET_USERS_H

#include "worker/net/link/state.h"

/* gw_users_check returns GW_EIO, with what to do, if users are separate and there is no launcher.
 */
int gw_users_check(const struct gw_host *host, struct gw_error *error);
void gw_users_free(struct gw_host *host);

/* gw_users_folder_named returns the folder of a user by the name that the scheduler gave. It starts
 * the user's supervisor and agent if they do not run, which blocks for at most some seconds. If
 * they cannot be started, the folder is one that gw_users_refused knows. "": users are not
 * separate. Borrowed until the next call. */
const char *gw_users_folder_named(struct gw_host *host, const char *name);

/* gw_users_refused returns a negative code, and sets the error, if `folder` (of these many bytes)
 * belongs to a user who cannot run anything here. */
int gw_users_refused(const struct gw_host *host, const char *folder, size_t bytes,
                     struct gw_error *error);

/* gw_users_begin notes that a process is about to start, and of which user it is. It returns NULL,
 * or why the user cannot run anything here. The text lives as long as the host. */
const char *gw_users_begin(struct gw_host *host, const struct gw_msg_spawn *spawn);

/* gw_users_join notes that a process is about to start beside another one of the same user, or, if
 * `beside` is 0, in a folder of the user who has `folder`. It returns the connection to the
 * supervisor that starts it, or NULL if that does not run. */
struct gw_host_link *gw_users_join(struct gw_host *host, uint64_t process, uint64_t beside,
                                   const char *folder);

/* gw_users_folder_of returns the folder of the user of a process, or "". gw_users_supervisor
 * returns the connection to the supervisor that has a process, or NULL if it has ended. */
const char *gw_users_folder_of(const struct gw_host *host, uint64_t process);
struct gw_host_link *gw_users_supervisor(const struct gw_host *host, uint64_t process);

/* gw_users_pid returns the pid that a supervisor reports for a process, or 0 if it is not a process
 * of the user: a supervisor that a user has taken over must not have the worker look at others. */
pid_t gw_users_pid(const struct gw_host *host, const struct gw_msg_spawned *spawned);

/* gw_users_may_connect returns true if the process at the other end of a unix socket is of the user
 * of a process (0: of any user of this worker), or users are not separate. */
bool gw_users_may_connect(const struct gw_host *host, int fd, uint64_t process);

/* gw_users_beat sends heartbeats to all supervisors of users, and has those killed that have not
 * answered for 15 s. gw_users_on_answer notes an answer. */
void gw_users_beat(struct gw_host *host);
void gw_users_on_answer(const struct gw_host *host, const struct gw_host_link *link);

/* gw_users_on_message returns false if the supervisor of a user may not send this message.
 * gw_users_on_gone returns the processes that such a supervisor had, one at a time, as the message
 * that it owes. It returns false after the last one. */
bool gw_users_on_message(struct gw_host *host, const struct gw_host_link *link,
                         const struct gw_message *message);
bool gw_users_on_gone(struct gw_host *host, const struct gw_host_link *link,
                      struct gw_message *message);

#endif
