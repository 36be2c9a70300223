"""An ordinary Horovod training script, as horovodrun would start it: it knows nothing of
Gangway."""

import horovod.torch as hvd
import torch


def main():
    hvd.init()
    torch.set_num_threads(1)
    # ranks begin with different weights, so that the broadcast below has an effect
    torch.manual_seed(hvd.rank())
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    truth = torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
    loss = None
    for _ in range(200):
        inputs = torch.randn(16, 4)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), inputs @ truth)
        loss.backward()
        optimizer.step()
    every = hvd.allgather(model.weight.detach())
    same = all(torch.equal(row, every[0]) for row in every) and len(every) == hvd.size()
    ranks = hvd.allreduce(torch.tensor(hvd.rank() + 1), op=hvd.Sum)
    mean = hvd.allreduce(loss.detach())
    print(f"rank {hvd.rank()} of {hvd.size()} local {hvd.local_rank()} of {hvd.local_size()} "
          f"sum {ranks.item()} loss {mean.item():.5f} same {same}", flush=True)


if __name__ == "__main__":
    main()
