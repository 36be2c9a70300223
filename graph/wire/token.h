/* Tokens: the credentials of users, workers and admins of a cluster with a TCP address.
 *
 * A token has an id (public; it is the identity of a TLS key), a role, the name of a user, and a
 * secret. */
#ifndef GW_WIRE_TOKEN_H
#define GW_WIRE_TOKEN_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_TOKEN_ID_BYTES = 13, /* hexadecimal, with the terminating NUL */
    GW_TOKEN_USER_MAX = 32, /* characters */
    GW_TOKEN_SECRET_BYTES = 32,
    GW_TOKEN_TEXT_BYTES = 96, /* size of the text of gw_token_format, with the terminating NUL */
};

/* User of the token for workers that `gangway up --hosts` starts. They belong to the user of the
 * scheduler. */
#define GW_TOKEN_USER_HOSTS "up-hosts"

enum gw_token_role {
    GW_TOKEN_USER,   /* may act on the user's own jobs */
    GW_TOKEN_WORKER, /* may run tasks */
    GW_TOKEN_ADMIN,  /* may act on all jobs and shut down the cluster */
    GW_TOKEN_ROLES,
};

struct gw_token {
    char id[GW_TOKEN_ID_BYTES];
    enum gw_token_role role;
    char user[GW_TOKEN_USER_MAX + 1];
    uint64_t created_s; /* wall clock, seconds since 1970 */
    uint8_t secret[GW_TOKEN_SECRET_BYTES];
};

/* gw_token_role_name returns "user", "worker" or "admin". gw_token_role_parse parses such a name.
 * It returns 0, or GW_EINVAL with a text. */
const char *gw_token_role_name(enum gw_token_role role);
int gw_token_role_parse(const char *text, enum gw_token_role *role, struct gw_error *error);

/* gw_token_make makes a token with a new id and secret. Returns GW_EINVAL if the name of the user
 * is invalid (allowed are letters, digits, '.', '_' and '-', beginning with a letter or a digit),
 * and GW_EIO if no random numbers are available. */
int gw_token_make(const char *user, enum gw_token_role role, uint64_t now_s, struct gw_token *token,
                  struct gw_error *error);

/* gw_token_number returns the number that represents a user's name, or the id of a worker's token,
 * in messages and jobs. The same name always gives the same number. The numbers are 2^31 and above,
 * which no user id of the machine has. gw_token_file_add refuses a user whose number equals that of
 * another user. */
uint32_t gw_token_number(const char *name);

/* gw_token_format writes the text of a token that is copied to another machine: id and secret.
 * gw_token_parse parses it and ignores white space around it; the resulting *token has no user
 * name. Returns GW_EINVAL with a text that never contains the secret. */
void gw_token_format(const struct gw_token *token, char text[GW_TOKEN_TEXT_BYTES]);
int gw_token_parse(const char *text, struct gw_token *token, struct gw_error *error);

/* gw_token_is_user and gw_token_is_id return true if a text is a valid user name or token id. */
bool gw_token_is_user(const char *user);
bool gw_token_is_id(const char *id);

#endif
