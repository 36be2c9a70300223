/* Tokens: what users, workers and admins of a cluster with a TCP address prove themselves by.
 *
 * A token is an id (public, the identity of a TLS key), a role, a user's name and a secret of its
 * own. */
#ifndef GW_WIRE_TOKEN_H
#define GW_WIRE_TOKEN_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_TOKEN_ID_BYTES = 13, /* with the final 0; hexadecimal */
    GW_TOKEN_USER_MAX = 32, /* characters */
    GW_TOKEN_SECRET_BYTES = 32,
    GW_TOKEN_TEXT_BYTES = 96, /* of gw_token_format, with the final 0 */
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

/* gw_token_is_user and gw_token_is_id tell whether a text may be a user's name, or a token's id. */
bool gw_token_is_user(const char *user);
bool gw_token_is_id(const char *id);

#endif
