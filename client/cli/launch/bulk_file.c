/* Files of commands, and arrays of gangs.
 *
 * --each-line runs the command once for each line, also for an empty line. In its words, {line}
 * becomes the line, and {1}, {2} ... become the fields of the line.
 *
 * --from-json takes [{"argv": [...], "name": ..., "after": [...], "env": {...}, "cwd": ...,
 * "options": {...}}]. Options of the command line apply to all tasks. The options of an object
 * apply to its task and override them. */
#include "client/cli/launch/bulk_file.h"

#include "client/cli/launch/bulk_option.h"
#include "client/cli/lib/value_io.h"

#include "graph/base/field.h"
#include "graph/base/text.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int no_memory(struct gw_error *error)
{
    return gw_error_set(error, GW_ENOMEM, "out of memory");
}

static void close_file(FILE *in)
{
    if (in != stdin)
        fclose(in);
}

static int open_file(const char *path, FILE **in, struct gw_error *error)
{
    struct stat status;
    *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!*in)
        return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO, "%s: %s", path,
                            strerror(errno));
    if (fstat(fileno(*in), &status) < 0 || !S_ISDIR(status.st_mode))
        return 0;
    close_file(*in);
    return gw_error_set(error, GW_EINVAL, "%s is a folder: give a file", path);
}

static int grow(struct gw_bulk_file *file, gw_node node)
{
    if ((file->count & (file->count - 1)) == 0) { /* count is a power of two: the array is full */
        gw_node *nodes = realloc(file->nodes, (file->count ? file->count * 2 : 1) * sizeof *nodes);
        if (!nodes)
            return GW_ENOMEM;
        file->nodes = nodes;
    }
    file->nodes[file->count++] = node;
    return 0;
}

/* -- Lines ---------------------------------------------------------------------------------------
 */

/* Linux accepts at most this many bytes in one word of a command line, or in one variable of the
 * environment. */
enum { WORD_BYTES_MAX = (128 << 10) - 1 };

/* The size of a word after a line was filled in, as worker/core/template.c does it. */
struct filled {
    size_t bytes;
    uint32_t missing; /* largest field number that the line lacks; 0: none */
};

static struct filled fill(const char *word, const char *line, size_t line_bytes)
{
    struct filled filled = {0};
    while (*word) {
        const char *close = *word == '{' ? strchr(word, '}') : NULL;
        const size_t length = close ? (size_t)(close - word) - 1 : 0;
        const uint32_t field = close ? gw_field_number(word + 1, length) : 0;
        size_t bytes = 0;
        if (field && !gw_field_find(line, line_bytes, field, &bytes))
            filled.missing = field > filled.missing ? field : filled.missing;
        const bool whole = close && length == 4 && memcmp(word + 1, "line", length) == 0;
        const bool brace = close && length == 1 && word[1] == '{';
        filled.bytes += field ? bytes : whole ? line_bytes : 1;
        word += field || whole || brace ? length + 2 : 1;
    }
    return filled;
}

static void fill_most(struct filled *most, const char *word, const char *line, size_t line_bytes)
{
    struct filled filled = fill(word, line, line_bytes);
    if (filled.bytes > most->bytes)
        most->bytes = filled.bytes;
    if (filled.missing > most->missing)
        most->missing = filled.missing;
}

/* Checks that a line can be filled in, so that an error is reported before the first task runs. */
static int check_line(const struct gw_launch_options *options, const char **env, int64_t number,
                      const char *line, size_t line_bytes, struct gw_error *error)
{
    struct filled most = {.bytes = sizeof "GANGWAY_LINE=" - 1 + line_bytes};
    size_t entries = 0;
    for (const char *const *word = options->command; *word; word++)
        fill_most(&most, *word, line, line_bytes);
    while (env && env[entries])
        entries++;
    for (size_t i = 0; env && i < options->env.count;
         i++) /* variables from --env are the last ones */
        fill_most(&most, env[entries - 1 - i], line, line_bytes);
    if (most.missing) {
        const uint32_t fields = gw_field_count(line, line_bytes);
        return gw_error_set(error, GW_EINVAL,
                            "%s: line %lld has %u field%s, but the command uses {%u}: blanks "
                            "separate fields ({{}%u} is the text {%u})",
                            options->each_line, (long long)number, fields, fields == 1 ? "" : "s",
                            most.missing, most.missing, most.missing);
    }
    if (most.bytes <= WORD_BYTES_MAX)
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "%s: line %lld has %zu bytes and makes a word of %zu bytes, and %d is the "
                        "most: put the data into a file, and the file's name into the line",
                        options->each_line, (long long)number, line_bytes, most.bytes,
                        WORD_BYTES_MAX);
}

