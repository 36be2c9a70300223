#include "tests/e2e/programs/subject.h"

#include "tests/e2e/programs/check.h"

#include <string.h>
#include <unistd.h>

static int hang(struct gw_task *task)
{
    const char *path;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    subject_say_pid(path, "hangs");
    for (;;)
        pause();
}
GW_TASK(hang);

static int march(struct gw_task *task)
{
    const char *path;
    int64_t step = 0;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    int rc = gw_task_step(task, step, NULL, 0);
    FILE *fifo = gw_task_rank(task) == 0 ? fopen(path, "w") : NULL;
    if (fifo)
        (void)fclose(fifo);
    while (rc == GW_CONTINUE)
        rc = gw_task_step(task, ++step, NULL, 0);
    char name[4096];
    (void)snprintf(name, sizeof name, "%s.%u", path, gw_task_rank(task));
    FILE *file = fopen(name, "w");
    if (!file)
        return gw_task_fail(task, GW_EIO, "cannot write %s", name);
    (void)fprintf(file, "%d %lld\n", rc, (long long)step);
    (void)fclose(file);
    return rc;
}
GW_TASK(march);

static int need_file(struct gw_task *task)
{
    const char *path;
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    if (access(path, F_OK) < 0)
        return gw_task_fail(task, GW_ENOENT, "%s is not there", path);
    return gw_task_return(task, gw_str("there"));
}
GW_TASK(need_file);

void subject_say(const char *path, const char *text)
{
    FILE *fifo = fopen(path, "w");
    CHECK(fifo);
    (void)fprintf(fifo, "%s\n", text);
    (void)fclose(fifo);
}

void subject_say_pid(const char *path, const char *text)
{
    char line[64];
    (void)snprintf(line, sizeof line, "%s %d", text, (int)getpid());
    subject_say(path, line);
}

void subject_hear(const char *path, char *text, size_t size)
{
    char line[256] = "";
    FILE *fifo = fopen(path, "r");
    CHECK(fifo);
    if (fgets(line, sizeof line, fifo) && text)
        (void)snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
    (void)fclose(fifo);
}

void subject_make_file(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file);
    (void)fclose(file);
}

int64_t subject_i64(struct gw_future *future, uint32_t rank)
{
    struct gw_value *value;
    int64_t n;
    MUST(gw_future_get(future, rank, &value, &error));
    MUST(gw_value_get_i64(value, &n, &error));
    gw_value_unref(value);
    return n;
}

int subjects_main(const struct subjects *subjects, int argc, char **argv)
{
    const struct subject *subject = NULL;
    gw_init(&argc, &argv);
    for (size_t i = 0; argc == 3 && i < subjects->count; i++)
        if (strcmp(subjects->list[i].name, argv[1]) == 0)
            subject = &subjects->list[i];
    if (!subject) {
        (void)fprintf(stderr, "wants SUBJECT PATH\n");
        return 2;
    }
    MUST(gw_client_open(subjects->options, subjects->client, &error));
    if (subjects->other)
        MUST(gw_client_open(subjects->options, subjects->other, &error));
    subject->run(argv[2]);
    gw_client_close(*subjects->client);
    if (subjects->other)
        gw_client_close(*subjects->other);
    (void)printf("%s: well\n", subject->name);
    return 0;
}
