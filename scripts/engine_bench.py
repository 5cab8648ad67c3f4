"""Records per second of the MNIST network's gradients: ours, PyTorch's and Opacus', taking turns.

Run by engine_bench.sh: engine_bench.py OURS BATCH THREADS TURNS. A turn takes each for a second, by its
median step and by the CPU time of all steps (ours with the start of its process); printed are the medians over turns,
and of the ratios within a turn. With one thread CPU time is the better measure on a machine that others use too. PyTorch does not clip; it is given both
layouts and the faster one counts. Opacus gets contiguous tensors: with channels-last ones its gradients are wrong.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

import opacus
import torch
from torch import nn

SECONDS = 1.0


def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 10),
    )


def plain(batch, layout):
    model = network().to(memory_format=layout)
    images = torch.rand(batch, 1, 28, 28).to(memory_format=layout)
    labels = torch.randint(0, 10, (batch,))

    def step():
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()

    return step


def clipped(batch):
    model = opacus.GradSampleModule(network(), loss_reduction="sum")
    images, labels = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))

    def step():
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels, reduction="sum").backward()
        samples = [p.grad_sample for p in model.parameters()]
        squares = sum(sample.flatten(1).square().sum(1) for sample in samples)
        weights = (1.0 / squares.sqrt()).clamp(max=1.0)
        for sample in samples:
            torch.einsum("n,n...->...", weights, sample)

    return step


def rates_of_step(step, batch):
    step()
    times, start, cpu = [], time.perf_counter(), time.process_time()
    while time.perf_counter() - start < SECONDS or len(times) < 3:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    cpu = time.process_time() - cpu
    return batch / statistics.median(times), batch * len(times) / cpu


def rates_of_ours(ours, batch, threads):
    def children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    cpu = children()
    command = [ours, "--rate", str(batch), str(threads), str(SECONDS)]
    rate, records = map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())
    return rate, records / (children() - cpu)


def main():
    ours, (batch, threads, turns) = sys.argv[1], map(int, sys.argv[2:5])
    torch.set_num_threads(threads)
    steps = {
        "PyTorch, not clipped": plain(batch, torch.contiguous_format),
        "PyTorch, not clipped, channels last": plain(batch, torch.channels_last),
        "Opacus, clipped": clipped(batch),
    }
    all_turns = []
    for _ in range(turns):
        turn = {"ours, clipped": rates_of_ours(ours, batch, threads)}
        turn |= {name: rates_of_step(step, batch) for name, step in steps.items()}
        all_turns.append(turn)
    print(f"torch {torch.__version__}, opacus {opacus.__version__}, batch {batch}, threads {threads},"
          f" {turns} turns, load {os.getloadavg()[0]:.1f}")
    for kind, unit in enumerate(("second", "second of CPU time")):
        print(f"records per {unit}")
        for name in all_turns[0]:
            middle = statistics.median(turn[name][kind] for turn in all_turns)
            ratios = [turn["ours, clipped"][kind] / turn[name][kind] for turn in all_turns]
            print(f"  {name:36} {middle:7.0f}   ours is {statistics.median(ratios):5.2f} times that"
                  f" ({min(ratios):.2f} to {max(ratios):.2f})")


main()
