/* Programs of subjects: a test names one of them, and a path of its own, often a fifo. */
#ifndef GW_TESTS_E2E_SUBJECT_H
#define GW_TESTS_E2E_SUBJECT_H

#include <gangway/gangway.h>

struct subject {
    const char *name;
    void (*run)(const char *path); /* it asserts, or ends the program */
};

struct subjects {
    const struct gw_client_options *options; /* NULL: defaults */
    struct gw_client **client;               /* open while a subject runs */
    struct gw_client **other;                /* likewise; NULL: one client is enough */
    const struct subject *list;
    size_t count;
};

/* subjects_main is main: `NAME PATH` runs a subject and says on stdout that it went well. 2 where
 * there is no such subject. */
int subjects_main(const struct subjects *subjects, int argc, char **argv);

/* subject_i64 waits for the number that a rank of a future (borrowed) gives. */
int64_t subject_i64(struct gw_future *future, uint32_t rank);

/* subject_say writes a line into a fifo when somebody reads it, subject_say_pid "TEXT PID";
 * subject_hear waits until somebody has written there, and gives the line (NULL: it does not
 * matter). */
void subject_say(const char *path, const char *text);
void subject_say_pid(const char *path, const char *text);
void subject_hear(const char *path, char *text, size_t size);

/* subject_make_file makes an empty file, as need_file wants. */
void subject_make_file(const char *path);

/* hang says "hangs PID" on a fifo, then waits for ever. */
GW_TASK_DECLARE(hang);

/* march says that it runs by opening a fifo, rank 0 alone, and makes steps until they are answered
 * with other than "go on", which it returns. Each rank writes that and its step to PATH.RANK. */
GW_TASK_DECLARE(march);

/* need_file fails until the file is there. */
GW_TASK_DECLARE(need_file);

#endif
