/* Which files of a folder git would have: what --ship takes of a folder inside of a repository, or
 * of one with a .gitignore. */
#ifndef GW_CLIENT_GITIGNORE_H
#define GW_CLIENT_GITIGNORE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct gw_gitignore {
    bool decides; /* false: no repository, or it leaves this folder out as a whole, or there
                     is no git: everything counts */
    char *text;   /* owned: names below the folder, each ended by a NUL, "x/" for a folder
                     that is a repository of its own */
    size_t bytes;
};

/* gw_gitignore_init asks git, which is on PATH, for tracked files and those that are neither
 * tracked nor ignored. Without git, a folder that has something to leave out is taken whole, with a
 * warning on standard error. GW_EIO (git fails: what it says goes to standard error), GW_ENOMEM,
 * with text.
 */
int gw_gitignore_init(struct gw_gitignore *list, const char *folder, struct gw_error *error);
void gw_gitignore_deinit(struct gw_gitignore *list);

/* gw_gitignore_next gives the name at *at and moves behind it; NULL: there are no more. */
const char *gw_gitignore_next(const struct gw_gitignore *list, size_t *at);

#endif
