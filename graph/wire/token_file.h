/* Tokens: what users, workers and admins of a cluster with a TCP address prove themselves by.
 *
 * A token is an id (public, the identity of a TLS key), a role, a user's name and a secret of its
 * own. The scheduler's token file holds all of them; each machine holds the text of its own. */
#ifndef GW_WIRE_TOKEN_FILE_H
#define GW_WIRE_TOKEN_FILE_H

#include "graph/base/array.h"

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_TOKEN_ID_BYTES = 13, /* with the final 0; hexadecimal */
    GW_TOKEN_USER_MAX = 32, /* characters */
    GW_TOKEN_SECRET_BYTES = 32,
    GW_TOKEN_TEXT_BYTES = 96, /* of gw_token_format, with the final 0 */
    GW_TOKENS_MAX = 10000,    /* of a file */
};

enum gw_token_role {
    GW_TOKEN_USER,   /* acts on jobs of the user's own */
    GW_TOKEN_WORKER, /* runs what it is told */
    GW_TOKEN_ADMIN,  /* acts on all jobs, and ends the cluster */
    GW_TOKEN_ROLES,
};

struct gw_token {
    char id[GW_TOKEN_ID_BYTES];
    enum gw_token_role role;
    char user[GW_TOKEN_USER_MAX + 1];
    uint64_t created_s; /* of the wall clock */
    uint8_t secret[GW_TOKEN_SECRET_BYTES];
};

struct gw_token_file {
    GW_ARRAY(struct gw_token) tokens;
};

/* gw_token_role_name is "user", "worker" or "admin"; gw_token_role_parse reads it: 0 or GW_EINVAL
 * with a text. */
const char *gw_token_role_name(enum gw_token_role role);
int gw_token_role_parse(const char *text, enum gw_token_role *role, struct gw_error *error);

/* gw_token_make makes a token with a new id and secret. GW_EINVAL for a user's name that is none
 * (letters, digits, '.', '_' and '-', a letter or digit first), GW_EIO without random numbers. */
int gw_token_make(const char *user, enum gw_token_role role, uint64_t now_s, struct gw_token *token,
                  struct gw_error *error);

/* gw_token_number gives the number that stands for a user's name, or a worker's token id, in
 * messages and jobs: always the same, and none that a user of this machine has (2^31 and above).
 * gw_token_file_add refuses a user whose number is another's. */
uint32_t gw_token_number(const char *name);

/* gw_token_format writes what is carried to the other machine: id and secret. gw_token_parse reads
 * it, white space around it is passed over; *token has no user then. GW_EINVAL with a text that
 * never shows the secret. */
void gw_token_format(const struct gw_token *token, char text[GW_TOKEN_TEXT_BYTES]);
int gw_token_parse(const char *text, struct gw_token *token, struct gw_error *error);

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

/* gw_token_mine gives this machine's own token: $GANGWAY_TOKEN, else the file that
 * $GANGWAY_TOKEN_FILE names, else "token" beside gw_token_file_default (where gw_token_keep writes
 * it, mode 0600). GW_ENOENT, GW_EPERM, GW_EINVAL, GW_EIO; the texts say what to do. */
int gw_token_mine(struct gw_token *token, struct gw_error *error);
int gw_token_keep(const struct gw_token *token, char path[PATH_MAX], struct gw_error *error);

#endif
