/* Reads the configuration file with libconfig, which knows the line of each value. */
#include "client/cli/lib/config_file.h"

#include "client/cli/lib/nearest.h"
#include "client/cli/lib/option.h"
#include "client/cli/lib/option_value.h"
#include "client/cli/lib/units.h"

#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a number. Options may borrow it. */
struct number {
    struct number *next;
    char text[32];
};

struct gw_config_file {
    config_t config;
    char path[PATH_MAX];
    struct number *numbers;
};

#define WHOLE_NUMBER "a whole number"
enum { FILE_BYTES_MAX = 1 << 20 };

/* Names that the file may have, and the lists among them. */
static const char *const groups[] = {"scheduler", "worker", "policy", "accounts", "queues", NULL};

static bool is_list(const char *name)
{
    return strcmp(name, "accounts") == 0 || strcmp(name, "queues") == 0;
}

/* Writes "PATH:LINE". */
static void place_of(const struct gw_config_file *file, const config_setting_t *setting,
                     char where[static PATH_MAX + 32])
{
    (void)snprintf(where, PATH_MAX + 32, "%s:%u", file->path, config_setting_source_line(setting));
}

static int refuse(const struct gw_config_file *file, const config_setting_t *setting,
                  struct gw_error *error, const char *format, ...) GW_PRINTF(4, 5);

static int refuse(const struct gw_config_file *file, const config_setting_t *setting,
                  struct gw_error *error, const char *format, ...)
{
    char where[PATH_MAX + 32], text[GW_ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    place_of(file, setting, where);
    return gw_error_set(error, GW_EINVAL, "%s: %s", where, text);
}

static const char *next_name(void *arg, size_t i)
{
    const char *const *names = arg;
    return names[i];
}

static const char *next_row(void *arg, size_t i)
{
    const struct gw_option *rows = arg;
    return rows[i].name;
}

static int check_groups(const struct gw_config_file *file, struct gw_error *error)
{
    const config_setting_t *root = config_root_setting(&file->config);
    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
        const char *name = config_setting_name(setting);
        size_t at = 0;
        while (groups[at] && strcmp(groups[at], name) != 0)
            at++;
        const char *nearest =
            groups[at] ? NULL : gw_nearest_word(name, next_name, (void *)(uintptr_t)groups);
        if (!groups[at] && nearest)
            return refuse(file, setting, error, "unknown group %.64s, did you mean %s?", name,
                          nearest);
        if (!groups[at])
            return refuse(file, setting, error,
                          "unknown group %.64s: there are scheduler, worker, policy, accounts and "
                          "queues",
                          name);
        if (is_list(name) && !config_setting_is_list(setting))
            return refuse(file, setting, error,
                          "%s must be a list of groups: %s = ( { name = \"NAME\"; }, ... );", name,
                          name);
        if (!is_list(name) && !config_setting_is_group(setting))
            return refuse(file, setting, error, "%s must be a group: %s = { OPTION = VALUE; };",
                          name, name);
    }
    return 0;
}

/* Reads a whole file. *text is NUL-terminated and belongs to the caller. */
static int read_text(const char *path, char **text, struct gw_error *error)
{
    FILE *stream = fopen(path, "re");
    char *read = malloc(FILE_BYTES_MAX + 2);
    const size_t bytes = stream && read ? fread(read, 1, FILE_BYTES_MAX + 1, stream) : 0;
    int rc = 0;
    if (!read)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    else if (!stream || ferror(stream))
        rc = gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "%s: %s", path,
                          strerror(errno));
    else if (bytes > FILE_BYTES_MAX || memchr(read, 0, bytes))
        rc = gw_error_set(error, GW_EINVAL, "%s: not a configuration file: %s", path,
                          bytes > FILE_BYTES_MAX ? "it is larger than 1 MiB" : "it has a NUL byte");
    if (stream)
        (void)fclose(stream);
    if (rc < 0) {
        free(read);
        return rc;
    }
    read[bytes] = '\0';
    *text = read;
    return 0;
}

/* Returns what is at this place of the text: a string or a comment as a whole, a word, or one
 * character. */
static size_t token_at(const char *at)
{
    size_t length = 1;
    if (*at == '"') {
        while (at[length] && at[length] != '"')
            length += at[length] == '\\' && at[length + 1] ? 2 : 1;
        return length + (at[length] != '\0');
    }
    if (*at == '#' || strncmp(at, "//", 2) == 0)
        return strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0) {
        const char *end = strstr(at + 2, "*/");
        return end ? (size_t)(end - at) + 2 : strlen(at);
    }
    length = strspn(at, "@+-_*."
                        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return length ? length : 1;
}

/* Refuses what libconfig would accept: a number that libconfig 1.5 would cut to 32 bits, and other
 * files, whose numbers are not checked here. */
