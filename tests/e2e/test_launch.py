#!/usr/bin/env python3
"""How gangs of commands start: what other launchers tell their programs, words in braces."""
import os
import sys

import e2e

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


class Launch(e2e.Case):
    def test_ranks_meet_as_horovod_does(self):
        done = self.gangway("dispatch", "-n", "3", "--", sys.executable,
                            os.path.join(PROGRAMS, "rendezvous.py"))
        self.assertEqual(sorted(line.split("rank ", 1)[1] for line in done.stdout.splitlines()),
                         [f"{rank} met 3 and here 3" for rank in range(3)])

    def test_words_in_braces_and_what_other_launchers_tell(self):
        show = ('echo "{rank} {local_rank} {node_rank} {world_size} {other} $OMPI_COMM_WORLD_RANK '
                '$OMPI_COMM_WORLD_LOCAL_SIZE $NAME $HOROVOD_SIZE"')
        done = self.gangway("dispatch", "-n", "2", "--env", "NAME=r{rank}", "--env",
                            "HOROVOD_SIZE=7", "--", "sh", "-c", show,
                            env={"OMPI_COMM_WORLD_RANK": "5", "HOROVOD_RANK": "5"})
        said = sorted(line.split("] ", 1)[-1] for line in done.stdout.splitlines())
        self.assertEqual(said, ["0 0 0 2 {other} 0 2 r0 7", "1 1 0 2 {other} 1 2 r1 7"])


if __name__ == "__main__":
    e2e.main()
