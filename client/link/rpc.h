/* Calls: a question to the scheduler, and its one answer. */
#ifndef GW_CLIENT_RPC_H
#define GW_CLIENT_RPC_H

#include "client/link/client.h"

/* Requests that no counter gives out. */
#define GW_REQUEST_HELLO UINT64_C(0)
#define GW_REQUEST_PROGRAM UINT64_MAX

/* A question that a thread of the caller's waits on; it lies on that thread's stack. The answer is
 * an accepted, rejected, reply, object, log_data or program_ready message, copied in here. */
struct gw_rpc {
    struct gw_waiter waiter;
    uint64_t request;
    struct gw_error error; /* code 0: answered well, and the text is what log_data adds */
    uint64_t number;       /* accepted: job; object: bytes; log_data: attempt */
    uint64_t offset;       /* log_data */
    uint64_t left_out;     /* log_data */
    bool end;              /* log_data */
    bool known;            /* accepted: before, with the same key */
    uint8_t *body;         /* the blob of the answer, owned; NULL when it is empty */
    size_t body_bytes;
    int fd; /* of the answer, or -1 */
    /* Called with the lock held when it is answered, and when the connection ends; or NULL. */
    void (*on_answer)(struct gw_rpc *call, void *arg);
    void *arg;
};

/* gw_rpc_expect registers a call whose question somebody else has asked, or will. */
int gw_rpc_expect(struct gw_rpc *call, struct gw_client *client);

/* gw_rpc_open prepares a call, gives it a request number and registers it; gw_rpc_send puts the
 * message (with its descriptor, taken, or -1); gw_rpc_wait blocks for the answer and gives its
 * code, GW_ETIMEDOUT, or GW_ECLOSED; gw_rpc_close unregisters and frees what the answer brought
 * (set body to NULL or fd to -1 to keep them). gw_rpc_exchange sends, without a descriptor, and
 * waits: it writes into error, too, why a message could not be sent. */
void gw_rpc_open(struct gw_rpc *call, struct gw_client *client);
int gw_rpc_send(struct gw_rpc *call, struct gw_client *client, struct gw_message *message, int fd);
int gw_rpc_exchange(struct gw_rpc *call, struct gw_client *client, struct gw_message *message,
                    uint64_t timeout_ns, struct gw_error *error);
int gw_rpc_wait(struct gw_rpc *call, struct gw_client *client, uint64_t timeout_ns,
                struct gw_error *error);
void gw_rpc_close(struct gw_rpc *call, struct gw_client *client);

/* gw_rpc_decode gives what came with the answer, to be unref'd; nil where nothing did. */
int gw_rpc_decode(const struct gw_rpc *call, struct gw_value **value, struct gw_error *error);

/* gw_rpc_read_end reads the answer to a wait: the job's code and text, and its exit code. */
int gw_rpc_read_end(const struct gw_rpc *call, int *exit_code, struct gw_error *error);

/* gw_rpc_answer completes the call that a message answers (fds: taken); false when nobody waits
 * for it. gw_rpc_fail_all ends all calls. The lock is held. */
bool gw_rpc_answer(struct gw_client *client, const struct gw_message *message, const int *fds,
                   uint8_t fd_count);
void gw_rpc_fail_all(struct gw_client *client);

#endif