static int check_text(const char *path, const char *text, struct gw_error *error)
{
    unsigned line = 1;
    for (size_t length; *text; text += length) {
        char *end;
        length = token_at(text);
        errno = 0;
        const long long number = strtoll(text, &end, 10);
        while (errno && *end == 'L')
            end++;
        if (end == text + length && (errno || number > INT32_MAX || number < INT32_MIN))
            return gw_error_set(error, GW_EINVAL, "%s:%u: the number %.*s is too large: %s", path,
                                line, (int)(length < 32 ? length : 32), text,
                                errno ? "it does not fit into 64 bits"
                                      : "write an L after it if it needs more than 31 bits");
        if (strncmp(text, "@include", 8) == 0)
            return gw_error_set(error, GW_EINVAL,
                                "%s:%u: a configuration file cannot include "
                                "others",
                                path, line);
        for (size_t i = 0; i < length; i++)
            line += text[i] == '\n';
    }
    return 0;
}

static int parse(struct gw_config_file *file, struct gw_error *error)
{
    char *text;
    int rc = read_text(file->path, &text, error);
    if (rc < 0)
        return rc;
    rc = check_text(file->path, text, error);
    if (rc == 0 && config_read_string(&file->config, text) == CONFIG_FALSE)
        rc = gw_error_set(error, GW_EINVAL, "%s:%d: %s", file->path,
                          config_error_line(&file->config), config_error_text(&file->config));
    free(text);
    return rc < 0 ? rc : check_groups(file, error);
}

int gw_config_file_open(const char *path, struct gw_config_file **file, struct gw_error *error)
{
    struct gw_config_file *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    (void)snprintf(fresh->path, sizeof fresh->path, "%s", path);
    config_init(&fresh->config);
    int rc = parse(fresh, error);
    if (rc < 0)
        gw_config_file_close(fresh);
    else
        *file = fresh;
    return rc;
}

void gw_config_file_close(struct gw_config_file *file)
{
    if (!file)
        return;
    config_destroy(&file->config);
    for (struct number *number; (number = file->numbers);) {
        file->numbers = number->next;
        free(number);
    }
    free(file);
}

/* The type of a value of this kind in the file. */
static const char *expected(enum gw_option_kind kind)
{
    switch (kind) {
    case GW_OPTION_FLAG:
        return "true or false";
    case GW_OPTION_TEXT:
    case GW_OPTION_LIST:
        return "a text in \"quotes\"";
    case GW_OPTION_FRACTION:
        return "a number from 0 to 1, or \"none\"";
    case GW_OPTION_WEIGHT:
        return "a number";
    case GW_OPTION_TEXTS:
        return "a list of texts: [ \"a\", \"b\" ]";
    case GW_OPTION_DURATION:
    case GW_OPTION_DELAY:
    case GW_OPTION_TIMEOUT:
    case GW_OPTION_PATIENCE:
        return "a number of seconds, or a duration like \"1h30m\"";
    case GW_OPTION_SIZE:
    case GW_OPTION_CAP:
    case GW_OPTION_ROOM:
        return "a number of bytes, or a size like \"64M\"";
    default:
        return WHOLE_NUMBER;
    }
}

/* Returns the text of a number, owned by the file, or NULL if out of memory. */
static const char *text_of_number(struct gw_config_file *file, const config_setting_t *setting)
{
    struct number *number = malloc(sizeof *number);
    if (!number)
        return NULL;
    *number = (struct number){.next = file->numbers};
    file->numbers = number;
    if (config_setting_type(setting) == CONFIG_TYPE_FLOAT)
        (void)snprintf(number->text, sizeof number->text, "%.15g",
                       config_setting_get_float(setting));
    else
        (void)snprintf(number->text, sizeof number->text, "%lld",
                       config_setting_get_int64(setting));
    return number->text;
}

/* Returns the value as the text that the command line would have, or NULL if it has a wrong type.
 */
static const char *text_of(struct gw_config_file *file, const config_setting_t *setting,
                           enum gw_option_kind kind)
{
    const bool is_text =
        kind == GW_OPTION_TEXT || kind == GW_OPTION_LIST || kind == GW_OPTION_TEXTS;
    const char *text;
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_BOOL:
        return kind != GW_OPTION_FLAG ? NULL : config_setting_get_bool(setting) ? "true" : "false";
    case CONFIG_TYPE_STRING:
        text = config_setting_get_string(setting);
        if (strcmp(expected(kind), WHOLE_NUMBER) == 0 && !gw_units_is_none(text))
            return NULL;
        return kind == GW_OPTION_FLAG || kind == GW_OPTION_WEIGHT ? NULL : text;
    case CONFIG_TYPE_FLOAT:
        return kind == GW_OPTION_FRACTION || kind == GW_OPTION_WEIGHT
                   ? text_of_number(file, setting)
                   : NULL;
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        return is_text || kind == GW_OPTION_FLAG ? NULL : text_of_number(file, setting);
    default:
        return NULL;
    }
}

bool gw_config_file_is_flag_only(const char *option, const char *const *not_in_file)
{
    for (; not_in_file && *not_in_file; not_in_file++)
        if (strcmp(option, *not_in_file) == 0)
            return true;
    return strcmp(option, "config") == 0;
}

