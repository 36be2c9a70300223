/* Options of a server (server.h). */
#ifndef GW_SCHEDULER_NET_SERVER_OPTIONS_H
#define GW_SCHEDULER_NET_SERVER_OPTIONS_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_server_options {
    const char *dir;     /* cluster folder with scheduler.sock; borrowed during the call */
    const char *sockets; /* folder of the socket, with a link in dir; or NULL; borrowed */
    const char *state;   /* state folder; NULL: the state is only in memory; borrowed */
    bool accept_loss;    /* if the state is damaged, move it aside and begin with an empty one */
    uint64_t files_bytes_max;         /* limit of files that clients send; 0: the default */
    uint32_t history_jobs;            /* ended jobs in the history; 0: the default */
    uint64_t pure_bytes_max;          /* limit of kept results of pure tasks; 0: the default */
    uint64_t scattered_bytes_max;     /* limit of scattered values; 0: no limit */
    const char *accounting;           /* file of the accounting; NULL: none; borrowed */
    uint64_t accounting_retention_ns; /* 0: never removes a row */
    const char *listen;               /* HOST:PORT for TLS; NULL: unix socket only; borrowed */
    const char *tokens;               /* token file, if `listen` is set; borrowed */
    const char *audit;                /* path of the audit log; NULL: none; borrowed */
    uint64_t audit_bytes_max;         /* see gw_audit_open */
    /* Callbacks, called on the loop's thread with `arg`. */
    void (*on_worker)(uint32_t workers, void *arg); /* number of workers that take part */
    void (*on_exit)(void *arg);                     /* the core has ended all work */
    /* An admin asks to read the configuration file again: answer by gw_server_effects_reloaded. */
    void (*on_reload)(uint64_t peer, uint64_t request, void *arg);
    /* The state lacks facts that workers know: close the server, and do nothing else. */
    void (*on_damaged)(const struct gw_error *error, void *arg);
    void *arg;
};

#endif
