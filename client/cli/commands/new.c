/* `gangway new DIR` writes a small project that can be built and run. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char main_c[] =
    "/* A task graph and a gang. Run it: without a cluster it starts a private one. */\n"
    "#include <gangway/gangway.h>\n"
    "#include <stdio.h>\n"
    "\n"
    "/* Runs in a runner: this program, started again by a worker. */\n"
    "static int square(struct gw_task *task)\n"
    "{\n"
    "    double x;\n"
    "    if (gw_task_arg_f64(task, 0, &x) < 0)\n"
    "        return GW_EINVAL;\n"
    "    return gw_task_return(task, gw_f64(x * x));\n"
    "}\n"
    "GW_TASK(square);\n"
    "\n"
    "/* Runs once in every rank of a gang. */\n"
    "static int total(struct gw_task *task)\n"
    "{\n"
    "    double sum;\n"
    "    if (gw_task_arg_f64(task, 0, &sum) < 0)\n"
    "        return GW_EINVAL;\n"
    "    sum += gw_task_rank(task);\n"
    "    int rc = gw_comm_all_reduce(gw_task_comm(task),\n"
    "                                GW_COMM_ARGS(.recv = &sum, .count = 1,\n"
    "                                             .dtype = GW_DTYPE_F64),\n"
    "                                gw_task_error(task));\n"
    "    return rc < 0 ? rc : gw_task_return(task, gw_f64(sum));\n"
    "}\n"
    "GW_TASK(total);\n"
    "\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    gw_init(&argc, &argv); /* first statement; in a runner it never returns */\n"
    "\n"
    "    struct gw_client *client;\n"
    "    struct gw_future *future;\n"
    "    struct gw_value *value;\n"
    "    struct gw_error error;\n"
    "    double result = 0;\n"
    "    struct gw_graph *graph = gw_graph_new();\n"
    "    gw_node nine = gw_call(graph, square, NULL, gw_f64(3));\n"
    "    gw_node node = gw_call(graph, total, GW_GANG(.ranks = 2), gw_result(nine));\n"
    "    if (gw_client_open(NULL, &client, &error) < 0 ||\n"
    "        gw_client_submit(client, graph, node, &future, &error) < 0 ||\n"
    "        gw_future_get(future, 0, &value, &error) < 0 ||\n"
    "        gw_value_get_f64(value, &result, &error) < 0)\n"
    "        gw_error_exit(&error);\n"
    "    printf(\"%g\\n\", result); /* (9 + 0) + (9 + 1) = 19 */\n"
    "    gw_value_unref(value);\n"
    "    gw_future_release(future);\n"
    "    gw_graph_free(graph);\n"
    "    gw_client_close(client);\n"
    "    return 0;\n"
    "}\n";

static const char cmake_lists[] = "cmake_minimum_required(VERSION 3.20)\n"
                                  "project(%s LANGUAGES C)\n"
                                  "\n"
                                  "set(CMAKE_C_STANDARD 11)\n"
                                  "find_package(gangway REQUIRED)\n"
                                  "add_executable(%s main.c)\n"
                                  "target_link_libraries(%s PRIVATE gangway::gangway)\n";

static const char makefile[] = "ifneq ($(shell pkg-config --exists gangway && echo there),there)\n"
                               "$(error pkg-config does not find gangway: install it, or name the "
                               "folder of gangway.pc in PKG_CONFIG_PATH)\n"
                               "endif\n"
                               "\n"
                               "CFLAGS ?= -O2 -g\n"
                               "CFLAGS += -std=gnu11 -Wall -Wextra $(shell pkg-config --cflags "
                               "gangway)\n"
                               "LDLIBS += $(shell pkg-config --libs gangway)\n"
                               "# So that the program finds the library where it is now.\n"
                               "LDLIBS += -Wl,-rpath,$(shell pkg-config --variable=libdir "
                               "gangway)\n"
                               "\n"
                               "%s: main.c\n"
                               "\t$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LDLIBS)\n"
                               "\n"
                               "clean:\n"
                               "\trm -f %s\n"
                               "\n"
                               ".PHONY: clean\n";

