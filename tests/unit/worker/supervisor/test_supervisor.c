/* The supervisor with real processes: how they start and end, and that nothing of them stays. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/wire/enums.h"
#include "tests/unit/worker/supervisor/supervisor_world.h"
#include "worker/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void exit_code_and_signal_are_reported(void **state)
{
    static const struct {
        const char *script;
        int exit_code, number;
    } cases[] = {
        {"exit 0", 0, 0},
        {"exit 7", 7, 0},
        {"kill -SEGV $$", 0, SIGSEGV},
        {"kill -KILL $$", 0, SIGKILL},
    };
    for (uint64_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(i, SHELL(cases[i].script));
        struct harness_event event = wait_exited(i);
        assert_int_equal(event.unasked, 1);
        assert_int_equal(event.exit_code, cases[i].exit_code);
        assert_int_equal(event.signal, cases[i].number);
        assert_int_equal(event.oom, 0);
        wait_reaped(i);
    }
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void start_failure_states_the_cause(void **state)
{
    char foreign[96], closed[96], orphan[96];
    snprintf(foreign, sizeof foreign, "%s/foreign", harness.dir);
    snprintf(closed, sizeof closed, "%s/closed", harness.dir);
    snprintf(orphan, sizeof orphan, "%s/orphan", harness.dir);
    write_file(foreign, "\177ELF of no machine at all", 0700);
    write_file(closed, "#!/bin/sh\n", 0600);
    write_file(orphan, "#!/nowhere/interpreter\n", 0700);
    const struct {
        struct harness_spawn spawn;
        const char *text;
        int code;
    } cases[] = {
        {{.argv = ARGV("/nowhere/program")},
         "cannot start /nowhere/program: no such file",
         GW_ENOENT},
        {{.argv = ARGV("no-such-program-on-path")},
         "no-such-program-on-path: no such file",
         GW_ENOENT},
        {{.argv = ARGV(closed)}, "permission denied", GW_ESTART},
        {{.argv = ARGV(foreign)}, "exec format error: built for another machine", GW_ESTART},
        {{.argv = ARGV(orphan)}, "interpreter", GW_ESTART},
        {{.argv = ARGV("/bin/true"), .cwd = "/nowhere"},
         "working directory /nowhere: no such",
         GW_ESTART},
        {{.argv = ARGV("/bin/true"), .out = "/dev/null/out"},
         "output file /dev/null/out: Not a directory",
         GW_ESTART},
        {{.path = "/bin/true", .argv = (const char *const[]){NULL}}, "no argv[0]", GW_ESTART},
    };
    for (uint64_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct harness_spawn spawn = cases[i].spawn;
        spawn.process = i;
        harness_spawn(&harness, &spawn);
        struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, i);
        assert_int_equal(event.code, cases[i].code);
        if (!strstr(event.text, cases[i].text))
            fail_msg("\"%s\" lacks \"%s\"", event.text, cases[i].text);
    }
    start(100, ARGV("/bin/true")); /* and the next process starts */
    wait_reaped(100);
    assert_int_equal(harness.events.count, 1); /* only its `exited` */
}

/* The CPU mask of a process that is started with `cpus`. */
static void assert_bound(uint64_t process, const char *cpus, const cpu_set_t *wanted)
{
    static const char *const argv[] = {"/bin/grep", "^Cpus_allowed_list:", "/proc/self/status",
                                       NULL};
    char out[96], text[4096] = "Cpus_allowed_list:\t";
    size_t used = strlen(text);
    for (int i = 0, end; i < CPU_SETSIZE; i = end + 1) { /* as the kernel writes it */
        for (end = i; end < CPU_SETSIZE && CPU_ISSET(end, wanted);)
            end++;
        if (end == i)
            continue;
        const char *comma = text[used - 1] == '\t' ? "" : ",";
        used += (size_t)(end - i == 1 ? snprintf(text + used, sizeof text - used, "%s%d", comma, i)
                                      : snprintf(text + used, sizeof text - used, "%s%d-%d", comma,
                                                 i, end - 1));
    }
    (void)snprintf(text + used, sizeof text - used, "\n");
    (void)snprintf(out, sizeof out, "%s/cpus%llu", harness.dir, (unsigned long long)process);
    harness_spawn(&harness, &(struct harness_spawn){
                                .process = process, .argv = argv, .out = out, .cpus = cpus});
    assert_int_equal(wait_exited(process).exit_code, 0);
    wait_reaped(process);
    assert_string_equal(harness_read(out), text);
}

