/* The configuration file of an admin, in the format of libconfig. A group has the name of a daemon,
 * and each key in it is the name of an option of that daemon:
 *
 *     scheduler = { listen = "10.0.0.1:7117"; history = 20000; };
 *     worker = { connect = "10.0.0.1:7117"; slots = 8; };
 *     policy = { default-account = "guests"; };
 *     accounts = ( { name = "guests"; shares = 1; } );
 *     queues = ( { name = "night"; priority = -10; } );
 *
 * There is no other list of keys than the tables of options. */
#ifndef GW_CLI_CONFIG_FILE_H
#define GW_CLI_CONFIG_FILE_H

#include <gangway/error.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_CONFIG_FILE_PATH "/etc/gangway/gangway.conf"

struct gw_option;
struct gw_config_file;

/* A group of the file, and the options that its values are stored in. All is borrowed. */
struct gw_config_group {
    const char *name;
    const struct gw_option *rows;   /* without GW_OPTION_ROWS; ends with a NULL name */
    const char *const *typed;       /* for each row: not NULL if the command line has a value, which
                                       wins over that of the file */
    const char *const *not_in_file; /* names of options that a file may not have; or NULL */
};

/* gw_config_file_open reads a file and checks its syntax and the names of its groups. The caller
 * owns *file. gw_config_file_close accepts NULL. GW_ENOENT: there is no such file; GW_EINVAL, with
 * "PATH:LINE: reason"; GW_EIO. */
int gw_config_file_open(const char *path, struct gw_config_file **file, struct gw_error *error);
void gw_config_file_close(struct gw_config_file *file);

/* gw_config_file_apply checks all keys and values of a group and stores the values. Options borrow
 * texts from `file`. A file without the group changes nothing. GW_EINVAL, with "PATH:LINE: reason".
 */
int gw_config_file_apply(struct gw_config_file *file, const struct gw_config_group *group,
                         struct gw_error *error);

/* gw_config_file_count returns the number of groups in a list, for example "accounts".
 * gw_config_file_apply_item does the same as gw_config_file_apply for one of them. Its group needs
 * no `typed`. */
uint32_t gw_config_file_count(const struct gw_config_file *file, const char *list);
int gw_config_file_apply_item(struct gw_config_file *file, const struct gw_config_group *group,
                              uint32_t i, struct gw_error *error);

/* gw_config_file_has returns true if the file has this group or list. */
bool gw_config_file_has(const struct gw_config_file *file, const char *group);

/* gw_config_file_where writes "PATH:LINE" of a group, or of a group in a list. */
void gw_config_file_where(const struct gw_config_file *file, const char *group, uint32_t i,
                          char where[static PATH_MAX + 32]);

/* gw_config_file_find returns the value of an option as a text, and writes "PATH:LINE". It returns
 * NULL if the file does not have the option. The text is borrowed until the next call. */
const char *gw_config_file_find(struct gw_config_file *file, const char *group, const char *option,
                                char where[static PATH_MAX + 32]);

/* gw_config_file_is_flag_only returns true if `option` is in the list, which may be NULL. */
bool gw_config_file_is_flag_only(const char *option, const char *const *not_in_file);

#endif
