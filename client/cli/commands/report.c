/* `gangway report`: a task reports a step to its worker, and learns whether to go on. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/exit_code.h"
#include "client/cli/lib/options.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { EXIT_STOP = 3, EXIT_PAUSE = 4 };

static int connect_worker(int *fd, struct gw_error *error)
{
    const char *path = getenv("GANGWAY_REPORT");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || !*path || strlen(path) >= sizeof address.sun_path)
        return gw_error_set(error, GW_EINVAL,
                            "GANGWAY_REPORT is not set: only a command that runs as a task can "
                            "report (gangway submit -- COMMAND)");
    strcpy(address.sun_path, path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && connect(*fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    return gw_error_set(error, GW_EIO, "cannot connect to the worker of this task at %s: %s", path,
                        strerror(errno));
}

/* Adds NAME=VALUE to a report. */
static int add_pair(json_t *report, const char *pair, struct gw_error *error)
{
    const char *equals = strchr(pair, '=');
    char *end, name[256];
    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof name)
        return gw_error_set(error, GW_EINVAL, "%s must be NAME=NUMBER, like loss=0.4", pair);
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = '\0';
    const char *text = equals + 1;
    const bool step = strcmp(name, "step") == 0;
    errno = 0;
    const long long whole = step ? strtoll(text, &end, 10) : 0;
    const double value = step ? 0 : strtod(text, &end);
    if (end == text || *end || (step && errno))
        return gw_error_set(error, GW_EINVAL,
                            step ? "%s: the step must be a whole number, like step=3"
                                 : "%s: the value must be a number, like loss=0.4",
                            pair);
    if (json_object_get(report, name))
        return gw_error_set(error, GW_EINVAL, "%s is given twice", name);
    json_t *json = step           ? json_integer(whole)
                   : isnan(value) ? json_string("nan")
                   : isinf(value) ? json_string(value < 0 ? "-inf" : "inf")
                                  : json_real(value);
    if (json_object_set_new(report, name, json) < 0)
        return gw_error_set(error, GW_EINVAL, "%s: the name must be valid UTF-8", pair);
    return 0;
}

/* Sends a line and receives one. */
static int exchange(int fd, const json_t *report, json_t **answer, struct gw_error *error)
{
    char *line = json_dumps(report, JSON_COMPACT), got[2048];
    size_t sent = 0, used = 0, bytes;
    ssize_t n = line ? 0 : -1;
    if (!line)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    bytes = strlen(line);
    line[bytes++] = '\n'; /* in place of the NUL */
    while (n >= 0 && sent < bytes) {
        n = send(fd, line + sent, bytes - sent, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
    }
    free(line);
    while (n >= 0 && used < sizeof got && !(used && got[used - 1] == '\n')) {
        n = recv(fd, got + used, sizeof got - used, 0);
        used += n > 0 ? (size_t)n : 0;
        if (n == 0)
            break;
    }
    *answer = json_loadb(got, used, 0, NULL);
    if (!*answer)
        return gw_error_set(error, GW_ECLOSED, "the worker of this task has closed the connection");
    const char *text = json_string_value(json_object_get(*answer, "error"));
    return text ? gw_error_set(error, GW_EINVAL, "%s", text) : 0;
}

int gw_cli_report(int argc, char **argv)
{
    bool json = false, exit_code = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print the answer as JSON"},
        {"exit-code", 0, GW_OPTION_FLAG, &exit_code, NULL,
         "exit with 3 if the answer is stop, 4 if it is pause"},
        {0},
    };
    const struct gw_options options = {
        .command = "report",
        .arguments = "[step=N] NAME=NUMBER...",
        .summary = "Report the metrics of a step. For use inside of a task.",
        .details =
            "Prints the answer: continue; stop: save and exit with 0; pause: save and exit,\n"
            "the task will continue later. Without step=N, the step is the number of reports\n"
            "so far. A metric of a gang is that of rank 0; other ranks only get the answer.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = INT32_MAX,
    };
    struct gw_error error = {0};
    int first, code, fd = -1, rc;
    if (!gw_options_parse(&options, argc, argv, &first, &code))
        return code;
    json_t *report = json_object(), *answer = NULL;
    rc = report ? connect_worker(&fd, &error) : gw_error_set(&error, GW_ENOMEM, "out of memory");
    for (int i = first; rc == 0 && i < argc; i++)
        rc = add_pair(report, argv[i], &error);
    if (rc == 0)
        rc = exchange(fd, report, &answer, &error);
    const char *word = rc == 0 ? json_string_value(json_object_get(answer, "answer")) : NULL;
    if (word && json)
        printf("{\"answer\":\"%s\"}\n", word);
    else if (word)
        puts(word);
    code = rc < 0 ? gw_cli_error(&error) : 0;
    if (word && exit_code)
        code = strcmp(word, "stop") == 0 ? EXIT_STOP : strcmp(word, "pause") == 0 ? EXIT_PAUSE : 0;
    json_decref(report);
    json_decref(answer);
    if (fd >= 0)
        (void)close(fd);
    return code;
}