static void cpu_binding_is_limited_to_allowed_cpus(void **state)
{
    cpu_set_t ours, one;
    char list[64];
    int last = 0;
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        last = CPU_ISSET(i, &ours) ? i : last;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    (void)snprintf(list, sizeof list, "%d", last);
    assert_bound(1, list, &one);
    (void)snprintf(list, sizeof list, "%d,%d-4095", last,
                   last); /* most of these CPUs do not exist */
    assert_bound(2, list, &one);
    assert_bound(3, "4094-4095", &ours);
    assert_bound(4, "0-4095", &ours);
    assert_bound(5, "", &ours);
    (void)snprintf(list, sizeof list, "%d,x", last); /* not a list */
    assert_bound(6, list, &ours);
    (void)snprintf(list, sizeof list, "%d-4096", last);
    assert_bound(7, list, &ours);
}

static void process_starts_with_clean_descriptors_and_signals(void **state)
{
    char out[96], err[96];
    snprintf(out, sizeof out, "%s/out", harness.dir);
    snprintf(err, sizeof err, "%s/err", harness.dir);
    const struct harness_spawn spawn = {
        .process = 1,
        .argv =
            ARGV("sh", "-c",
                 "pwd; echo $VALUE; cat; ls -m /proc/self/fd; "
                 "grep -E 'SigBlk|SigIgn' /proc/self/status; cut -d' ' -f1,5,6 /proc/$$/stat; "
                 "n=0; while cmp -s /proc/$$/oom_score_adj /proc/$PPID/oom_score_adj && "
                 "[ $((n+=1)) -lt 1000 ]; do :; done; " /* the reaper lowers its own score again */
                 "cat /proc/$$/oom_score_adj /proc/$PPID/oom_score_adj; "
                 "stat -Lc %a /proc/$$/fd/1; echo $$ >&2"),
        .env = ARGV("PATH=/nowhere:/usr/bin:/bin", "VALUE=of mine"),
        .out = out,
        .err = err,
    };
    harness_spawn(&harness, &spawn);
    uint32_t pid = harness_wait(&harness, GW_MESSAGE_spawned, 1).pid;
    wait_reaped(1);

    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "%s\nof mine\n0, 1, 2, 3\n" /* 3: the descriptor of ls itself */
             "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n%u %u %u\n",
             harness.dir, pid, pid, pid);
    const char *text = harness_read(out);
    if (strncmp(text, wanted, strlen(wanted)) != 0)
        fail_msg("got:\n%swanted:\n%s", text, wanted);
    int own = atoi(harness_read("/proc/self/oom_score_adj"));
    snprintf(wanted, sizeof wanted, "\n%d\n%d\n600\n", own + 500 > 1000 ? 1000 : own + 500, own);
    assert_non_null(strstr(harness_read(out), wanted));
    snprintf(wanted, sizeof wanted, "%u\n", pid);
    assert_string_equal(harness_read(err), wanted);
}

static void runner_gets_its_socket_as_descriptor_3(void **state)
{
    int fds[2];
    char word[3] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    harness_spawn(&harness, &(struct harness_spawn){
                                .process = 1, .argv = SHELL("echo hi >&3"), .runner_fd = fds[1]});
    close(fds[1]);
    assert_int_equal(read(fds[0], word, 2), 2);
    assert_string_equal(word, "hi");
    wait_reaped(1);
    assert_int_equal(read(fds[0], word, 1), 1); /* the newline, and then the end: */
    assert_int_equal(read(fds[0], word, 1), 0); /* no other process has it open */
    close(fds[0]);
}

static void bury_sends_sigterm_before_sigkill(void **state)
{
    start(1, SHELL("trap 'exit 3' TERM; echo $$ > pids; while :; do sleep 0.1; done"));
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, FOREVER_NS);
    struct harness_event event = wait_exited(1);
    assert_int_equal(event.exit_code, 3);
    assert_int_equal(event.unasked, 0);
    wait_reaped(1);
}

