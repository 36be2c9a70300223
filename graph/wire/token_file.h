/* Token files. The scheduler has a file with all tokens. Each machine has a file with its own
 * token. */
#ifndef GW_WIRE_TOKEN_FILE_H
#define GW_WIRE_TOKEN_FILE_H

#include "graph/base/array.h"
#include "graph/wire/token.h"

#include <gangway/error.h>
#include <limits.h>

enum { GW_TOKENS_MAX = 10000 }; /* maximum number of tokens in a file */

struct gw_token_file {
    GW_ARRAY(struct gw_token) tokens;
};

/* gw_token_file_read reads all tokens. Returns GW_ENOENT if the file does not exist; GW_EPERM if
 * other users own it or may read or write it; GW_ECORRUPT if it is truncated or is not a token
 * file; GW_EIO. The error texts say what to do. *file must be empty before the call.
 * gw_token_file_deinit overwrites the secrets and frees the memory. */
int gw_token_file_read(const char *path, struct gw_token_file *file, struct gw_error *error);
void gw_token_file_deinit(struct gw_token_file *file);

/* gw_token_file_decode decodes the content of a token file. Returns GW_ECORRUPT with a text, or
 * GW_ENOMEM. */
int gw_token_file_decode(const char *data, size_t bytes, struct gw_token_file *file,
                         struct gw_error *error);

/* gw_token_file_add adds a token to the file at path. It creates the file and its folder if
 * necessary. gw_token_file_revoke removes a token. Concurrent changes are not lost, and a reader
 * sees the file before or after a change. When the functions return, the change is on disk. They
 * return the errors of gw_token_file_read; GW_ENOENT if the token does not exist; GW_ELIMIT if
 * there are too many tokens; GW_EEXIST if another name has the same gw_token_number. */
int gw_token_file_add(const char *path, const struct gw_token *token, struct gw_error *error);
int gw_token_file_revoke(const char *path, const char *id, struct gw_error *error);

/* gw_token_file_find returns the token with an id, or NULL. */
const struct gw_token *gw_token_file_find(const struct gw_token_file *file, const char *id);

/* gw_token_file_default writes the path of the scheduler's token file: "tokens" in
 * $XDG_CONFIG_HOME/gangway or ~/.config/gangway. Returns GW_EINVAL if HOME is not set. */
int gw_token_file_default(char path[PATH_MAX], struct gw_error *error);

/* gw_token_file_own reads this machine's own token: from $GANGWAY_TOKEN, else from the file named
 * by $GANGWAY_TOKEN_FILE, else from the file "token" in the folder of gw_token_file_default, else,
 * if it belongs to this user, from /etc/gangway/token.
 * gw_token_file_write_own writes this last file, with mode 0600. They return GW_ENOENT, GW_EPERM,
 * GW_EINVAL or GW_EIO; the error texts say what to do. */
int gw_token_file_own(struct gw_token *token, struct gw_error *error);
int gw_token_file_write_own(const struct gw_token *token, char path[PATH_MAX],
                            struct gw_error *error);

#endif
