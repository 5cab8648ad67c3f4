"""Gradients of the MNIST network by PyTorch and Opacus; prints records per second as JSON lines.

Used by engine_bench.sh, which puts them beside our own. Tensors are contiguous: Opacus gives wrong gradients for
channels-last ones. The best layout for PyTorch without clipping is measured too.
"""

import json
import sys
import time

import torch
from opacus import GradSampleModule
from torch import nn


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
    model = GradSampleModule(network(), loss_reduction="sum")
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


def rate(step, batch, seconds):
    step()
    step()
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(times) < 5:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return batch / sorted(times)[len(times) // 2]


def main():
    batch, threads, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(threads)
    unclipped = max(
        rate(plain(batch, layout), batch, seconds)
        for layout in (torch.contiguous_format, torch.channels_last)
    )
    contiguous = rate(plain(batch, torch.contiguous_format), batch, seconds)
    print(json.dumps({
        "torch": torch.__version__,
        "unclipped": contiguous,
        "unclipped_best_layout": max(unclipped, contiguous),
        "opacus": rate(clipped(batch), batch, seconds),
    }))


main()
