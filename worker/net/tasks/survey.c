/* Surveys: a few small files of /proc and a few words of shared memory a rank; nothing blocks.
 *
 * Who looks closely wants the stacks too: gdb's, where it is on PATH and may attach, else what the
 * kernel tells. All of a rank's goes behind what it has written to its stderr, a few frames to the
 * scheduler. That takes a while: where the ranks stand is read again after it, so that one that has
 * gone on meanwhile is not taken for one that hangs. gdb looks at a few, those that are behind
 * first. */
#include "worker/net/tasks/survey.h"

#include "graph/base/must.h"
#include "graph/base/text.h"
#include "worker/net/link/step.h"
#include "worker/net/parts/debugger.h"
#include "worker/net/parts/notes.h"
#include "worker/net/parts/usage.h"
#include "worker/net/tasks/runners.h"

#include <gangway/comm.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_BYTES = 600, /* of a file of /proc */
    KERNEL_LINES = 16, /* of a stack in the kernel */
    CHILD_DEPTH = 4,
    WRITE_MS_MAX = 2000, /* what it takes longer to write is waited for by nobody */
};

/* One that is under way; in the host's list while gdb runs, or a thread writes what it said. */
struct gw_survey {
    struct gw_host *host;
    struct gw_survey *prev, *next;
    struct gw_debugger *debugger; /* NULL: it does not run */
    struct gw_notes *notes;       /* NULL: they are not being written */
    uint64_t attempt;
    int segment; /* a duplicate; -1: there is none */
    bool closely;
    struct gw_stand *stands; /* as they were asked for, and then their stacks */
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

/* What the kernel tells of a process. */
static void say_kernel(struct gw_text *text, pid_t pid)
{
    char wchan[STACK_BYTES], syscall[STACK_BYTES];
    read_proc(pid, "wchan", wchan);
    read_proc(pid, "syscall", syscall);
    syscall[strcspn(syscall, " ")] = '\0';
    gw_text_say(text, "state %c", state_of(pid));
    if (*wchan && strcmp(wchan, "0") != 0)
        gw_text_say(text, ", waits in %s", wchan);
    if (isdigit((unsigned char)*syscall))
        gw_text_say(text, ", in system call %s", syscall);
}

/* Its stack in the kernel, which only root may see. */
static void say_kernel_stack(struct gw_text *text, pid_t pid)
{
    char stack[STACK_BYTES], *rest = NULL;
    read_proc(pid, "stack", stack);
    int lines = 0;
    for (char *line = strtok_r(stack, "\n", &rest); line && lines++ < KERNEL_LINES;
         line = strtok_r(NULL, "\n", &rest))
        gw_text_say(text, "  %s\n", line);
}

/* Each line of a text behind a mark, so that nobody takes it for the program's own; from malloc. */
static char *mark_lines(const char *text)
{
    static const char mark[] = "gangway: ";
    char *to = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&to, &bytes);
    GW_MUST_PTR(stream);
    for (const char *line = text; *line; line += *line == '\n') {
        const size_t length = strcspn(line, "\n");
        (void)fprintf(stream, "%s%.*s\n", mark, (int)length, line);
        line += length;
    }
    GW_MUST(fclose(stream));
    return to;
}

/* Where all stand now. */
static void look(const struct gw_survey *survey, struct gw_stand *stands)
{
    for (uint32_t i = 0; i < survey->count; i++) {
        struct gw_comm_progress progress = {0};
        pid_t pid = gw_usage_pid(survey->host->usage, survey->stands[i].process);
        stands[i] = survey->stands[i];
        stands[i].stopped = pid > 0 && is_stopped(pid);
        if (survey->segment < 0 && pid > 0)
            stands[i].active = gw_usage_cpu_of(pid) +
                               gw_runners_output_bytes(survey->host, survey->stands[i].process);
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

/* Frees the survey. */
static void answer(struct gw_survey *survey)
{
    struct gw_stand *stands = stands_new(survey);
    gw_step_later(survey->host, &(struct gw_event){.type = GW_EVENT_SURVEYED,
                                                   .number = survey->attempt,
                                                   .code = survey->closely,
                                                   .stands = stands,
                                                   .stand_count = survey->count});
    free(stands);
    survey_free(survey);
}

static void list_add(struct gw_survey *survey)
{
    survey->next = survey->host->surveys;
    if (survey->next)
        survey->next->prev = survey;
    survey->host->surveys = survey;
}

static void list_remove(struct gw_survey *survey)
{
    if (survey->prev)
        survey->prev->next = survey->next;
    else
        survey->host->surveys = survey->next;
    if (survey->next)
        survey->next->prev = survey->prev;
}

/* What is seen of a rank: a few words for the scheduler, all of it for its stderr. One that is gone
 * has neither. */
static void look_closely(struct gw_survey *survey, struct gw_stand *stand, const char *said)
{
    static char frames[GW_DEBUGGER_STACK_BYTES], whole[sizeof frames + 4 * STACK_BYTES];
    char path[GW_NODE_PATH_MAX], kernel[STACK_BYTES];
    struct gw_host *host = survey->host;
    struct gw_node_place place;
    struct gw_text text = {whole, sizeof whole, 0}, known = {kernel, sizeof kernel, 0};
    pid_t pid = gw_usage_pid(host->usage, stand->process);
    if (pid <= 0 || !gw_node_core_find(host->core, survey->attempt, stand->rank, &place))
        return;
    pid = program_of(pid);
    say_kernel(&known, pid);
    gw_debugger_frames(said ? said : "", stand->rank, frames, sizeof frames);
    gw_debugger_brief(frames, stand->stack, sizeof stand->stack);
    if (!*stand->stack)
        (void)snprintf(stand->stack, sizeof stand->stack, "%.*s", (int)sizeof stand->stack - 1,
                       kernel);
    gw_text_say(&text, "rank %u stands still, process %d: %s\n%s", stand->rank, (int)pid, kernel,
                frames);
    if (!*frames)
        say_kernel_stack(&text, pid);
    gw_node_output_path(host->log_dir, &place, "err", path);
    gw_notes_add(survey->notes, path, mark_lines(whole));
}

static void on_written(void *arg)
{
    struct gw_survey *survey = arg;
    survey->notes = NULL;
    list_remove(survey);
    answer(survey);
}

/* said: gdb's words, NULL: there are none. The survey is in the list. */
static void conclude(struct gw_survey *survey, const char *said)
{
    survey->notes = gw_notes_new(survey->host->loop);
    for (uint32_t i = 0; i < survey->count; i++)
        look_closely(survey, &survey->stands[i], said);
    gw_notes_write(survey->notes, &(struct gw_notes_done){WRITE_MS_MAX, on_written, survey});
}

static void on_said(const char *said, void *arg)
{
    struct gw_survey *survey = arg;
    survey->debugger = NULL;
    conclude(survey, said);
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
    return survey->debugger != NULL;
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
    if (!survey->closely) {
        answer(survey);
        return;
    }
    list_add(survey);
    if (!start_debugger(survey))
        conclude(survey, NULL);
}

void gw_host_surveys_close(struct gw_host *host)
{
    for (struct gw_survey *survey = host->surveys, *next; survey; survey = next) {
        next = survey->next;
        if (survey->debugger)
            gw_debugger_cancel(survey->debugger);
        if (survey->notes)
            gw_notes_cancel(survey->notes);
        survey_free(survey);
    }
    host->surveys = NULL;
}
