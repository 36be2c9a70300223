"""An ordinary PyTorch training script, as torchrun would start it: it knows nothing of Gangway."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # env://: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1, device=device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator(device).manual_seed(rank)
    truth = torch.tensor([[1.0], [-2.0], [3.0], [0.5]], device=device)
    loss = None
    for _ in range(200):
        inputs = torch.randn(16, 4, generator=generator, device=device)
        loss = torch.nn.functional.mse_loss(model(inputs), inputs @ truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weight = model.module.weight.detach().clone()
    dist.broadcast(weight, src=0)
    same = torch.equal(weight, model.module.weight.detach())
    print(f"rank {rank} of {world} local {os.environ['LOCAL_RANK']} "
          f"loss {loss.item():.5f} same {same}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
