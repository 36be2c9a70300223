/* The messages and connections of a server that get a line in the audit log
 * (scheduler/store/audit.h): requests of clients that change something, when they are answered;
 * workers that join and leave; refused peers; changes of the token file. All functions do nothing
 * if `audit` is NULL. */
#ifndef GW_SCHEDULER_NET_SERVER_AUDIT_H
#define GW_SCHEDULER_NET_SERVER_AUDIT_H

#include "graph/wire/message.h"
#include "graph/wire/token_file.h"

struct gw_connection;
struct gw_server_audit;

/* gw_server_audit_open opens the log: see gw_audit_open. gw_server_audit_close closes it; NULL is
 * accepted. gw_server_audit_limit: see gw_audit_limit. */
int gw_server_audit_open(const char *path, uint64_t bytes_max, struct gw_server_audit **audit,
                         struct gw_error *error);
void gw_server_audit_limit(struct gw_server_audit *audit, uint64_t bytes_max);
void gw_server_audit_close(struct gw_server_audit *audit);

/* gw_server_audit_request notes a message that the core has accepted. */
void gw_server_audit_request(struct gw_server_audit *audit, const struct gw_connection *connection,
                             const struct gw_message *message);

/* gw_server_audit_answer writes the line of a request when its answer is sent. */
void gw_server_audit_answer(struct gw_server_audit *audit, const struct gw_connection *connection,
                            const struct gw_message *message);

/* gw_server_audit_refused writes the line of a refused peer or message. */
void gw_server_audit_refused(const struct gw_server_audit *audit,
                             const struct gw_connection *connection, const struct gw_error *error);

/* gw_server_audit_lost writes the lines of a closed connection: why it was refused, that its worker
 * left, and its requests without an answer. */
void gw_server_audit_lost(struct gw_server_audit *audit, const struct gw_connection *connection,
                          const struct gw_error *error);

/* gw_server_audit_on_tokens writes a line for each token that differs between two versions of the
 * token file. arg: the server. */
void gw_server_audit_on_tokens(const struct gw_token_file *before, const struct gw_token_file *now,
                               void *arg);

#endif
