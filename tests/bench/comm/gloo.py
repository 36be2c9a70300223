#!/usr/bin/env python3
"""gloo.py RANK FILE: the measurements of comm_bench with Gloo as PyTorch uses it, as one of two
ranks that find each other through FILE: medians of sums of floats, in place, each after a barrier.
Rank 0 prints one line of JSON per size. compare.py runs this program. Requires torch (Debian:
python3-torch)."""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist

rank, path = int(sys.argv[1]), sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
for size, times in ((4096, 1000), (1 << 20, 200), (26_000_000, 15), (105_000_000, 8)):
    data, took = torch.zeros(size // 4), []
    for k in range(-3, times):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(data)
        if k >= 0:
            took.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps({"bytes": size, "us": statistics.median(took) * 1e6}), flush=True)
