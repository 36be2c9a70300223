/* The policy of a cluster in the configuration file: accounts, queues, and how usage is counted. */
#ifndef GW_CLI_POLICY_FILE_H
#define GW_CLI_POLICY_FILE_H

#include "scheduler/core/model/account_config.h"

struct gw_config_file;

struct gw_policy_file {
    struct gw_cluster_policy policy; /* account_count 0: the file has no policy */
    struct gw_account_config *accounts;
    struct gw_queue_config *queues;
    const char **texts[2 * (GW_ACCOUNTS_MAX + GW_QUEUES_MAX)]; /* lists of names */
    uint32_t text_count;
};

/* gw_policy_file_read reads and checks the policy. Its texts are borrowed from `file`. The caller
 * frees *policy with gw_policy_file_free. GW_EINVAL, with "PATH:LINE: reason"; GW_ENOMEM. */
int gw_policy_file_read(struct gw_config_file *file, struct gw_policy_file **policy,
                        struct gw_error *error);
void gw_policy_file_free(struct gw_policy_file *policy);

#endif
