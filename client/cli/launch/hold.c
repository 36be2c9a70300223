/* Runs a command while a lease is held. Signals to this process are blocked, and the main thread
 * forwards them to the command. Signals from the terminal reach the command directly, so they are
 * not forwarded. */
#include "client/cli/launch/hold.h"

#include "graph/base/exec_search.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126, SIGNALLED = 128 };

static void signals_of(sigset_t *set)
{
    static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        sigaddset(set, passed[i]);
}

/* Runs the command in the child; never returns. If it fails, it writes errno to the pipe. */
static void become(char *const *argv, pid_t parent, int said, const sigset_t *before)
{
    int code = 0;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
        _exit(SIGNALLED + SIGTERM); /* the parent has died, so the lease is not held any more */
    (void)sigprocmask(SIG_SETMASK, before, NULL);
    (void)execvp(argv[0], argv);
    code = errno;
    if (write(said, &code, sizeof code) < 0)
        _exit(NOT_EXECUTABLE);
    _exit(NOT_EXECUTABLE);
}

/* Checks whether the command has ended, and sets its exit code. Returns false while it runs. */
static bool ended(pid_t pid, int *exit_code)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    *exit_code = WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

static void watch(pid_t pid, const sigset_t *set, int *exit_code)
{
    while (!ended(pid, exit_code)) {
        siginfo_t info;
        int number = sigwaitinfo(set, &info);
        if (number > 0 && number != SIGCHLD &&
            info.si_code <= 0) /* another process has sent the signal to this process only */
            (void)kill(pid, number);
    }
}

int gw_hold_run(char *const *argv, int *exit_code, struct gw_error *error)
{
    sigset_t set, before;
    int said[2], code = 0;
    if (pipe2(said, O_CLOEXEC) < 0)
        return gw_error_set(error, GW_EIO, "pipe: %s", strerror(errno));
    signals_of(&set);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(argv, parent, said[1], &before);
    int failed = pid < 0 ? errno : 0;
    close(said[1]);
    if (pid > 0)
        watch(pid, &set, exit_code);
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
        continue; /* drop signals that arrived when the command ended: they were for the command */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && read(said[0], &code, sizeof code) == sizeof code) {
        code = gw_exec_search_refusal(argv[0], getenv("PATH"), code);
        *exit_code = code == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
        fprintf(stderr, "gangway: %s: %s\n", argv[0], strerror(code));
    }
    close(said[0]);
    return failed ? gw_error_set(error, GW_EIO, "fork: %s", strerror(failed)) : 0;
}
