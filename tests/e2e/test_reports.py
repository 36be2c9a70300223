#!/usr/bin/env python3
"""Commands report metrics: at the socket GANGWAY_REPORT, and with `gangway report`."""
import json
import os
import re
import signal
import time

import e2e

# Reports the lines of its arguments at one connection, and prints the answers.
REPORT = r'''import os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["GANGWAY_REPORT"])
link.settimeout(60)
answers = link.makefile()
for line in sys.argv[1:]:
    link.sendall(line.encode() + b"\n")
    print(answers.readline(), end="", flush=True)
'''


class Reports(e2e.Case):
    def setUp(self):
        super().setUp()
        self.program = self.write("report.py", REPORT)

    def job(self, *arguments, rc=0, command="submit"):
        """Runs a command as a job, and returns its output and the metrics of its first task."""
        done = self.gangway(command, "--name", "job", *arguments, rc=rc)
        return done.stdout, self.task("job")

    def task(self, job):
        return self.gangway_json("tasks", job)[0]

    def answers(self, *lines):
        """The answers to lines that a program in Python reports."""
        output, _ = self.job("--", "python3", self.program, *lines)
        return [json.loads(line) for line in output.splitlines()]

    def wait_metric(self, job, name, value):
        while self.task(job).get("metrics", {}).get(name) != value:
            pass

    def test_python_reports_json_and_gets_an_answer_for_each_line(self):
        self.up("--slots", "2")
        self.assertEqual(self.answers('{"step": 3, "loss": 0.5, "accuracy": 0.25}',
                                      '{"step": 4, "loss": 1e-3, "größe": 2, "gap": NaN}'),
                         [{"answer": "continue"}] * 2)
        task = self.task("job")
        self.assertEqual(task["metric"]["step"], 4)
        gap = task["metrics"].pop("gap")
        self.assertEqual(task["metrics"], {"loss": 0.001, "accuracy": 0.25, "größe": 2})
        self.assertTrue(gap is None or gap != gap)

    def test_a_bad_line_gets_an_error_and_the_connection_stays(self):
        self.up("--slots", "2")
        metrics = ",".join(f'"m{i}": 1' for i in range(9))
        answers = self.answers("hello", '["loss"]', '{"loss": "low"}', '{"step": 0.5}',
                               '{"loss": 1, "loss": 2}', f"{{{metrics}}}",
                               '{"' + "n" * 128 + '": 1}', '{"loss": 1}' + " " * 5000,
                               '{"loss": 7}')
        for answer, words in zip(answers, ("one line of JSON", "not an object", "must be a number",
                                           "whole number", "duplicate", "at most 8 metrics",
                                           "1 to 127 bytes", "at most 4096 bytes")):
            self.assertIn(words, answer["error"])
        self.assertEqual(answers[8:], [{"answer": "continue"}])
        self.assertEqual(self.task("job")["metric"]["step"], 1)  # the only report

    def test_ninth_metric_of_a_task_gets_an_error(self):
        self.up("--slots", "2")
        answers = self.answers(*(f'{{"m{i}": 1}}' for i in range(9)), '{"m0": 2}')
        self.assertEqual(answers.pop(8), {"error": 'a task may have at most 8 metrics: "m8" is not '
                                                   'kept'})
        self.assertEqual(answers, [{"answer": "continue"}] * 9)
        self.assertEqual(len(self.task("job")["metrics"]), 8)

    def test_the_shell_reports_with_gangway_report(self):
        self.up("--slots", "2")
        output, task = self.job("--", "sh", "-c",
                                "gangway report step=5 loss=.5 && "
                                "gangway report loss=inf --json && "
                                "gangway report --exit-code step=7 loss=-2e0; echo $?")
        self.assertEqual(output, 'continue\n{"answer":"continue"}\ncontinue\n0\n')
        self.assertEqual((task["metric"]["step"], task["metrics"]), (7, {"loss": -2}))
        for pair, words in (("loss", "NAME=NUMBER"), ("=3", "NAME=NUMBER"), ("loss=", "a number"),
                            ("loss=3x", "a number"), ("step=1.5", "whole number")):
            done = self.gangway("submit", "--", "gangway", "report", pair, rc=2)
            self.assertIn(words, done.stderr)
        self.assertIn("given twice", self.gangway("submit", "--", "gangway", "report", "a=1", "a=2",
                                                  rc=2).stderr)
        self.assertIn("only a command that runs as a task",
                      self.gangway("report", "loss=1", rc=2).stderr)

    def test_reports_that_nobody_answers_to_are_not_lost(self):
        """The last line lacks its newline, and the program does not wait for the answers."""
        self.up("--slots", "2")
        program = self.write("rush.py", 'import os, socket\nlink = socket.socket(socket.AF_UNIX)\n'
                             'link.connect(os.environ["GANGWAY_REPORT"])\n'
                             'link.sendall(b\'{"loss": 1}\\n\' * 300 + b\'{"loss": 5}\')\n')
        for _ in range(3):
            _, task = self.job("--", "python3", program)
            self.assertEqual((task["metric"]["step"], task["metrics"]), (301, {"loss": 5}))

    def test_a_task_has_at_most_16_connections_and_a_later_task_its_own(self):
        self.up("--slots", "1")
        program = self.write("many.py", r'''import os, socket
links = [socket.socket(socket.AF_UNIX) for _ in range(17)]
for link in links:
    link.settimeout(60)
    link.connect(os.environ["GANGWAY_REPORT"])
print(links[16].makefile().readline(), end="")
links[15].sendall(b'{"loss": 1}\n')
print(links[15].makefile().readline(), end="")
if os.fork() == 0:  # holds all of them until it is killed
    os.setsid()
    os.execlp("tail", "tail", "-f", "/dev/null")
''')
        for _ in range(2):
            output, _ = self.job("--", "python3", program)
            error, answer = (json.loads(line) for line in output.splitlines())
            self.assertIn("16 connections", error["error"])
            self.assertEqual(answer, {"answer": "continue"})

    def test_only_the_user_may_connect_and_the_socket_goes_with_the_worker(self):
        self.up("--slots", "2")
        output, _ = self.job("--", "sh", "-c", 'stat -c %a "$GANGWAY_REPORT"; echo $GANGWAY_REPORT')
        mode, path = output.split()
        self.assertEqual(mode, "600")
        again, _ = self.job("--", "sh", "-c", "echo $GANGWAY_REPORT")
        self.assertEqual(again.strip(), path)
        self.gangway("down")
        self.is_up = False
        self.assertFalse(os.path.exists(path))

    def test_all_ranks_of_a_gang_stop_at_the_same_step(self):
        """Each rank reports its next step when the other has reported the last one."""
        self.up("--slots", "2")
        ready = self.fifo("ready")
        program = self.write("ranks.sh", f'''trap "" TERM
rank=$RANK other=$((1 - RANK)) step=0 answer=continue
while [ $answer = continue ]; do
    step=$((step + 1))
    answer=$(gangway report step=$step loss=$rank) || exit 1
    touch {self.dir}/$rank.$step
    until [ -e {self.dir}/$other.$step ]; do [ -d {self.dir} ] || exit 1; done
    [ $rank.$step != 0.3 ] || echo >{ready}
done
echo $answer $step
''')
        job = self.gangway("dispatch", "-d", "-n", "2", "--", "sh", program).stdout.strip()
        self.read_fifo(ready)
        self.gangway("stop", job)
        self.gangway("wait", job)
        answers = re.findall(r"(\w+) (\d+)", self.gangway("logs", job).stdout)
        self.assertEqual(len(answers), 2)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0][0], "stop")
        self.assertEqual(self.task(job)["metrics"], {"loss": 0})

    def test_ranks_of_a_command_stop_at_the_step_of_the_option(self):
        done = self.gangway("dispatch", "-n", "2", "--until-step", "3", "--", "sh", "-c",
                            "for step in 1 2 3 4; do echo $step $(gangway report step=$step); done")
        for rank in range(2):
            self.assertEqual(re.findall(rf"\[{rank}\] (.*)", done.stdout),
                             ["1 continue", "2 continue", "3 stop", "4 stop"])

    def test_metrics_are_read_from_the_output(self):
        """Numbers in its lines, also in the last one, which has no newline. Progress bars end
        their lines with a carriage return."""
        self.up("--slots", "2")
        printed, task = self.job("--metric", "loss", "--metric", "val-acc", "--", "printf",
                                 r"epoch=1 loss=4 other=9\nval-acc = .5\r\nloss=nan\n"
                                 r"loss=3 \rstep=9 loss=2.5e-1")
        self.assertIn("other=9", printed)
        self.assertEqual(task["metrics"], {"loss": 0.25, "val-acc": 0.5})
        self.assertEqual(task["metric"]["step"], 9)
        self.job("--metric", "loss", "--", "printf", r"loss=%s\n", "5", "4", "3")
        self.assertEqual(self.task("job")["metric"]["step"], 3)  # the number of lines
        now_ns = time.time_ns()
        for row in self.gangway("metrics", "job", "--json").stdout.splitlines():
            self.assertLess(abs(json.loads(row)["time_ns"] - now_ns), 600e9)
        said = self.gangway("submit", "--metric", "a b", "--", "true", rc=2).stderr
        self.assertIn("the name of a metric in the output", said)

    def test_printed_metrics_are_shown_while_the_task_runs(self):
        self.up("--slots", "2")
        fifo = self.fifo()
        job = self.gangway("dispatch", "-d", "-n", "2", "--metric", "loss", "--", "sh", "-c",
                           f"echo loss=$RANK; [ $RANK = 1 ] || cat {fifo}").stdout.strip()
        self.wait_metric(job, "loss", 0)
        with open(fifo, "w", encoding="utf-8") as f:
            f.write("loss=5")
        self.gangway("wait", job)
        self.assertEqual(self.task(job)["metrics"], {"loss": 5})  # of rank 0

    def test_metrics_are_read_from_much_output(self):
        """Of output beyond 64 MiB, what is stored is read: the beginning and the end. Of a line of
        10 MB, the beginning is."""
        self.up("--slots", "2")
        for script in ("head -c 40M /dev/zero", "yes 'step=1 loss=7' | head -c 40M",
                       "yes 'step=1 loss=7' | head -c 100M",
                       "printf loss=7; head -c 10M /dev/zero | tr '\\0' x"):
            job = self.gangway("submit", "-d", "--metric", "loss", "--metric", "end", "--", "sh",
                               "-c", f"echo loss=9; {script}; echo; echo step=3 end=1 loss=2")
            job = job.stdout.strip()
            self.gangway("wait", job)
            self.assertEqual(self.task(job)["metrics"], {"loss": 2, "end": 1}, script)

    def test_a_task_that_is_told_to_end_is_answered_with_stop_or_pause(self):
        self.up("--slots", "2")
        program = self.write("ends.sh", 'trap "gangway report loss=2; exit 1" TERM\n'
                                        'gangway report loss=1; while :; do read -r l <FIFO; done')
        text = f"cd {self.dir}; [ -p FIFO ] || mkfifo FIFO; exec sh {program}"
        for verb, words, answer in (("cancel", ["submit", "-d"], "stop"),
                                    ("pause", ["dispatch", "-d", "-n", "1"], "pause")):
            job = self.gangway(*words, "--", "sh", "-c", text).stdout.strip()
            self.wait_metric(job, "loss", 1)
            self.gangway(verb, job)
            self.wait_said(rf"continue\n(.* )?{answer}\n", "logs", job)
            self.gangway("cancel", job, rc=None)

    def test_reports_work_while_the_scheduler_restarts(self):
        self.up("--slots", "2", "--orphan-timeout", "60s")
        go = self.fifo("go")
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           f"gangway report step=1 loss=1; read -r l <{go}; "
                           f"gangway report step=2 loss=2; read -r l <{go}; "
                           "gangway report step=3 loss=3").stdout.strip()
        self.wait_metric(job, "loss", 1)
        scheduler = self.process_of("scheduler --dir")
        os.kill(scheduler, signal.SIGKILL)
        self.assert_gone([scheduler])
        with open(go, "w", encoding="utf-8") as f:
            f.write("\n")
        self.gangway("up", "--orphan-timeout", "60s")
        with open(go, "w", encoding="utf-8") as f:
            f.write("\n")
        self.gangway("wait", job)
        self.assertEqual(self.gangway("logs", job).stdout, "continue\n" * 3)
        self.assertEqual(self.task(job)["metrics"], {"loss": 3})
        rows = self.rows("metrics", job, "--json")
        self.assertEqual([(row["step"], row["value"]) for row in rows], [(1, 1), (2, 2), (3, 3)])

    def rows(self, *command):
        """The lines of JSON that a command prints."""
        return [json.loads(line) for line in self.gangway(*command).stdout.splitlines()]

    def test_metrics_lists_every_report(self):
        self.up("--slots", "2")
        lines = [f'{{"step": {step}, "loss": {step}, "gap": NaN}}' for step in range(30)]
        self.job("--", "python3", self.program, *lines)
        rows = self.rows("metrics", "job", "--json", "--name", "loss")
        self.assertEqual([row["step"] for row in rows], list(range(30)))
        self.assertEqual(sorted(rows[0]),
                         ["index", "job", "name", "seq", "step", "time_ns", "value"])
        self.assertIsNone(self.rows("metrics", "job/0", "--json", "--name", "gap")[0]["value"])
        done = self.gangway("metrics", "job", "--limit", "4")
        head, *table = done.stdout.splitlines()
        self.assertEqual(head.split(), ["TASK", "STEP", "TIME", "VALUE", "NAME"])
        self.assertEqual([line.split()[-2:] for line in table],
                         [["28", "loss"], ["nan", "gap"], ["29", "loss"], ["nan", "gap"]])
        self.assertIn("only the last 4 are shown", done.stderr)

    def test_metrics_follows_until_the_job_has_ended(self):
        self.up("--slots", "2")
        go = self.fifo("go")
        job = self.gangway("submit", "-d", "--", "sh", "-c",
                           f"gangway report step=1 loss=1; read -r l <{go}; "
                           "gangway report step=2 loss=2").stdout.strip()
        follow = self.start(e2e.BINARY, "metrics", job, "--follow", "--json")
        follow.wait_output('"step":1')
        self.assertNotIn('"step":2', follow.text)
        with open(go, "w", encoding="utf-8") as f:
            f.write("\n")
        self.assertEqual(follow.wait(), 0)
        rows = [json.loads(line) for line in follow.text.splitlines()]
        self.assertEqual([(row["step"], row["value"]) for row in rows], [(1, 1), (2, 2)])

    def test_silent_task_that_reports_is_not_ended_by_its_inactivity_timeout(self):
        """Its output does not grow, and it reports for longer than its inactivity timeout."""
        self.up("--slots", "2")
        program = self.write("alive.py", REPORT.replace(
            "for line in sys.argv[1:]:", "import time\nend = time.monotonic() + 1\n"
            "while time.monotonic() < end:\n    line = '{}'").replace(
                "    print(answers.readline(), end=\"\", flush=True)",
                "    answers.readline()"))
        self.gangway("submit", "--inactivity-timeout", "300ms", "--", "python3", program)


if __name__ == "__main__":
    e2e.main()