static void bury_kills_a_process_that_ignores_sigterm(void **state)
{
    start(1, SHELL("trap '' TERM; echo $$ > pids; while :; do sleep 1000; done"));
    pid_t pid = harness_pid(&harness);
    uint64_t before_ns = gw_clock_now_ns();
    harness_reap(&harness, 1, 200 * GW_NS_PER_MS);
    struct harness_event event = wait_exited(1);
    assert_true(gw_clock_now_ns() - before_ns >= 200 * GW_NS_PER_MS);
    assert_int_equal(event.signal, SIGKILL);
    assert_int_equal(event.oom, 0);
    wait_reaped(1);
    assert_true(harness_is_gone(pid));
}

static void second_bury_shortens_the_grace_period(void **state)
{
    start(1, SHELL("trap '' TERM; echo $$ > pids; while :; do sleep 1000; done"));
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, FOREVER_NS);
    harness_reap(&harness, 1, GW_NS_PER_MS);
    wait_reaped(1);
    harness_reap(&harness, 1, 0);  /* already ended */
    harness_reap(&harness, 99, 0); /* never existed */
    start(2, ARGV("/bin/true"));
    wait_reaped(2);
}

static void bury_continues_a_stopped_process_to_let_it_exit(void **state)
{
    start(1, SHELL("trap 'exit 4' TERM; echo $$ > pids; kill -STOP $$; sleep 1000"));
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, FOREVER_NS);
    assert_int_equal(wait_exited(1).exit_code, 4);
    wait_reaped(1);
}

/* Forks and exits, in a new session each time, as long as possible. */
static int mover_main(void)
{
    int fifo = open("pids", O_WRONLY | O_CLOEXEC);
    uint64_t end_ns = gw_clock_now_ns() + 20 * GW_NS_PER_S;
    dprintf(fifo, "%d\n", (int)getpid());
    signal(SIGTERM, SIG_IGN);
    while (gw_clock_now_ns() < end_ns) {
        if (fork() != 0)
            _exit(0);
        setsid();
    }
    return 0;
}

static void daemons_left_by_a_process_are_killed(void **state)
{
    start(1, HELPER("daemon", "exit 5"));
    pid_t pid = harness_pid(&harness);
    assert_int_equal(wait_exited(1).exit_code, 5);
    wait_reaped(1);
    assert_true(harness_is_gone(pid));
}

static void bury_kills_only_daemons_of_its_own_process(void **state)
{
    start(1, HELPER("daemon", "sleep 1000"));
    pid_t first = harness_pid(&harness);
    start(2, HELPER("daemon", "sleep 1000"));
    pid_t second = harness_pid(&harness);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
    assert_true(harness_is_gone(first));
    assert_false(harness_is_gone(second));
    assert_false(harness_has(&harness, GW_MESSAGE_exited, 2));
    harness_reap(&harness, 2, 10 * GW_NS_PER_MS);
    wait_reaped(2);
    assert_true(harness_is_gone(second));
}

static void process_that_forks_constantly_is_killed(void **state)
{
    start(1, HELPER("mover", "sleep 1000"));
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
}

static void worker_death_kills_all_processes(void **state)
{
    struct harness mine;
    pid_t pids[4];
    harness_open(&mine);
    const char *const *const argvs[] = {
        SHELL("trap '' TERM; echo $$ > pids; while :; do sleep 1000; done"),
        HELPER("daemon", "sleep 1000"),
        HELPER("daemon", "kill -STOP $PPID; sleep 1000"),
        SHELL("setsid sh -c 'echo $$ > pids; exec sleep 1000' & wait"),
    };
    for (uint64_t i = 0; i < 4; i++) {
        harness_spawn(&mine, &(struct harness_spawn){.process = i, .argv = argvs[i]});
        (void)harness_wait(&mine, GW_MESSAGE_spawned, i);
        pids[i] = harness_pid(&mine);
    }
    harness_close(&mine); /* waits for the supervisor */
    for (int i = 0; i < 4; i++)
        assert_true(harness_is_gone(pids[i]));
}

