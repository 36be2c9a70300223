"""A scheduler and workers that share no folder, for the tests of checkpoints."""
import os

import e2e


class Machines(e2e.Case):
    """A scheduler, and workers whose environment (self.homes) simulates another machine."""

    def setUp(self):
        super().setUp()
        self.homes, self.workers = {}, {}
        admin = self.gangway_json("token", "create", "--user", "root", "--role", "admin")
        self.token = self.gangway_json("token", "create", "--user", "w", "--role", "worker")
        self.start_scheduler("127.0.0.1")
        self.env.update(GANGWAY_ADDRESS=self.address, GANGWAY_TOKEN=admin["token"])

    def start_scheduler(self, address):
        self.scheduler = self.start(e2e.BINARY, "scheduler", "--listen", address)
        self.address = self.scheduler.wait_output(r"listening at (\S+), by TLS").group(1)

    def tearDown(self):
        self.gangway("down")
        for worker in self.workers.values():
            worker.wait()
        super().tearDown()

    def worker(self, name, slots, *arguments):
        """Starts a worker of this name; if it exists, restarts it with its folders."""
        env = {"GANGWAY_TOKEN": self.token["token"]}
        for folder in ("HOME", "XDG_RUNTIME_DIR"):
            env[folder] = os.path.join(self.dir, f"{name}-{folder.lower()}")
            os.makedirs(env[folder], 0o700, exist_ok=True)
        self.homes[name] = os.path.join(env["HOME"], ".local")
        self.workers[name] = self.start(e2e.BINARY, "worker", "--connect", self.address, "--name",
                                        name, "--slots", str(slots), "--trust-users", *arguments,
                                        env=env)
        self.workers[name].wait_output("other workers reach this one")

    def home_of(self, folder):
        """The worker whose checkpoint folder contains this path."""
        return next(name for name, home in self.homes.items() if folder.startswith(home + "/"))

    def wait_workers(self, count):
        while self.gangway_json("status")["workers"] < count:
            pass

    def wait_explain(self, job, words):
        while words not in (said := self.gangway("explain", job).stdout):
            self.assertNotIn("failed", said)