static int add_lines(struct gw_bulk_file *file, const struct gw_launch_options *options,
                     const char **env, FILE *in, struct gw_error *error)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    int rc = 0;
    while (rc == 0 && (bytes = getline(&line, &room, in)) >= 0) {
        if (bytes > 0 && line[bytes - 1] == '\n')
            line[--bytes] = '\0';
        if (bytes > 0 && line[bytes - 1] == '\r')
            line[--bytes] = '\0';
        int64_t index = (int64_t)file->count;
        if (strlen(line) != (size_t)bytes) {
            rc = gw_error_set(error, GW_EINVAL,
                              "%s: line %lld has a NUL byte, which no argument of a command can "
                              "have: is this a text file?",
                              options->each_line, (long long)index + 1);
            break;
        }
        if ((rc = check_line(options, env, index + 1, line, (size_t)bytes, error)) < 0)
            break;
        file->has_fields = file->has_fields || gw_field_count(line, (size_t)bytes) > 1;
        const struct gw_command command =
            GW_INIT(gw_command, .argv = options->command, .env = env, .cwd = options->cwd,
                    .index = &index, .line = line, .env_templates = (uint32_t)options->env.count,
                    .epilog = options->wrap.epilog);
        gw_node node = gw_graph_command(file->graph, &command, &options->task);
        if (grow(file, node) < 0)
            rc = no_memory(error);
    }
    if (rc == 0 && ferror(in))
        rc = gw_error_set(error, GW_EIO, "%s cannot be read", options->each_line);
    if (rc == 0 && file->count == 0)
        rc = gw_error_set(error, GW_EINVAL, "%s has no lines", options->each_line);
    free(line);
    return rc;
}

/* -- Numbers -------------------------------------------------------------------------------------
 */

int gw_bulk_file_init_numbers(struct gw_bulk_file *file, const struct gw_launch_options *options,
                              const struct gw_range *range, struct gw_error *error)
{
    const char **env = NULL;
    int rc = 0;
    *file = (struct gw_bulk_file){
        .name = options->command[0], .first = range->begin, .step = range->step};
    file->graph = gw_graph_new();
    if (gw_launch_options_env(options, &env) < 0)
        rc = no_memory(error);
    const int64_t count = (range->end - 1 - range->begin) / range->step + 1;
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        const int64_t index = range->begin + i * range->step;
        const struct gw_command command = GW_INIT(
            gw_command, .argv = options->command, .env = env, .cwd = options->cwd, .index = &index,
            .env_templates = (uint32_t)options->env.count, .epilog = options->wrap.epilog);
        gw_node node = gw_graph_command(file->graph, &command, &options->task);
        if (grow(file, node) < 0)
            rc = no_memory(error);
    }
    free(env);
    return rc;
}

/* -- Objects -------------------------------------------------------------------------------------
 */

/* Position for error messages: "tasks.json: task 3 (name): ". */
struct place {
    const char *path;
    size_t i;
    const char *name;
};

/* A task with a name. */
struct named {
    const char *name;
    size_t i;
};

/* Finds the tasks that "after" names. */
struct linking {
    struct gw_bulk_file *file;
    struct named *named; /* sorted by name; owned */
    size_t named_count;
};

static int wrong(const struct place *place, struct gw_error *error, const char *what)
{
    return gw_error_set(error, GW_EINVAL, "%s: task %zu%s%s%s: %s", place->path, place->i,
                        place->name ? " (" : "", place->name ? place->name : "",
                        place->name ? ")" : "", what);
}

/* Converts a JSON list of strings to a NULL-terminated list. The strings are borrowed from the JSON
 * value. */
static int texts_of(const json_t *list, const char ***texts)
{
    size_t count = json_array_size(list);
    *texts = calloc(count + 1, sizeof **texts);
    for (size_t i = 0; *texts && i < count; i++) {
        (*texts)[i] = json_string_value(json_array_get(list, i));
        if (!(*texts)[i])
            return GW_EINVAL;
    }
    return *texts ? 0 : GW_ENOMEM;
}

static int set_options(struct gw_task_options *task, struct gw_bulk_texts *texts,
                       const json_t *options, const struct place *place, struct gw_error *error)
{
    const char *key, *takes = "";
    json_t *value;
    char names[400], text[512];
    if (options && !json_is_object(options))
        return wrong(place, error, "\"options\" is not an object");
    if (json_object_get(options, "on") && json_object_get(options, "prefer"))
        return wrong(place, error, "give only one of the options \"on\" and \"prefer\"");
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        int rc = gw_bulk_option_set(task, texts, key, value, &takes);
        if (rc == 0)
            continue;
        if (rc == GW_ENOMEM)
            return no_memory(error);
        gw_bulk_option_names(names, sizeof names, 0);
        if (rc == GW_ENOENT)
            (void)snprintf(text, sizeof text, "unknown option \"%.40s\": the options are %s", key,
                           names);
        else
            (void)snprintf(text, sizeof text, "option \"%.40s\" takes %s", key, takes);
        return wrong(place, error, text);
    }
    return 0;
}