static void beat(struct harness *to)
{
    const struct gw_message message = {.type = GW_MESSAGE_heartbeat};
    assert_int_equal(gw_channel_put(to->channel, &message, (struct gw_channel_fds){0}), 0);
    assert_int_equal(gw_channel_flush(to->channel), 0);
}

/* A worker stops after its first heartbeat and another continues. The processes of the stopped
 * worker end before the scheduler reassigns their tasks, and their ends count against no task. */
static void processes_of_a_stopped_worker_are_killed(void **state)
{
    struct harness still, well;
    (void)state;
    struct harness *both[] = {&still, &well};
    for (size_t i = 0; i < 2; i++) {
        harness_open(both[i]);
        beat(both[i]);
        harness_spawn(both[i], &(struct harness_spawn){
                                   .process = 1, .argv = SHELL("trap '' TERM; tail -f /dev/null")});
        (void)harness_wait(both[i], GW_MESSAGE_spawned, 1);
    }
    const uint64_t begun_ns = gw_clock_now_ns();
    while (!harness_has(&still, GW_MESSAGE_exited, 1)) {
        struct pollfd fd = {.fd = gw_channel_fd(still.channel), .events = POLLIN};
        beat(&well);
        assert_true(gw_clock_now_ns() - begun_ns < 60 * GW_NS_PER_S);
        (void)poll(&fd, 1, 1000);
    }
    assert_true(gw_clock_now_ns() - begun_ns > 9 * GW_NS_PER_S);
    assert_int_equal(harness_wait(&still, GW_MESSAGE_exited, 1).unasked, 0);
    (void)harness_wait(&still, GW_MESSAGE_reaped, 1);
    assert_false(harness_has(&well, GW_MESSAGE_exited, 1));
    for (size_t i = 0; i < 2; i++)
        harness_close(both[i]);
}

static void supervisor_death_kills_all_processes(void **state)
{
    struct harness mine;
    harness_open(&mine);
    harness_spawn(&mine, &(struct harness_spawn){.process = 1,
                                                 .argv = HELPER("daemon", "echo $$ > pids; "
                                                                          "sleep 1000")});
    pid_t daemon = harness_pid(&mine), process = harness_pid(&mine);
    harness_spawn(&mine, &(struct harness_spawn){.process = 2,
                                                 .argv = HELPER("daemon", "kill -STOP $PPID; "
                                                                          "echo $$ > pids; "
                                                                          "sleep 1000")});
    pid_t stopped_daemon = harness_pid(&mine), stopped = harness_pid(&mine);
    kill(mine.supervisor, SIGKILL);
    harness_wait_gone(process);
    harness_wait_gone(daemon);
    harness_wait_gone(stopped);
    harness_wait_gone(stopped_daemon);
    harness_close(&mine);
}

static void process_that_kills_its_reaper_is_still_killed(void **state)
{
    start(1, HELPER("daemon", "echo $$ > pids; sleep 1000"));
    pid_t other_daemon = harness_pid(&harness), other = harness_pid(&harness);
    harness_spawn(&harness, /* its reaper may be dead before it reports the start */
                  &(struct harness_spawn){
                      .process = 2,
                      .argv = HELPER("daemon", "echo $$ > pids; kill -KILL $PPID; sleep 1000")});
    pid_t daemon = harness_pid(&harness), process = harness_pid(&harness);
    assert_int_equal(wait_exited(2).signal, SIGKILL);
    wait_reaped(2);
    assert_true(harness_is_gone(daemon));
    assert_true(harness_is_gone(process));
    assert_false(harness_is_gone(other));
    assert_false(harness_is_gone(other_daemon));
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
    assert_true(harness_is_gone(other_daemon));
}

/* It is also not reported as a program that cannot start, although the program had hardly begun. */
static void early_reaper_death_is_reported_as_sigkill(void **state)
{
    for (uint64_t i = 1; i <= 5; i++) {
        harness_spawn(&harness, &(struct harness_spawn){
                                    .process = i, .argv = SHELL("kill -KILL $PPID; sleep 1000")});
        assert_int_equal(wait_exited(i).signal, SIGKILL);
        wait_reaped(i);
    }
}

