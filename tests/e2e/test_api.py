#!/usr/bin/env python3
"""The C API against a real, private cluster of two workers; see programs/api.c."""
import os

import e2e

API = os.path.join(e2e.BUILD, "bin", "api")


class Api(e2e.Case):
    def subject(self, name):
        done = self.run_program(API, name, self.fifo())
        self.assertEqual(done.stdout, f"{name}: well\n")

    def test_map(self):
        self.subject("map")

    def test_large(self):
        self.subject("large")

    def test_gang(self):
        self.subject("gang")

    def test_cancel(self):
        self.subject("cancel")

    def test_retry(self):
        self.subject("retry")

    def test_stop(self):
        self.subject("stop")


if __name__ == "__main__":
    e2e.main()
