/* Calls: a request to the scheduler, and its one answer. */
#ifndef GW_CLIENT_RPC_H
#define GW_CLIENT_RPC_H

#include "client/link/client.h"

/* Request numbers for the hello and program messages. gw_rpc_open never gives out these numbers. */
#define GW_REQUEST_HELLO UINT64_C(0)
#define GW_REQUEST_PROGRAM UINT64_MAX

/* A request for whose answer a thread waits. The struct is usually on the stack of that thread. The
 * answer is an accepted, rejected, held, reply, object, log_data, replicated, synced,
 * tunnel_opened, welcome or program_ready message, which is copied into this struct. */
struct gw_rpc {
    struct gw_waiter waiter;
    uint64_t request;
    struct gw_error error; /* code 0: the request succeeded, and the text is that of log_data */
    uint64_t number;       /* accepted: job; object: bytes; log_data: attempt */
    uint64_t offset;       /* log_data */
    uint64_t left_out;     /* log_data */
    uint64_t time_ns;      /* log_data */
    bool end;              /* log_data */
    bool known;            /* of accepted: the job was submitted before with the same key */
    uint8_t *body;         /* the bytes of the answer, owned; NULL if it has none */
    size_t body_bytes;
    int fd; /* descriptor of the answer, or -1 */
    /* Called with the client's lock held when the answer arrives or the connection ends; or NULL.
     */
    void (*on_answer)(struct gw_rpc *call, void *arg);
    void *arg;
};

/* gw_rpc_expect registers a call whose request is sent by other means. */
int gw_rpc_expect(struct gw_rpc *call, struct gw_client *client);

/* gw_rpc_open prepares a call and gives it a request number. gw_rpc_send registers the call and
 * sends the message, with a descriptor (taken) or -1. gw_rpc_wait blocks for the answer and returns
 * its code, GW_ETIMEDOUT or GW_ECLOSED. gw_rpc_close unregisters the call and frees the contents of
 * the answer; to keep them, set `body` to NULL or `fd` to -1 before. gw_rpc_exchange sends a
 * message without a descriptor and waits. If the message cannot be sent, it also sets *error. */
void gw_rpc_open(struct gw_rpc *call, struct gw_client *client);
int gw_rpc_send(struct gw_rpc *call, struct gw_client *client, struct gw_message *message, int fd);
int gw_rpc_exchange(struct gw_rpc *call, struct gw_client *client, struct gw_message *message,
                    uint64_t timeout_ns, struct gw_error *error);
int gw_rpc_wait(struct gw_rpc *call, struct gw_client *client, uint64_t timeout_ns,
                struct gw_error *error);
void gw_rpc_close(struct gw_rpc *call, struct gw_client *client);

/* gw_rpc_decode returns the value in the answer (the caller unrefs it), or nil if the answer has
 * none. */
int gw_rpc_decode(const struct gw_rpc *call, struct gw_value **value, struct gw_error *error);

/* gw_rpc_read_end reads the answer to a `wait` request: the job's code, text and exit code. */
int gw_rpc_read_end(const struct gw_rpc *call, int *exit_code, struct gw_error *error);

/* gw_rpc_answer completes the call to which a message is the answer, and takes the descriptors. It
 * returns false if no thread waits for this answer. gw_rpc_fail_all fails all calls because the
 * connection has ended. The client's lock is held in both. */
bool gw_rpc_answer(struct gw_client *client, const struct gw_message *message, const int *fds,
                   uint8_t fd_count);
void gw_rpc_fail_all(struct gw_client *client);

#endif