static void signals_of_a_process_group_do_not_reach_the_reaper(void **state)
{
    start(1, SHELL("trap '' TERM HUP INT; kill -TERM 0; kill -HUP $PPID; kill -TERM $PPID; "
                   "kill -INT $PPID; exit 6"));
    assert_int_equal(wait_exited(1).exit_code, 6);
    wait_reaped(1);
}

static void output_beyond_its_limit_is_omitted(void **state)
{
    char out[96];
    struct stat status;
    snprintf(out, sizeof out, "%s/out", harness.dir);
    harness_spawn(&harness, &(struct harness_spawn){.process = 1,
                                                    .argv = SHELL("yes | head -c 3000000"),
                                                    .out = out,
                                                    .output_bytes_max = 1000});
    wait_reaped(1);
    assert_int_equal(stat(out, &status), 0);
    assert_in_range(status.st_size, 3000000, 3000000 + 4095);
    assert_true(status.st_blocks * 512 <= 64 << 10);
    assert_int_equal(strlen(harness_read(out)), 4096);
}

/* The process continues as its reader reads, and its last output has no reader when it is ended. */
static void held_process_is_paced_and_ends_at_sigterm(void **state)
{
    char out[96];
    struct stat status;
    snprintf(out, sizeof out, "%s/out", harness.dir);
    harness_spawn(&harness, &(struct harness_spawn){
                                .process = 1,
                                .argv = SHELL("trap 'exit 3' TERM; echo $$ >pids; while :; do "
                                              "head -c 4000000 /dev/zero; done"),
                                .out = out,
                                .output_bytes_max = 1 << 20,
                                .held = true});
    (void)harness_pid(&harness);
    do
        assert_false(harness_has(&harness, GW_MESSAGE_exited, 1));
    while (stat(out, &status) < 0 || status.st_size < GW_HELD_BYTES);
    assert_true(status.st_size < GW_HELD_BYTES + (1 << 20));
    harness_read_to(&harness, 1, 1, 1 << 20);
    while (stat(out, &status) < 0 || status.st_size < GW_HELD_BYTES + (1 << 20))
        assert_false(harness_has(&harness, GW_MESSAGE_exited, 1));
    assert_true(status.st_size < GW_HELD_BYTES + (2 << 20));
    harness_reap(&harness, 1, FOREVER_NS);
    assert_int_equal(wait_exited(1).exit_code, 3);
    wait_reaped(1);
}

static void process_reads_its_input_descriptor(void **state)
{
    char out[96];
    int ends[2];
    snprintf(out, sizeof out, "%s/out", harness.dir);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    harness_spawn(&harness, &(struct harness_spawn){
                                .process = 1, .argv = ARGV("cat"), .out = out, .in_fd = ends[0]});
    close(ends[0]);
    assert_int_equal(write(ends[1], "hello\n", 6), 6);
    close(ends[1]);
    assert_int_equal(wait_exited(1).exit_code, 0);
    wait_reaped(1);
    assert_string_equal(harness_read(out), "hello\n");
}

static void process_id_in_use_is_refused(void **state)
{
    start(1, ARGV("sleep", "1000"));
    harness_spawn(&harness, &(struct harness_spawn){.process = 1, .argv = ARGV("/bin/true")});
    struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, 1);
    assert_int_equal(event.code, GW_ESTART);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
    start(1, ARGV("/bin/true"));
    wait_reaped(1);
}

enum { MANY = 150 };

static void many_processes_end_independently(void **state)
{
    uint32_t pids[MANY];
    for (uint64_t i = 0; i < MANY; i++)
        harness_spawn(&harness,
                      &(struct harness_spawn){.process = i, .argv = ARGV("sleep", "1000")});
    for (uint64_t i = 0; i < MANY; i++) {
        struct harness_event event = harness_wait(&harness, GW_MESSAGE_spawned, i);
        assert_int_equal(event.code, 0);
        pids[i] = event.pid;
    }
    for (uint64_t i = 0; i < MANY; i++)
        harness_reap(&harness, i, i % 2 ? 0 : FOREVER_NS);
    for (uint64_t i = 0; i < MANY; i++) {
        assert_int_equal(wait_exited(i).signal, i % 2 ? SIGKILL : SIGTERM);
        wait_reaped(i);
        assert_true(harness_is_gone((pid_t)pids[i]));
    }
    for (uint64_t i = 0; i < MANY; i++) { /* and their reapers work again, or are replaced */
        start(i, ARGV("/bin/true"));
        wait_reaped(i);
    }
}