static const char readme[] = "# %s\n"
                             "\n"
                             "    make && ./%s\n"
                             "\n"
                             "or `cmake -B build && cmake --build build && build/%s`. It prints "
                             "19.\n"
                             "\n"
                             "Gangway must be installed (`cmake --install`). In a folder of its "
                             "own, PREFIX, make wants\n"
                             "`PKG_CONFIG_PATH=PREFIX/lib/pkgconfig`, cmake "
                             "`-DCMAKE_PREFIX_PATH=PREFIX`.\n"
                             "\n"
                             "Without a cluster the program starts a private one on this machine "
                             "and takes it down at\n"
                             "its end. `gangway up` starts one that stays, `gangway jobs` shows "
                             "what ran on it.\n"
                             "`GANGWAY_INLINE=1 ./%s` runs the tasks inside the program, for a "
                             "debugger.\n";

/* Makes a name for the target that CMake and make accept without quotes. */
static void target_name(const char *dir, char name[64])
{
    char path[PATH_MAX];
    const char *full = realpath(dir, path) ? path : dir, *slash = strrchr(full, '/');
    size_t length = 0;
    for (const char *c = slash ? slash + 1 : full; *c && length < 63; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                     (*c >= '0' && *c <= '9') || *c == '_' || *c == '-';
        name[length++] = plain ? *c : '_';
    }
    name[length] = '\0';
    if (length == 0 || name[0] == '-' || strcmp(name, "clean") == 0 || strcmp(name, "main") == 0 ||
        strcmp(name, "test") == 0)
        strcpy(name, "program");
}

/* Writes a file. Each %s in the text becomes `name`. If `name` is NULL, the text is written
 * unchanged. */
static int write_file(const char *dir, const char *file, const char *text, const char *name,
                      struct gw_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    FILE *out = fopen(path, "wxe");
    if (!out)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    while (*text) {
        size_t plain = name ? strcspn(text, "%") : strlen(text);
        fwrite(text, 1, plain, out);
        text += plain;
        if (*text) {
            fputs(name, out);
            text += strlen("%s");
        }
    }
    int failed = ferror(out);
    if (fclose(out) != 0 || failed)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    return 0;
}

/* Makes a folder and its parents. */
static int make_dir(const char *dir, struct gw_error *error)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s", dir);
    if (length <= 0 || (size_t)length >= sizeof path - sizeof "/CMakeLists.txt")
        return gw_error_set(error, GW_EINVAL,
                            "\"%.64s\" cannot be the path of a new folder: give another one", dir);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        *slash = '/';
    }
    if (mkdir(dir, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return gw_error_set(error, GW_EIO, "%s: %s", dir, strerror(errno));
    DIR *entries = opendir(dir);
    if (!entries)
        return gw_error_set(error, GW_EEXIST, "%s: %s", dir, strerror(errno));
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = gw_error_set(error, GW_EEXIST, "%s exists and is not empty: give a new folder",
                              dir);
    closedir(entries);
    return rc;
}

int gw_cli_new(int argc, char **argv)
{
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "new",
        .arguments = "DIR",
        .summary = "Write a small project into DIR: main.c, CMakeLists.txt, Makefile, README.md.",
        .details = "The project is built with make or CMake and an installed Gangway.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_error error;
    char name[64];
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    const char *dir = argv[first];
    int rc = make_dir(dir, &error);
    target_name(dir, name);
    if (rc == 0)
        rc = write_file(dir, "main.c", main_c, NULL, &error);
    if (rc == 0)
        rc = write_file(dir, "CMakeLists.txt", cmake_lists, name, &error);
    if (rc == 0)
        rc = write_file(dir, "Makefile", makefile, name, &error);
    if (rc == 0)
        rc = write_file(dir, "README.md", readme, name, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    const char *quote = strpbrk(dir, " \t&;|<>()$*?[]#~\"\\`!") && !strchr(dir, '\'') ? "'" : "";
    if (json)
        printf("{\"name\": \"%s\"}\n", name);
    else
        fprintf(stderr, "wrote %s; now: cd %s%s%s && make && ./%s\n", dir, quote, dir, quote, name);
    return GW_EXIT_OK;
}
