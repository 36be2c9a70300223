/* Token files: the scheduler's holds all tokens; each machine holds the text of its own. */
#ifndef GW_WIRE_TOKEN_FILE_H
#define GW_WIRE_TOKEN_FILE_H

#include "graph/base/array.h"
#include "graph/wire/token.h"

#include <gangway/error.h>
#include <limits.h>

enum { GW_TOKENS_MAX = 10000 }; /* of a file */

struct gw_token_file {
    GW_ARRAY(struct gw_token) tokens;
};

/* gw_token_file_read reads all tokens. GW_ENOENT where there is no such file; GW_EPERM where others
 * may read or write it, or own it; GW_ECORRUPT where it is torn or something else; GW_EIO. The
 * texts say what to do. *file is empty before; gw_token_file_deinit wipes and frees. */
int gw_token_file_read(const char *path, struct gw_token_file *file, struct gw_error *error);
void gw_token_file_deinit(struct gw_token_file *file);

/* gw_token_file_decode reads the contents of a token file. GW_ECORRUPT with a text, GW_ENOMEM. */
int gw_token_file_decode(const char *data, size_t bytes, struct gw_token_file *file,
                         struct gw_error *error);

/* gw_token_file_add appends a token to the file at path (made, with its folder, where it is not
 * there); gw_token_file_revoke takes one out. What others change at the same time is not lost, and
 * who reads sees the file before or after. It is on disk when they return. As
 * gw_token_file_read; also GW_ENOENT: no such token, GW_ELIMIT: too many, GW_EEXIST: another name
 * has the same gw_token_number. */
int gw_token_file_add(const char *path, const struct gw_token *token, struct gw_error *error);
int gw_token_file_revoke(const char *path, const char *id, struct gw_error *error);

/* gw_token_file_find gives the token of an id; NULL: none. */
const struct gw_token *gw_token_file_find(const struct gw_token_file *file, const char *id);

/* gw_token_file_default is where the scheduler's lies: "tokens" in $XDG_CONFIG_HOME/gangway or
 * ~/.config/gangway. GW_EINVAL without a HOME. */
int gw_token_file_default(char path[PATH_MAX], struct gw_error *error);

/* gw_token_file_own gives this machine's own token: $GANGWAY_TOKEN, else the file that
 * $GANGWAY_TOKEN_FILE names, else "token" beside gw_token_file_default (where
 * gw_token_file_write_own writes it, mode 0600). GW_ENOENT, GW_EPERM, GW_EINVAL, GW_EIO; the texts
 * say what to do. */
int gw_token_file_own(struct gw_token *token, struct gw_error *error);
int gw_token_file_write_own(const struct gw_token *token, char path[PATH_MAX],
                            struct gw_error *error);

#endif
