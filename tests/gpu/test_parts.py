#!/usr/bin/env python3
"""tests/gpu/parts.py: states, limits and reports of made-up parts."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest
from unittest import mock

import parts


def made_up(**scripts):
    """Parts, each of which is a script of the shell, with 60 s or what its first line says."""
    def limit_s(script):
        return float(re.match(r"(?:: (\S+)\n)?", script).group(1) or 60)
    return {name: (name, limit_s(script), None) for name, script in scripts.items()}


class Parts(unittest.TestCase):
    def run_parts(self, all_s=600, **scripts):
        """(the JSON, what was printed)"""
        with tempfile.TemporaryDirectory() as folder, io.StringIO() as log, \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            run = parts.Run(made_up(**scripts), lambda name: ["sh", "-c", scripts[name]],
                            dict(os.environ), log, all_s)
            self.failed = run.all()
            path = os.path.join(folder, "gpu.json")
            facts = {"commit": "c", "date": "d", "gpu": "g", "driver": "1.2"}
            parts.report(run.results, facts, path)
            with open(path, encoding="utf-8") as f:
                self.json = json.load(f)
            return {r["name"]: r for r in self.json["parts"]}, printed.getvalue()

    def test_part_is_ok_left_out_or_failed(self):
        results, printed = self.run_parts(
            probe="echo figure nccl 2.28.3; echo figure calls 7",
            refused="echo no such tool; exit 77", broken="echo it broke; exit 3")
        self.assertEqual([(r["state"], r["why"]) for r in results.values()],
                         [("ok", ""), ("left out", "no such tool"), ("failed", "it broke")])
        self.assertEqual(results["probe"]["figures"], {"nccl": "2.28.3", "calls": 7})
        self.assertEqual([self.json[k] for k in ("commit", "date", "gpu", "driver", "nccl")],
                         ["c", "d", "g", "1.2", "2.28.3"])
        self.assertTrue(self.failed)
        self.assertRegex(printed, r"refused +left out +\d+\.\d s  no such tool\n")
        self.assertTrue(printed.endswith("1 ok, 1 left out, 1 failed\nFAILED\n"))

    def test_part_that_is_left_out_is_no_failure(self):
        _, printed = self.run_parts(refused="exit 77")
        self.assertFalse(self.failed)
        self.assertTrue(printed.endswith("all is well\n"))

    def test_part_over_its_limit_fails_and_is_ended(self):
        results, _ = self.run_parts(late=": 0.1\ntail -f /dev/null & wait", next="true")
        self.assertEqual(results["late"]["why"], "not done in 0.1 s")
        self.assertEqual([r["state"] for r in results.values()], ["failed", "ok"])

    def test_part_without_time_is_left_out(self):
        with mock.patch.object(parts, "ENOUGH_S", 0.1):
            results, _ = self.run_parts(all_s=parts.FINISH_S + 0.3, cut="tail -f /dev/null",
                                        never="true")
        self.assertEqual([(r["state"], r["why"]) for r in results.values()],
                         [("left out", "all time was over"), ("left out", "no time was left")])
        self.assertFalse(self.failed)

    def test_sanitizer_that_the_machine_refuses_is_left_out(self):
        said = {"echo Error: Device not supported; exit 1": parts.LeftOut,
                "echo ERROR SUMMARY: 1 error; exit 9": parts.Failed}
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "tool")
            for script, wanted in said.items():
                with open(tool, "w", encoding="utf-8") as f:
                    f.write("#!/bin/sh\n" + script)
                os.chmod(tool, 0o700)
                with mock.patch.dict(os.environ, COMPUTE_SANITIZER=tool), \
                        contextlib.redirect_stdout(io.StringIO()), self.assertRaises(wanted):
                    parts.sanitizer(parts.Machine(False, folder))


if __name__ == "__main__":
    sys.exit(unittest.main())
