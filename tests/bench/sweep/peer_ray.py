"""Trials of Ray Tune that do nothing, on 2 CPUs.

    peer_ray.py TRIALS      prints trials a second, after Ray has started"""
import os
import sys
import tempfile
import time

os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
import ray  # noqa: E402
from ray import tune  # noqa: E402


def main():
    trials = int(sys.argv[1])
    ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        tune.run(lambda config: {"loss": config["x"]}, config={"x": tune.uniform(0, 1)},
                 num_samples=trials, verbose=0, storage_path=folder)
        print(trials / (time.monotonic() - start))
    ray.shutdown()


if __name__ == "__main__":
    main()
