"""PyTorch and Opacus: records a second of the MNIST CNN's gradients, by the median step: torch_cnn.py WHO BATCH THREADS.

`plain` and `channels-last` do not clip. `vmap` clips each record's gradient with torch.func, `opacus` with Opacus, which gets
contiguous tensors: with channels-last ones its gradients are wrong.
"""

import statistics
import sys
import time

import torch
from torch import nn

SECONDS = 2.0


def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 10),
    )


def plain(images, labels, layout=torch.contiguous_format):
    model, images = network().to(memory_format=layout), images.to(memory_format=layout)

    def step():
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()

    return step


def clipped_sum(samples):
    squares = sum(sample.flatten(1).square().sum(1) for sample in samples)
    weights = (1.0 / squares.sqrt()).clamp(max=1.0)
    return [torch.einsum("n,n...->...", weights, sample) for sample in samples]


def vmap(images, labels):
    model = network()
    parameters = {name: value.detach() for name, value in model.named_parameters()}

    def loss(parameters, image, label):
        logits = torch.func.functional_call(model, parameters, (image[None],))
        return nn.functional.cross_entropy(logits, label[None])

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: clipped_sum(list(gradients(parameters, images, labels).values()))


def opacus(images, labels):
    from opacus import GradSampleModule

    model = GradSampleModule(network(), loss_reduction="sum")

    def step():
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels, reduction="sum").backward()
        clipped_sum([parameter.grad_sample for parameter in model.parameters()])

    return step


def main():
    who, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    images, labels = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    if who == "channels-last":
        step = plain(images, labels, torch.channels_last)
    else:
        step = {"plain": plain, "vmap": vmap, "opacus": opacus}[who](images, labels)
    step()
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < SECONDS or len(times) < 5:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    print(batch / statistics.median(times))


main()