/* The epilog runs when no process is left, in the same environment, before `reaped` is reported.
 * Reaping the process again does not end the epilog, and processes that the epilog leaves are
 * killed, too. */
static void epilog_runs_after_all_processes_ended(void **state)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", "NAME=value", NULL};
    char path[128], script[512], line[64] = "";
    (void)snprintf(path, sizeof path, "%s/epilog", harness.dir);
    (void)snprintf(script, sizeof script,
                   "read pid < %s/pid; kill -0 $pid 2>/dev/null && echo early > %s; "
                   "(trap '' TERM; exec setsid sleep 1000) & echo $NAME $GANGWAY_EXIT_CODE >> %s",
                   harness.dir, path, path);
    char body[256];
    (void)snprintf(body, sizeof body,
                   "setsid sleep 1000 & echo $! > %s/pid; echo $$ > %s/pids; wait", harness.dir,
                   harness.dir);
    harness_spawn(&harness,
                  &(struct harness_spawn){
                      .process = 1, .argv = SHELL(body), .env = env, .epilog = SHELL(script)});
    (void)harness_wait(&harness, GW_MESSAGE_spawned, 1);
    (void)harness_pid(&harness);
    harness_reap(&harness, 1, 0);
    (void)wait_exited(1);
    harness_reap(&harness, 1, 0);
    wait_reaped(1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "value 137\n");
    fclose(file);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/pid", harness.dir);
    (void)unlink(path);
}

/* A failed epilog does not delay the report that the process ended. */
static void epilog_that_cannot_start_does_not_block_the_end(void **state)
{
    harness_spawn(&harness, &(struct harness_spawn){.process = 1,
                                                    .argv = ARGV("true"),
                                                    .epilog = ARGV("/no/such/program")});
    (void)wait_exited(1);
    wait_reaped(1);
    start(2, ARGV("true"));
    wait_reaped(2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "supervisor") == 0)
        return gw_supervisor_main(argc - 1, argv + 1);
    if (argc == 2 && strcmp(argv[1], "daemon") == 0)
        return supervisor_daemon_main();
    if (argc == 2 && strcmp(argv[1], "mover") == 0)
        return mover_main();
    if (readlink("/proc/self/exe", supervisor_self, sizeof supervisor_self - 1) < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(exit_code_and_signal_are_reported),
        TEST(start_failure_states_the_cause),
        TEST(cpu_binding_is_limited_to_allowed_cpus),
        TEST(process_starts_with_clean_descriptors_and_signals),
        TEST(runner_gets_its_socket_as_descriptor_3),
        TEST(bury_sends_sigterm_before_sigkill),
        TEST(bury_kills_a_process_that_ignores_sigterm),
        TEST(second_bury_shortens_the_grace_period),
        TEST(bury_continues_a_stopped_process_to_let_it_exit),
        TEST(daemons_left_by_a_process_are_killed),
        TEST(bury_kills_only_daemons_of_its_own_process),
        TEST(process_that_forks_constantly_is_killed),
        TEST(process_that_kills_its_reaper_is_still_killed),
        TEST(early_reaper_death_is_reported_as_sigkill),
        TEST(signals_of_a_process_group_do_not_reach_the_reaper),
        TEST(output_beyond_its_limit_is_omitted),
        TEST(held_process_is_paced_and_ends_at_sigterm),
        TEST(process_reads_its_input_descriptor),
        TEST(process_id_in_use_is_refused),
        TEST(many_processes_end_independently),
        TEST(epilog_runs_after_all_processes_ended),
        TEST(epilog_that_cannot_start_does_not_block_the_end),
        cmocka_unit_test(worker_death_kills_all_processes),
        cmocka_unit_test(supervisor_death_kills_all_processes),
        cmocka_unit_test(processes_of_a_stopped_worker_are_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
