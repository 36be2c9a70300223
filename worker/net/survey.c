/* Surveys: a few small files of /proc and a few words of shared memory a rank; nothing blocks. */
#include "worker/net/survey.h"

#include "graph/base/must.h"
#include "graph/base/text.h"
#include "worker/net/usage.h"

#include <gangway/comm.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, STACK_BYTES = 600 };

/* The text of /proc/PID/NAME, without its last line's end; empty where it cannot be read. */
static void read_proc(pid_t pid, const char *name, char text[static STACK_BYTES])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, STACK_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
}

/* 'R', 'S', 'T' ...; '?' where it is gone. */
static char state_of(pid_t pid)
{
    char stat[STACK_BYTES];
    read_proc(pid, "stat", stat);
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

/* Whether it, or a child of it (a shell's, say), is stopped. */
static bool is_stopped(pid_t pid)
{
    char children[STACK_BYTES], name[48];
    if (state_of(pid) == 'T')
        return true;
    (void)snprintf(name, sizeof name, "task/%d/children", (int)pid);
    read_proc(pid, name, children);
    for (char *at = children, *end; *at; at = end) {
        pid_t child = (pid_t)strtol(at, &end, 10);
        if (end == at)
            break;
        if (state_of(child) == 'T')
            return true;
    }
    return false;
}

/* What the kernel tells of a process; its stack only to root. */
static void say_process(struct gw_text *text, uint32_t rank, pid_t pid)
{
    char wchan[STACK_BYTES], syscall[STACK_BYTES], stack[STACK_BYTES];
    read_proc(pid, "wchan", wchan);
    read_proc(pid, "syscall", syscall);
    read_proc(pid, "stack", stack);
    syscall[strcspn(syscall, " ")] = '\0';
    gw_text_say(text, "rank %u, process %d: state %c", rank, (int)pid, state_of(pid));
    if (*wchan && strcmp(wchan, "0") != 0)
        gw_text_say(text, ", waits in %s", wchan);
    if (isdigit((unsigned char)*syscall))
        gw_text_say(text, ", in system call %s", syscall);
    for (char *line = strtok(stack, "\n"); line; line = strtok(NULL, "\n"))
        gw_text_say(text, "\n  %s", line);
    gw_text_say(text, "\n");
}

void gw_host_survey(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_stand *stands = calloc(effect->stand_count + 1, sizeof *stands);
    GW_MUST_PTR(stands);
    char words[TEXT_BYTES] = "";
    struct gw_text text = {words, sizeof words, 0};
    for (uint32_t i = 0; i < effect->stand_count; i++) {
        struct gw_comm_progress progress = {0};
        pid_t pid = gw_usage_pid(host->usage, effect->stands[i].process);
        stands[i] = effect->stands[i];
        stands[i].stopped = pid > 0 && is_stopped(pid);
        if (effect->token_count &&
            gw_comm_segment_progress(gw_tokens_fd(&host->tokens, effect->tokens[0]),
                                     (int)stands[i].place, &progress, NULL) == 0) {
            stands[i].begun = progress.begun;
            stands[i].operation = progress.operation;
        }
        if (effect->count && pid > 0)
            say_process(&text, stands[i].rank, pid);
    }
    gw_host_later(host, &(struct gw_event){.type = GW_EVENT_SURVEYED,
                                           .number = effect->number,
                                           .code = effect->count != 0,
                                           .text = words,
                                           .stands = stands,
                                           .stand_count = effect->stand_count});
    free(stands);
}
