#!/usr/bin/env python3
"""Preempted work: what its users see. (tests/chaos/preemption preempts again and again.)"""
import json

import e2e

POLICY = """
policy = { default-account = "all"; default-queue = "night"; preempt-after = 0; };
accounts = ( { name = "all"; } );
queues = ( { name = "night"; requeue = true; }, { name = "day"; priority = 10; } );
scheduler = { workers = 1; slots = 2; };
"""


# Reports three steps, and waits in the second until it is preempted.
TRIAL = """#!/bin/sh
at=$GANGWAY_CHECKPOINT_DIR/step-$RANK step=0
[ ! -e "$at" ] || step=$(cat "$at")
trap 'exit 0' TERM
while [ "$step" -lt 3 ]; do
    step=$((step + 1))
    "$GANGWAY_BINARY" report step=$step loss="$1.$step"
    echo $step > "$at"
    if [ $step = 2 ]; then
        echo here > "$LINES"
        while :; do read -r line < "$NEVER"; done
    fi
done
"""


class Preemption(e2e.Case):
    def open_cluster(self):
        self.write("gangway.conf", POLICY)
        scheduler = self.start(e2e.BINARY, "scheduler", "--config", "gangway.conf")
        self.is_up = True
        scheduler.wait_output("worker-1")
        self.lines = e2e.Lines(self.fifo("lines"))
        self.addCleanup(self.lines.close)

    def test_trials_of_a_sweep_continue_and_report_each_step_once(self):
        self.open_cluster()
        sweep = self.start(e2e.BINARY, "sweep", "--name", "s", "--minimize", "loss", "--param",
                           "x=1,2", "--parallel", "1", "-n", "2", "--", self.write("trial", TRIAL),
                           "{x}", env={"LINES": self.lines.path, "NEVER": self.fifo("never")})
        for _ in range(2):
            for _ in range(2):
                self.lines.next()
            self.gangway("dispatch", "--queue", "day", "-n", "2", "--", "true")
        self.assertEqual(sweep.wait(), 0, sweep.text)
        trials = self.gangway_json("sweep", "show", "s")["trials"]
        self.assertEqual([(trial["state"], trial["value"], trial["starts"]) for trial in trials],
                         [("done", 1.3, 1), ("done", 2.3, 1)])
        for trial in trials:
            reports = self.gangway("metrics", str(trial["job"]), "--json").stdout.splitlines()
            self.assertEqual([json.loads(report)["step"] for report in reports], [1, 2, 3])

    def test_users_see_by_whom_their_job_was_preempted_and_what_follows(self):
        self.open_cluster()
        lines, never, held = self.lines, self.fifo("never"), self.fifo("held")
        script = (f"trap 'exit 0' TERM; echo here > {lines.path}; "
                  f"[ $GANGWAY_RESTART_COUNT = 1 ] || while :; do read x < {never}; done")
        training = self.start(e2e.BINARY, "dispatch", "-n", "2", "--max-preemptions", "0", "--",
                              "sh", "-c", script)
        for _ in range(2):
            lines.next()
        urgent = self.start(e2e.BINARY, "dispatch", "--queue", "day", "-n", "2", "--", "sh", "-c",
                            f"echo urgent > {lines.path}; cat {held}")
        for _ in range(2):
            self.assertEqual(lines.next(), "urgent")
        by = "preempted by job 2 of account all"
        self.assertRegex(self.gangway("explain", "1").stdout,
                         f"it was {by} .* ago, keeps its place in the line, and resumes when")
        self.assertIn(f"it was {by}", self.gangway("tasks", "1").stdout)
        self.assertIn(f"attempt 1 is {by}: it is told to save and to end, and continues later",
                      self.gangway("events", "1").stdout)
        with open(held, "w", encoding="utf-8"):
            pass
        self.assertEqual(urgent.wait(), 0, urgent.text)
        self.assertEqual(training.wait(), 0, training.text)
        self.assertIn(f"attempt 1 ended, {by}; the next attempt follows", training.text)


if __name__ == "__main__":
    e2e.main()