/* Merges the environment options with the "env" of an object, which takes precedence. The caller
 * frees the result, with its strings, by env_deinit. */
static int env_of(const struct gw_launch_options *options, const json_t *object,
                  struct gw_launch_options *with, const struct place *place, struct gw_error *error)
{
    const char *key;
    json_t *value;
    *with = *options;
    with->env = (struct gw_option_texts){0};
    size_t count = options->env.count + json_object_size(object);
    with->env.items = calloc(count + 1, sizeof *with->env.items);
    if (!with->env.items)
        return no_memory(error);
    for (size_t i = 0; i < options->env.count; i++) {
        size_t length = strcspn(options->env.items[i], "=");
        char *name = strndup(options->env.items[i], length);
        bool over = name && json_object_get(object, name);
        free(name);
        char *copy = over ? NULL : strdup(options->env.items[i]);
        if (copy)
            with->env.items[with->env.count++] = copy;
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        char *line = NULL;
        if (!json_is_string(value) || !*key || strchr(key, '=') ||
            !gw_text_is_line(key, strlen(key)))
            return wrong(place, error, "\"env\" is not an object of strings");
        if (asprintf(&line, "%s=%s", key, json_string_value(value)) < 0)
            return no_memory(error);
        with->env.items[with->env.count++] = line;
    }
    return 0;
}

static void env_deinit(struct gw_launch_options *with)
{
    for (size_t i = 0; i < with->env.count; i++)
        free((char *)(uintptr_t)with->env.items[i]);
    free(with->env.items);
}

static int check_keys(const json_t *object, const struct place *place, struct gw_error *error)
{
    static const char *const known[] = {"argv", "name", "after", "env", "cwd", "options"};
    const char *key;
    json_t *value;
    char text[120];
    if (!json_is_object(object))
        return wrong(place, error, "is not an object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool there = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            there = there || strcmp(key, known[i]) == 0;
        if (there)
            continue;
        snprintf(text, sizeof text,
                 gw_bulk_option_is_known(key)
                     ? "\"%.40s\" goes into \"options\": {...}"
                     : "unknown key \"%.40s\": the keys are argv, name, after, env, cwd, options",
                 key);
        return wrong(place, error, text);
    }
    return 0;
}

