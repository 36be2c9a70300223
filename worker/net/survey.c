/* Surveys: a few small files of /proc and a few words of shared memory a rank; nothing blocks.
 *
 * Who looks closely wants the stacks too: gdb's, where it is on PATH and may attach, else what the
 * kernel tells. That takes a while: where the ranks stand is read again after it, so that one that
 * has gone on meanwhile is not taken for one that hangs. Those that are behind come first: what
 * does not fit is cut off at the end. */
#include "worker/net/survey.h"

#include "graph/base/must.h"
#include "graph/base/text.h"
#include "worker/net/debugger.h"
#include "worker/net/usage.h"

#include <gangway/comm.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 4096, STACK_BYTES = 600, CHILD_DEPTH = 4 };

/* One that is under way; in the host's list while gdb runs. */
struct gw_survey {
    struct gw_host *host;
    struct gw_survey *prev, *next;
    struct gw_debugger *debugger;
    uint64_t attempt;
    int segment; /* a duplicate; -1: there is none */
    bool closely;
    struct gw_stand *stands; /* as they were asked for */
    uint32_t count;
};

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

/* The first child of a process; 0: it has none. */
static pid_t child_of(pid_t pid)
{
    char children[STACK_BYTES], name[48];
    (void)snprintf(name, sizeof name, "task/%d/children", (int)pid);
    read_proc(pid, name, children);
    return (pid_t)strtol(children, NULL, 10);
}

/* The process that does a rank's work: where it is a shell that waits for a program, that. */
static pid_t program_of(pid_t pid)
{
    char wchan[STACK_BYTES];
    for (int depth = 0; depth < CHILD_DEPTH; depth++) {
        read_proc(pid, "wchan", wchan);
        pid_t child = strcmp(wchan, "do_wait") == 0 ? child_of(pid) : 0;
        if (child <= 0)
            break;
        pid = child;
    }
    return pid;
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

/* What the kernel tells of a process, and its frames; empty: its stack in the kernel, which only
 * root may see. */
static void say_process(struct gw_text *text, uint32_t rank, pid_t pid, const char *frames)
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
    gw_text_say(text, "\n%s", frames);
    for (char *line = strtok(stack, "\n"); line && !*frames; line = strtok(NULL, "\n"))
        gw_text_say(text, "  %s\n", line);
}

/* Where all stand now. */
static void look(const struct gw_survey *survey, struct gw_stand *stands)
{
    for (uint32_t i = 0; i < survey->count; i++) {
        struct gw_comm_progress progress = {0};
        pid_t pid = gw_usage_pid(survey->host->usage, survey->stands[i].process);
        stands[i] = survey->stands[i];
        stands[i].stopped = pid > 0 && is_stopped(pid);
        if (survey->segment >= 0 &&
            gw_comm_segment_progress(survey->segment, (int)stands[i].place, &progress, NULL) == 0) {
            stands[i].begun = progress.begun;
            stands[i].operation = progress.operation;
        }
    }
}

static struct gw_stand *stands_new(const struct gw_survey *survey)
{
    struct gw_stand *stands = calloc(survey->count + 1, sizeof *stands);
    GW_MUST_PTR(stands);
    look(survey, stands);
    return stands;
}

/* Those that are stopped, then those that have come least far; else in their order. */
static int compare(const void *a, const void *b)
{
    const struct gw_stand *x = a, *y = b;
    if (x->stopped != y->stopped)
        return x->stopped ? -1 : 1;
    if (x->begun != y->begun)
        return x->begun < y->begun ? -1 : 1;
    if (!x->operation != !y->operation)
        return x->operation ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void survey_free(struct gw_survey *survey)
{
    if (survey->segment >= 0)
        close(survey->segment);
    free(survey->stands);
    free(survey);
}

/* said: gdb's words, NULL: there are none. Frees the survey. */
static void answer(struct gw_survey *survey, const char *said)
{
    struct gw_host *host = survey->host;
    struct gw_stand *stands = stands_new(survey), *ordered = stands_new(survey);
    char words[TEXT_BYTES] = "", frames[TEXT_BYTES];
    struct gw_text text = {words, sizeof words, 0};
    qsort(ordered, survey->count, sizeof *ordered, compare);
    for (uint32_t i = 0; i < survey->count && survey->closely; i++) {
        pid_t pid = gw_usage_pid(host->usage, ordered[i].process);
        gw_debugger_frames(said ? said : "", ordered[i].rank, frames, sizeof frames);
        if (pid > 0)
            say_process(&text, ordered[i].rank, pid, frames);
    }
    gw_host_later(host, &(struct gw_event){.type = GW_EVENT_SURVEYED,
                                           .number = survey->attempt,
                                           .code = survey->closely,
                                           .text = words,
                                           .stands = stands,
                                           .stand_count = survey->count});
    free(stands);
    free(ordered);
    survey_free(survey);
}

static void on_said(const char *said, void *arg)
{
    struct gw_survey *survey = arg;
    if (survey->prev)
        survey->prev->next = survey->next;
    else
        survey->host->surveys = survey->next;
    if (survey->next)
        survey->next->prev = survey->prev;
    answer(survey, said);
}

/* Tells whether gdb was started. */
static bool start_debugger(struct gw_survey *survey)
{
    struct gw_debugger_rank ranks[GW_DEBUGGER_RANKS_MAX];
    struct gw_debugger_options options = {
        .loop = survey->host->loop, .ranks = ranks, .on_done = on_said, .arg = survey};
    struct gw_stand *stands = stands_new(survey);
    qsort(stands, survey->count, sizeof *stands, compare);
    for (uint32_t i = 0; i < survey->count && options.count < GW_DEBUGGER_RANKS_MAX; i++) {
        pid_t pid = gw_usage_pid(survey->host->usage, stands[i].process);
        if (pid > 0)
            ranks[options.count++] =
                (struct gw_debugger_rank){stands[i].rank, program_of(pid), stands[i].stopped};
    }
    free(stands);
    survey->debugger = options.count ? gw_debugger_start(&options) : NULL;
    if (!survey->debugger)
        return false;
    survey->next = survey->host->surveys;
    if (survey->next)
        survey->next->prev = survey;
    survey->host->surveys = survey;
    return true;
}

void gw_host_survey(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_survey *survey = calloc(1, sizeof *survey);
    GW_MUST_PTR(survey);
    *survey = (struct gw_survey){.host = host,
                                 .attempt = effect->number,
                                 .segment = -1,
                                 .closely = effect->count != 0,
                                 .count = effect->stand_count};
    if (effect->token_count)
        survey->segment = fcntl(gw_tokens_fd(&host->tokens, effect->tokens[0]), F_DUPFD_CLOEXEC, 0);
    survey->stands = calloc(survey->count + 1, sizeof *survey->stands);
    GW_MUST_PTR(survey->stands);
    if (survey->count)
        memcpy(survey->stands, effect->stands, survey->count * sizeof *survey->stands);
    if (!survey->closely || !start_debugger(survey))
        answer(survey, NULL);
}

void gw_host_surveys_close(struct gw_host *host)
{
    for (struct gw_survey *survey = host->surveys, *next; survey; survey = next) {
        next = survey->next;
        gw_debugger_cancel(survey->debugger);
        survey_free(survey);
    }
    host->surveys = NULL;
}
