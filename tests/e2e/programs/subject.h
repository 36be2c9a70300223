/* Programs of subjects: a test selects one of them, and passes a path of its own, often a fifo. */
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
    struct gw_client **other;                /* likewise; NULL: a second client is not needed */
    const struct subject *list;
    size_t count;
};

/* subjects_main is main: `NAME PATH` runs a subject and reports on stdout that it succeeded.
 * Returns 2 if there is no such subject. */
int subjects_main(const struct subjects *subjects, int argc, char **argv);

/* subject_i64 waits for the number returned by a rank of a future (borrowed). */
int64_t subject_i64(struct gw_future *future, uint32_t rank);

/* subject_say writes a line to a fifo when it is read, subject_say_pid writes "TEXT PID";
 * subject_hear waits until a line was written there and returns it (NULL: the line does not
 * matter). */
void subject_say(const char *path, const char *text);
void subject_say_pid(const char *path, const char *text);
void subject_hear(const char *path, char *text, size_t size);

/* subject_make_file makes an empty file for need_file. */
void subject_make_file(const char *path);

/* hang writes "hangs PID" to a fifo, and then waits without end. */
GW_TASK_DECLARE(hang);

/* march reports that it runs by opening a fifo, by rank 0 only, and makes steps until the answer is
 * other than "continue", which it returns. Each rank writes that answer and its step to PATH.RANK.
 */
GW_TASK_DECLARE(march);

/* need_file fails until the file exists. */
GW_TASK_DECLARE(need_file);

#endif
