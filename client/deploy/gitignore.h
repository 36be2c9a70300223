/* Lists the files of a folder that git does not ignore. --ship uses it for folders in a git
 * repository or with a .gitignore. */
#ifndef GW_CLIENT_GITIGNORE_H
#define GW_CLIENT_GITIGNORE_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>

struct gw_gitignore {
    bool decides; /* true: git decides which files count. false: all files count, because there is
                     no repository, git ignores the whole folder, or git is not installed */
    char *text;   /* owned: names below the folder, each ended by a NUL; "x/" is a folder that is a
                     repository itself */
    size_t bytes;
};

/* gw_gitignore_init runs git from PATH. It lists tracked files, and files that are neither tracked
 * nor ignored. If git is not installed and the folder needs it, all files count, and a warning is
 * printed on standard error. Errors, with text: GW_EIO: git failed, and its message is on standard
 * error; GW_ENOMEM. */
int gw_gitignore_init(struct gw_gitignore *list, const char *folder, struct gw_error *error);
void gw_gitignore_deinit(struct gw_gitignore *list);

/* gw_gitignore_next returns the name at offset *at and advances *at. It returns NULL after the last
 * name. */
const char *gw_gitignore_next(const struct gw_gitignore *list, size_t *at);

#endif