static int add_object(struct gw_bulk_file *file, const struct gw_launch_options *options,
                      const json_t *object, struct place *place, struct gw_error *error)
{
    const char **argv = NULL, **env = NULL;
    struct gw_launch_options with = {0};
    struct gw_bulk_texts texts = {0};
    int rc = check_keys(object, place, error);
    if (rc < 0)
        return rc;
    place->name = json_string_value(json_object_get(object, "name"));
    const json_t *words = json_object_get(object, "argv"), *own = json_object_get(object, "env");
    const json_t *cwd = json_object_get(object, "cwd");
    if (json_object_get(object, "name") && !place->name)
        return wrong(place, error, "\"name\" is not a string");
    if (cwd && !json_is_string(cwd))
        return wrong(place, error, "\"cwd\" is not a string");
    if (own && !json_is_object(own))
        return wrong(place, error, "\"env\" is not an object of strings");
    if (json_array_size(words) == 0 || texts_of(words, &argv) < 0) {
        free(argv);
        return wrong(place, error, "\"argv\" is not a list of strings, with a program first");
    }
    rc = env_of(options, own, &with, place, error);
    if (rc == 0)
        rc = set_options(&with.task, &texts, json_object_get(object, "options"), place, error);
    if (rc == 0 && gw_launch_options_env(&with, &env) < 0)
        rc = no_memory(error);
    if (rc == 0) {
        const struct gw_command command =
            GW_INIT(gw_command, .argv = argv, .env = env,
                    .cwd = cwd ? json_string_value(cwd) : options->cwd,
                    .env_templates = (uint32_t)with.env.count);
        with.task.name = place->name;
        gw_node node = gw_graph_command(file->graph, &command, &with.task);
        file->ranks[file->count] = with.task.ranks;
        file->names[file->count] = place->name ? strdup(place->name) : NULL;
        rc = grow(file, node) < 0 ? no_memory(error) : 0;
    }
    free(env);
    free(argv);
    gw_bulk_option_texts_deinit(&texts);
    env_deinit(&with);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int linking_init(struct linking *linking, struct gw_bulk_file *file)
{
    *linking = (struct linking){file, calloc(file->count + 1, sizeof *linking->named), 0};
    if (!linking->named)
        return GW_ENOMEM;
    for (size_t i = 0; i < file->count; i++)
        if (file->names[i])
            linking->named[linking->named_count++] = (struct named){file->names[i], i};
    qsort(linking->named, linking->named_count, sizeof *linking->named, by_name);
    return 0;
}

static int link_one(const struct linking *linking, size_t i, const json_t *name,
                    const struct place *place, struct gw_error *error)
{
    const char *wanted = json_string_value(name);
    char text[200];
    if (!wanted)
        return wrong(place, error, "\"after\" is not a name, or a list of names");
    const struct named key = {wanted, 0};
    const struct named *before =
        bsearch(&key, linking->named, linking->named_count, sizeof key, by_name);
    if (before) {
        gw_graph_after(linking->file->graph, linking->file->nodes[i],
                       linking->file->nodes[before->i]);
        return 0;
    }
    snprintf(text, sizeof text, "\"after\" names \"%.100s\", but no task has that name", wanted);
    return wrong(place, error, text);
}

static int link_object(const struct linking *linking, size_t i, const json_t *object,
                       const struct place *place, struct gw_error *error)
{
    const json_t *after = json_object_get(object, "after");
    int rc = 0;
    if (after && !json_is_array(after))
        return link_one(linking, i, after, place, error);
    for (size_t k = 0; k < json_array_size(after) && rc == 0; k++)
        rc = link_one(linking, i, json_array_get(after, k), place, error);
    return rc;
}

static int link_objects(struct gw_bulk_file *file, const char *path, const json_t *list,
                        struct gw_error *error)
{
    struct linking linking;
    if (linking_init(&linking, file) < 0)
        return no_memory(error);
    int rc = 0;
    for (size_t i = 0; i < file->count && rc == 0; i++) {
        const struct place place = {path, i, file->names[i]};
        rc = link_object(&linking, i, json_array_get(list, i), &place, error);
    }
    free(linking.named);
    return rc;
}

static int add_objects(struct gw_bulk_file *file, const struct gw_launch_options *options, FILE *in,
                       struct gw_error *error)
{
    json_error_t where;
    json_t *list = json_loadf(in, JSON_REJECT_DUPLICATES, &where);
    const char *path = options->from_json;
    int rc = 0;
    if (!list)
        return gw_error_set(error, GW_EINVAL, "%s:%d: %s", path, where.line,
                            gw_value_io_why(&where));
    size_t count = json_array_size(list);
    file->names = calloc(count + 1, sizeof *file->names);
    file->ranks = calloc(count + 1, sizeof *file->ranks);
    if (!file->names || !file->ranks)
        rc = no_memory(error);
    else if (!json_is_array(list))
        rc = gw_error_set(error, GW_EINVAL,
                          "%s must be a JSON list of objects, like [{\"argv\": [\"date\"]}]", path);
    else if (count == 0)
        rc = gw_error_set(error, GW_EINVAL, "%s: the list has no task: give at least one", path);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct place place = {path, i, NULL};
        rc = add_object(file, options, json_array_get(list, i), &place, error);
    }
    if (rc == 0)
        rc = link_objects(file, path, list, error);
    json_decref(list);
    return rc;
}

/* -- Lines and objects --------------------------------------------------------------------------
 */

int gw_bulk_file_init(struct gw_bulk_file *file, const struct gw_launch_options *options,
                      struct gw_error *error)
{
    const char *path = options->each_line ? options->each_line : options->from_json;
    const char *slash = strrchr(path, '/');
    const char **env = NULL;
    FILE *in;
    *file = (struct gw_bulk_file){
        .name = slash && slash[1] ? slash + 1 : path, .step = 1, .graph = gw_graph_new()};
    if (strcmp(path, "-") == 0)
        file->name = options->each_line ? options->command[0] : "commands";
    int rc = open_file(path, &in, error);
    if (rc < 0)
        return rc;
    if (options->from_json)
        rc = add_objects(file, options, in, error);
    else if (gw_launch_options_env(options, &env) < 0)
        rc = no_memory(error);
    else
        rc = add_lines(file, options, env, in, error);
    free(env);
    close_file(in);
    return rc;
}

void gw_bulk_file_deinit(struct gw_bulk_file *file)
{
    for (size_t i = 0; file->names && i < file->count; i++)
        free(file->names[i]);
    free(file->names);
    free(file->ranks);
    free(file->nodes);
    gw_graph_free(file->graph);
}

void gw_bulk_file_label(const struct gw_bulk_file *file, size_t i, char *text, size_t text_bytes)
{
    if (file->names && file->names[i])
        (void)snprintf(text, text_bytes, "%s", file->names[i]);
    else
        (void)snprintf(text, text_bytes, "%lld",
                       (long long)(file->first + (int64_t)i * file->step));
}
