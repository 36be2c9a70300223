#!/usr/bin/env python3
"""Function gangs with a GPU per rank, whose communicator uses NCCL: with fakes of NVML, CUDA and
NCCL (tests/tools, tests/gpu/fake), and the ranks on two hosts that have two GPUs each."""
import os
import re
import struct

import e2e

MACHINE = "".join(f"gpu GPU-{name} memory=17179869184 used=0\n" for name in "ab")
NCCL = os.path.join(e2e.BUILD, "bin", "nccl")


class Nccl(e2e.Case):
    def second_host(self):
        """A host with folders of its own, an address and a token."""
        path = self.cluster("address")
        with open(path, encoding="utf-8") as f:
            env = {"GANGWAY_ADDRESS": f.read().strip(), "GANGWAY_TOKEN": self.token("worker")}
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            env[name] = os.path.join(self.dir, f"second-{name.lower()}")
            os.mkdir(env[name], 0o700)
        env["FAKE_NVML"] = self.write("second", MACHINE.replace("GPU-", "GPU-2"))
        worker = self.start(e2e.BINARY, "worker", "--trust-users", "--connect",
                            env["GANGWAY_ADDRESS"], "--name", "second", "--slots", "4", env=env)
        worker.wait_output("other workers reach this one")
        return worker

    def token(self, role):
        return self.gangway_json("token", "create", "--user", role, "--role", role)["token"]

    def test_gpu_gang_uses_nccl_and_reports_its_faults(self):
        self.env.update({"GANGWAY_NVML": os.path.join(e2e.BUILD, "lib", "libfake_nvml.so"),
                         "FAKE_NVML": self.write("machine", MACHINE)})
        self.token("admin")
        self.up("--listen", "127.0.0.1", "--slots", "4", "--trust-users")
        self.second_host()
        while self.gangway_json("status")["workers"] < 2:
            pass
        self.assertEqual(self.run_program(NCCL, "without").stdout, "ok\n")
        self.env["LD_LIBRARY_PATH"] = os.path.join(e2e.BUILD, "fake")
        self.assertEqual(self.run_program(NCCL).stdout, "ok\n")
        self.assertEqual(self.run_program(NCCL, "several").stdout, "ok\n")
        self.assertEqual(self.run_program(NCCL, "die").stdout, "ok\n")
        self.env["FAKE_NCCL_FAULT"] = "duplicate"
        self.assertEqual(self.run_program(NCCL, "fails").stdout, "ok\n")

    def examples(self, *options):
        """The last loss of pet names, and of digits with normalisation over all ranks."""
        names = [a + b + c for a in "abcd" for b in "aeiou" for c in ("n", "lla", "bo")]
        runs = (("petnames", r"Held-out loss ([\d.]+)", "--lr", ".002", "--steps", "8", "--batch",
                 "50", "--data", self.write("names", "\n".join(names)), "--checkpoint", "model"),
                ("digits", r"held out: loss ([\d.]+)", "--net", "residual", "--epochs", "1",
                 "--batch", "100", "--precision", "f16", "--data", self.digits()))
        return [float(re.search(pattern, self.run_program(
            os.path.join(e2e.BUILD, "bin", name), *words, *options, timeout_s=200).stdout)[1])
                for name, pattern, *words in runs]

    def digits(self):
        """400 images of MNIST's form: stripes, whose distance is the label."""
        folder = os.path.join(self.dir, "digits")
        os.makedirs(folder, exist_ok=True)
        pixels = b"".join(bytes(255 * (x % (i % 10 + 2) == 0) for x in range(784))
                          for i in range(400))
        self.write_bytes("digits/t10k-images-idx3-ubyte",
                         struct.pack(">IIII", 0x803, 400, 28, 28) + pixels)
        self.write_bytes("digits/t10k-labels-idx1-ubyte",
                         struct.pack(">II", 0x801, 400) + bytes(i % 10 for i in range(400)))
        return folder

    def write_bytes(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as file:
            file.write(data)

    @e2e.unittest.skipUnless(os.path.exists(os.path.join(e2e.BUILD, "fake", "libnn-cuda.so")),
                             "the examples were not built")
    def test_examples_train_on_gpus_as_on_the_cpu(self):
        """Without GPUs they say so; with (fake) ones their losses are those of the CPU."""
        refused = self.run_program(os.path.join(e2e.BUILD, "bin", "petnames"), "--gpu", rc=None)
        self.assertIn("GPU", refused.stderr)
        self.env.update({"GANGWAY_NVML": os.path.join(e2e.BUILD, "lib", "libfake_nvml.so"),
                         "FAKE_NVML": self.write("machine", MACHINE),
                         "LD_LIBRARY_PATH": os.path.join(e2e.BUILD, "fake")})
        self.up("--slots", "2")
        for cpu, gpu in zip(self.examples(), self.examples("--gpu")):
            self.assertAlmostEqual(cpu, gpu, delta=2e-3 * cpu)

    def instances(self, gpus):
        """A cluster with four MIG instances on this many physical GPUs; returns its output."""
        lines = [f"gpu GPU-{i} memory=17179869184" for i in range(gpus)]
        lines += [f"mig GPU-{i % gpus} MIG-{i} memory=4294967296" for i in range(4)]
        self.env.update({"GANGWAY_NVML": os.path.join(e2e.BUILD, "lib", "libfake_nvml.so"),
                         "FAKE_NVML": self.write("machine", "\n".join(lines) + "\n"),
                         "LD_LIBRARY_PATH": os.path.join(e2e.BUILD, "fake")})
        self.up("--slots", "4")

    def test_mig_instances_of_four_physical_gpus_use_nccl(self):
        self.instances(4)
        self.assertEqual(self.run_program(NCCL).stdout, "ok\n")

    def test_mig_instances_of_one_physical_gpu_run_without_nccl(self):
        """NCCL refuses such instances: the gang runs without NCCL and says so."""
        self.instances(1)
        self.assertEqual(self.run_program(NCCL, "without").stdout, "ok\n")
        said = self.gangway("logs", "1")
        self.assertIn("ranks of this gang share a GPU's MIG instances", said.stdout + said.stderr)
        self.assertIn("so that none can use NCCL", self.gangway("events", "1").stdout)
        self.assertEqual(self.gangway("dispatch", "-n", "2", "--gpus", "1", "--", "sh", "-c",
                                      "echo $GANGWAY_PHYSICAL_GPU_SHARED").stdout.count(" 1\n"), 2)


if __name__ == "__main__":
    e2e.main()