static int store(const struct gw_config_file *file, const struct gw_option *row,
                 const config_setting_t *setting, const char *text, struct gw_error *error)
{
    struct gw_error why;
    if (gw_option_value_store(row, text, &why) < 0)
        return refuse(file, setting, error, "%s", why.text + strlen("--"));
    return 0;
}

/* Stores each text of an array or a list. */
static int store_texts(const struct gw_config_file *file, const struct gw_option *row,
                       const config_setting_t *setting, struct gw_error *error)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < config_setting_length(setting); i++) {
        const char *text = config_setting_get_string_elem(setting, i);
        rc = text ? store(file, row, setting, text, error)
                  : refuse(file, setting, error, "%s must be %s", row->name, expected(row->kind));
    }
    return rc;
}

/* Refuses an unknown key, with what is valid. */
static int refuse_unknown(const struct gw_config_file *file, const struct gw_config_group *group,
                          const config_setting_t *setting, struct gw_error *error)
{
    const char *name = config_setting_name(setting);
    const char *nearest = gw_nearest_word(name, next_row, (void *)(uintptr_t)group->rows);
    char valid[512];
    size_t used = 0;
    if (group->typed)
        (void)snprintf(valid, sizeof valid, "`gangway %s --help` shows the options", group->name);
    for (const struct gw_option *row = group->rows; !group->typed && row->name; row++)
        used += (size_t)snprintf(valid + used, sizeof valid - used, "%s%s",
                                 used ? ", " : "valid are ", row->name);
    return refuse(file, setting, error, "unknown option %.64s%s%s%s; %s", name,
                  nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "",
                  valid);
}

static int apply(struct gw_config_file *file, const struct gw_config_group *group,
                 const config_setting_t *setting, struct gw_error *error)
{
    const char *name = config_setting_name(setting), *text;
    const struct gw_option *row = group->rows;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    if (!row->name)
        return refuse_unknown(file, group, setting, error);
    if (gw_config_file_is_flag_only(name, group->not_in_file))
        return refuse(file, setting, error, "%s is for the command line only: --%s", name, name);
    if (row->kind == GW_OPTION_TEXTS &&
        (config_setting_is_array(setting) || config_setting_is_list(setting)))
        return store_texts(file, row, setting, error);
    if (!(text = text_of(file, setting, row->kind)))
        return refuse(file, setting, error, "%s must be %s", name, expected(row->kind));
    if ((group->typed && group->typed[row - group->rows]) ||
        (row->kind == GW_OPTION_FLAG && strcmp(text, "false") == 0))
        return 0;
    return store(file, row, setting, text, error);
}

static int apply_all(struct gw_config_file *file, const struct gw_config_group *group,
                     const config_setting_t *found, struct gw_error *error)
{
    int rc = 0;
    for (int i = 0; found && rc == 0 && i < config_setting_length(found); i++)
        rc = apply(file, group, config_setting_get_elem(found, (unsigned)i), error);
    return rc;
}

uint32_t gw_config_file_count(const struct gw_config_file *file, const char *list)
{
    const config_setting_t *found = config_lookup(&file->config, list);
    return found ? (uint32_t)config_setting_length(found) : 0;
}

int gw_config_file_apply_item(struct gw_config_file *file, const struct gw_config_group *group,
                              uint32_t i, struct gw_error *error)
{
    const config_setting_t *item =
        config_setting_get_elem(config_lookup(&file->config, group->name), i);
    if (!config_setting_is_group(item))
        return refuse(file, item, error, "%s must be a list of groups", group->name);
    return apply_all(file, group, item, error);
}

bool gw_config_file_has(const struct gw_config_file *file, const char *group)
{
    return config_lookup(&file->config, group) != NULL;
}

void gw_config_file_where(const struct gw_config_file *file, const char *group, uint32_t i,
                          char where[static PATH_MAX + 32])
{
    const config_setting_t *found = config_lookup(&file->config, group);
    if (found && config_setting_is_list(found))
        found = config_setting_get_elem(found, i);
    if (found)
        place_of(file, found, where);
    else
        (void)snprintf(where, PATH_MAX + 32, "%s", file->path);
}

int gw_config_file_apply(struct gw_config_file *file, const struct gw_config_group *group,
                         struct gw_error *error)
{
    return apply_all(file, group, config_lookup(&file->config, group->name), error);
}

const char *gw_config_file_find(struct gw_config_file *file, const char *group, const char *option,
                                char where[static PATH_MAX + 32])
{
    const config_setting_t *found = config_lookup(&file->config, group);
    const config_setting_t *setting = found ? config_setting_get_member(found, option) : NULL;
    const char *text;
    if (!setting)
        return NULL;
    place_of(file, setting, where);
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_STRING:
        return config_setting_get_string(setting);
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(setting) ? "true" : "false";
    default:
        text = text_of_number(file, setting);
        return text ? text : "";
    }
}
