/* Lets a test count how often tasks ran: each appends a line to a file. */
#ifndef GW_TESTS_E2E_APPEND_H
#define GW_TESTS_E2E_APPEND_H

#include <fcntl.h>
#include <gangway/task.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* append writes the line with one call, so that lines of several tasks do not mix; 0 or GW_EIO. */
__attribute__((format(printf, 3, 4))) static inline int
append(struct gw_task *task, const char *path, const char *format, ...)
{
    char line[64];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, line, (size_t)length) == length;
    if (fd >= 0)
        close(fd);
    return written ? 0 : gw_task_fail(task, GW_EIO, "cannot append to %s", path);
}

#endif
