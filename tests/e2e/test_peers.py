#!/usr/bin/env python3
"""Results between workers over TLS, and foreign connections at a worker's port."""
import os
import re

import e2e

PEERS = os.path.join(e2e.BUILD, "bin", "peers")
REACHED = re.compile(r"reach this one at 127\.0\.0\.1:(\d+), by TLS")


class Peers(e2e.Case):
    def logs(self):
        dir = self.gangway_json("status")["state_dir"]
        texts = []
        for number in range(2):
            with open(os.path.join(dir, f"worker-{number}.log"), encoding="utf-8") as f:
                texts.append(f.read())
        return texts

    def check(self):
        self.assertEqual(self.run_program(PEERS).stdout, "ok\n")

    def test_local_workers_exchange_results_by_descriptor(self):
        self.up("--slots", "2", "--workers", "2")
        self.check()

    def test_workers_exchange_results_over_tls_with_keys(self):
        self.up("--slots", "2", "--workers", "2", "--peers", "127.0.0.1")
        ports = [int(REACHED.search(text).group(1)) for text in self.logs()]
        self.assertEqual(len(set(ports)), 2)
        self.check()

        # a client without a key gets nothing, and disturbs nothing
        self.assert_strangers_refused("127.0.0.1", ports[0])
        self.check()
        self.assertIn("showed no key", self.logs()[0])

    def test_unusable_peer_addresses_are_refused(self):
        for address, words in (("0.0.0.0", "all addresses"), ("192.0.2.1", "cannot listen"),
                               ("[::1", "wanted"), ("/tmp", "give an address"), ("", "wanted")):
            with self.subTest(address=address):
                done = self.gangway("up", "--peers", address, rc=2)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    e2e.main()
