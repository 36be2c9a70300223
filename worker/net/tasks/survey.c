/* Surveys: what the ranks of a gang are doing. A survey reads a few small files of /proc and a few
 * words of shared memory per rank, and does not block.
 *
 * A close survey also collects stacks: from gdb if it is on PATH and may attach, otherwise what the
 * kernel shows. The full stacks are appended to the stderr of the rank, and a few frames go to the
 * scheduler. This takes a while, so the state of the ranks is read again afterwards. A rank that
 * has made progress meanwhile is then not taken for one that hangs. gdb examines only a few ranks,
 * those that are furthest behind first. */
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
    STACK_BYTES = 600, /* maximum bytes read from a file of /proc */
    KERNEL_LINES = 16, /* maximum lines of a kernel stack */
    CHILD_DEPTH = 4,
    WRITE_MS_MAX = 2000, /* maximum time to wait until the stacks are written */
};

/* A survey in progress. It is in the host's list while gdb runs or a thread writes the stacks. */
struct gw_survey {
    struct gw_host *host;
    struct gw_survey *prev, *next;
    struct gw_debugger *debugger; /* NULL: gdb does not run */
    struct gw_notes *notes;       /* NULL: no stacks are being written */
    uint64_t attempt;
    int segment; /* duplicate of the segment's descriptor; -1: none */
    bool closely;
    struct gw_stand *stands; /* as requested; later with their stacks */
    uint32_t count;
};

/* Reads /proc/PID/NAME without trailing white space. The text is empty if the file cannot be read.
 */
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

/* Returns the state of a process: 'R', 'S', 'T' and so on. '?': it has ended. */
static char state_of(pid_t pid)
{
    char stat[STACK_BYTES];
    read_proc(pid, "stat", stat);
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : '?';
}

/* Returns the first child of a process. 0: none. */
static pid_t child_of(pid_t pid)
{
    char children[STACK_BYTES], name[48];
    (void)snprintf(name, sizeof name, "task/%d/children", (int)pid);
    read_proc(pid, name, children);
    return (pid_t)strtol(children, NULL, 10);
}

/* Returns the process that does a rank's work. If a shell waits for a program, it is that program.
 */
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

/* Returns true if a process, or a child of it (for example of a shell), is stopped. */
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

/* Writes the state of a process as the kernel shows it. */
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

/* Writes the kernel stack of a process, which only root may read. */
static void say_kernel_stack(struct gw_text *text, pid_t pid)
{
    char stack[STACK_BYTES], *rest = NULL;
    read_proc(pid, "stack", stack);
    int lines = 0;
    for (char *line = strtok_r(stack, "\n", &rest); line && lines++ < KERNEL_LINES;
         line = strtok_r(NULL, "\n", &rest))
        gw_text_say(text, "  %s\n", line);
}

/* Puts a mark before each line of a text, so that users do not take it for output of the program.
 * The caller frees the result. */
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

/* Reads the current state of all ranks of the survey. */
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

/* Orders ranks: stopped ones first, then those with the fewest collectives, then by rank. */
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

/* Delivers the event SURVEYED and frees the survey. */
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

/* Collects the stack of a rank: a few frames for the scheduler, and all of it for its stderr. It
 * does nothing if the rank has ended. */
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

/* Finishes a close survey, which is in the list. `said` is the output of gdb, or NULL. */
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

/* Starts gdb. Returns false if it was not started. */
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
