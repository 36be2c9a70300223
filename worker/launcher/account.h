/* Unix accounts whom the launcher may start. */
#ifndef GW_LAUNCHER_ACCOUNT_H
#define GW_LAUNCHER_ACCOUNT_H

#include <gangway/error.h>

#include <stdbool.h>
#include <sys/types.h>

enum { GW_ACCOUNT_GROUPS_MAX = 1024, GW_ACCOUNT_TEXT_MAX = 1024 };

struct gw_account {
    uid_t uid;
    gid_t gid, groups[GW_ACCOUNT_GROUPS_MAX];
    int group_count;
    mode_t umask;
    char name[GW_ACCOUNT_TEXT_MAX], home[GW_ACCOUNT_TEXT_MAX], shell[GW_ACCOUNT_TEXT_MAX];
};

/* gw_account_find looks a user up in the system's databases. It refuses (GW_EPERM) uid 0 and gid 0,
 * also among the further groups, uids below UID_MIN of login.defs (1000 if it has none), and the
 * user of the worker. Returns GW_ENOENT if there is no such user. May block, since the databases
 * may be on the network. */
int gw_account_find(const char *name, struct gw_account *account, struct gw_error *error);

/* gw_account_is_member returns true if the group is the user's first group or has the user as a
 * member. */
bool gw_account_is_member(const char *user, const char *group);

/* gw_account_limits reads UID_MIN and UMASK in the text of a login.defs. Others keep their value.
 */
void gw_account_limits(const char *text, unsigned long *uid_min, unsigned long *umask);

#endif
