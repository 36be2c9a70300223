/* Checks the first message of a connection. The message states the role and name of the peer. The
 * identity is proven by the channel: by the kernel for a process of this host, and by the token's
 * key for all others. */
#include "scheduler/net/hello.h"

#include "graph/wire/enums.h"
#include "scheduler/net/connection.h"
#include "scheduler/net/door.h"

#include <gangway/version.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the name of the scheduler's own user, or NULL if it is unknown. The name is looked up
 * only once. */
static const char *own_name(void)
{
    static char name[GW_TOKEN_USER_MAX + 1];
    static bool known;
    const struct passwd *own = known ? NULL : getpwuid(geteuid());
    known = true;
    if (own && strlen(own->pw_name) < sizeof name)
        strcpy(name, own->pw_name);
    return *name ? name : NULL;
}

/* Identifies a process of this host by the uid that the kernel reports. Such a process may do
 * everything that the owner of the cluster may do. */
static int identify_process(struct gw_connection *connection, struct gw_event *event,
                            struct gw_error *error)
{
    struct ucred peer;
    int rc = gw_link_peer(connection->link, &peer);
    if (rc < 0)
        return gw_error_set(error, rc, "cannot find out which user runs the process that connects");
    connection->pid = peer.pid;
    if (peer.uid != geteuid())
        return gw_error_set(error, GW_EPERM,
                            "this cluster belongs to another user: connect by TCP with a token "
                            "that this user gives you");
    event->uid = event->owner = peer.uid;
    event->user = own_name();
    event->admin = true;
    return 0;
}

/* Identifies a TLS peer by its token. The peer may do what the role of the token allows. */
static int identify_token(struct gw_connection *connection, const struct gw_msg_hello *hello,
                          const struct gw_door *door, struct gw_hello *taken,
                          struct gw_error *error)
{
    const struct gw_token *token = gw_door_admit(door, connection->transport);
    if (!token)
        return gw_error_set(error, GW_EPERM, "the token was revoked");
    connection->token = *token;
    (void)snprintf(connection->who, sizeof connection->who, "%s (token %s)", token->user,
                   token->id);
    const bool worker = hello->role != GW_ROLE_CLIENT;
    if (worker != (token->role == GW_TOKEN_WORKER))
        return gw_error_set(error, GW_EPERM,
                            worker
                                ? "token %s has the role %s, which may not run tasks: create a "
                                  "token for workers with `gangway token create --role worker`"
                                : "token %s has the role %s, which may only run tasks: to submit, "
                                  "create a token with `gangway token create --role user`",
                            token->id, gw_token_role_name(token->role));
    taken->event.uid = gw_door_uid(door, token);
    taken->event.owner = gw_door_owner(door, token);
    taken->event.admin = token->role == GW_TOKEN_ADMIN;
    if (!worker) {
        (void)snprintf(taken->name, sizeof taken->name, "%.*s (%s)",
                       GW_HELLO_NAME_BYTES - GW_TOKEN_USER_MAX - 4, hello->name, token->user);
        taken->event.text = taken->name;
        taken->event.user = connection->token.user;
    }
    return 0;
}

/* Checks that a message is an acceptable first message. */
static int check(const struct gw_message *message, struct gw_error *error)
{
    if (message->type != GW_MESSAGE_hello)
        return gw_error_set(error, GW_EPROTO,
                            "the first message must be hello, and it was %s: install one version "
                            "of Gangway on both sides",
                            gw_message_name(message->type));
    const struct gw_msg_hello *hello = &message->hello;
    if (hello->protocol != GW_PROTOCOL_LINK)
        return gw_error_set(error, GW_EVERSION,
                            "this scheduler is Gangway %s (protocol %d), you are %.64s "
                            "(protocol %u): install one version on both sides",
                            GANGWAY_VERSION, GW_PROTOCOL_LINK, hello->version, hello->protocol);
    if (hello->role != GW_ROLE_CLIENT && hello->role != GW_ROLE_WORKER &&
        hello->role != GW_ROLE_TASK)
        return gw_error_set(error, GW_EPROTO,
                            "a peer with the unknown role %u cannot connect to a scheduler: "
                            "install one version of Gangway on both sides",
                            hello->role);
    return 0;
}

int gw_hello_take(struct gw_hello *taken, struct gw_connection *connection,
                  const struct gw_door *door, const struct gw_message *message,
                  struct gw_error *error)
{
    const struct gw_msg_hello *hello = &message->hello;
    int rc = check(message, error);
    if (rc < 0)
        return rc;
    taken->event = (struct gw_event){
        .type = GW_EVENT_OPEN,
        .peer = {connection->id},
        .role = hello->role,
        .text = hello->name,
        .number = hello->attempt,
        .rank = hello->rank,
        .address = connection->address,
    };
    return connection->transport ? identify_token(connection, hello, door, taken, error)
                                 : identify_process(connection, &taken->event, error);
}
