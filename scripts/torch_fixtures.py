"""Writes crates/undertone-models/tests/fixtures/torch.toml: PyTorch's results for a few neural networks, in f64.

Parameters, records and targets are drawn by SplitMix64 on both sides, so only results are stored, and of long vectors
every `stride`-th entry with the norm of all. Needs torch (CPU) in an environment outside of the repository:

    python3 -m venv ENV && ENV/bin/pip install torch && ENV/bin/python scripts/torch_fixtures.py
"""

import pathlib

import torch
from torch import nn

MASK = (1 << 64) - 1
TARGET = pathlib.Path(__file__).parent.parent / "crates/undertone-models/tests/fixtures/torch.toml"


class Dice:
    """The generator of the tests."""

    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def unit(self):
        return (self.bits() >> 11) / (1 << 53)

    def numbers(self, *shape):
        count = torch.Size(shape).numel()
        values = torch.tensor([2.0 * self.unit() - 1.0 for _ in range(count)], dtype=torch.float64)
        # Rounded to f32, so that the fast tier gets the same numbers.
        return values.float().double().reshape(shape)


CASES = [
    ("mnist-cnn", "relu", (1, 28, 28), 10, 4, [
        ("conv", 16, 5, 1, 0), ("relu",), ("max-pool", 2, 2), ("conv", 32, 5, 1, 0), ("relu",), ("max-pool", 2, 2),
        ("dense", 10)]),
    ("cifar10-cnn", "relu", (3, 32, 32), 10, 3, [
        ("conv", 16, 5, 1, 0), ("relu",), ("max-pool", 2, 2), ("conv", 32, 5, 1, 0), ("relu",), ("max-pool", 2, 2),
        ("dense", 10)]),
    ("strides-and-padding", "smooth", (2, 11, 9), 4, 3, [
        ("conv", 6, 5, 2, 2), ("sigmoid",), ("conv", 10, 3, 1, 1), ("tanh",), ("average-pool", 2, 1), ("dense", 7),
        ("tanh",), ("dense", 4)]),
    ("overlapping-pools", "relu", (1, 12, 12), 3, 5, [
        ("conv", 20, 3, 1, 1), ("max-pool", 3, 2), ("relu",), ("conv", 5, 2, 1, 0), ("average-pool", 2, 2),
        ("dense", 3)]),
    ("mlp", "smooth", (30, 1, 1), 5, 6, [("dense", 12), ("tanh",), ("dense", 5)]),
]


def build(shape, layers):
    """The module, and the layers as TOML."""
    modules, toml, flat = [], [], False
    sample = torch.zeros(1, *shape, dtype=torch.float64)
    for layer in layers:
        match layer:
            case ("conv", channels, kernel, stride, padding):
                module = nn.Conv2d(sample.shape[1], channels, kernel, stride, padding)
                toml.append(f'{{ kind = "conv", channels = {channels}, kernel = {kernel},'
                            f" stride = {stride}, padding = {padding} }}")
            case ("dense", outputs):
                if not flat:
                    modules.append(nn.Flatten())
                    sample, flat = sample.flatten(1), True
                module = nn.Linear(sample.shape[1], outputs)
                toml.append(f'{{ kind = "dense", outputs = {outputs} }}')
            case (("max-pool" | "average-pool") as kind, size, stride):
                module = (nn.MaxPool2d if kind == "max-pool" else nn.AvgPool2d)(size, stride)
                toml.append(f'{{ kind = "{kind}", size = {size}, stride = {stride} }}')
            case (kind,):
                module = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}[kind]()
                toml.append(f'{{ kind = "{kind}" }}')
        module = module.double()
        sample = module(sample)
        modules.append(module)
    return nn.Sequential(*modules), toml


def initialise(model, dice):
    for module in model:
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            fan_in = module.weight[0].numel()
            for parameter in (module.weight, module.bias):
                values = [fan_in**-0.5 * (2.0 * dice.unit() - 1.0) for _ in range(parameter.numel())]
                values = torch.tensor(values, dtype=torch.float64).float().double()
                parameter.data = values.reshape(parameter.shape)


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def gradient(model, image, label, graph=False):
    loss = -(label * torch.log_softmax(model(image[None])[0], 0)).sum()
    return loss, flat(torch.autograd.grad(loss, list(model.parameters()), create_graph=graph))


def vector(name, values, stride):
    entries = ", ".join(f"{x:.17g}" for x in values.detach().flatten()[::stride].tolist())
    # TOML requires a point or an exponent in every float of an array.
    entries = ", ".join(x if "." in x or "e" in x else x + ".0" for x in entries.split(", "))
    return f"{name} = {{ norm = {values.norm().item():.17e}, stride = {stride}, entries = [{entries}] }}\n"


def case(number, name, kind, shape, classes, records, layers):
    dice = Dice(1000 + number)
    model, toml = build(shape, layers)
    initialise(model, dice)
    images = dice.numbers(records, *shape)
    labels = [dice.bits() % classes for _ in range(records)]
    parameters = sum(p.numel() for p in model.parameters())
    stride = max(1, parameters // 150)
    one_hot = torch.eye(classes, dtype=torch.float64)
    pairs = [gradient(model, image, one_hot[label]) for image, label in zip(images, labels)]
    gradients = torch.stack([g for _, g in pairs])
    text = f'[[neural]]\nname = "{name}"\nseed = {1000 + number}\nrecords = {records}\n'
    text += f"parameters = {parameters}\nloss = {sum(l.item() for l, _ in pairs) / records:.17e}\n"
    text += vector("logits", model(images), 1) + vector("mean_gradient", gradients.mean(0), stride)
    for norm in (1, 2):
        # Some are clipped and some are not.
        norms = gradients.norm(norm, dim=1)
        bound = norms.mean()
        clipped = (gradients * (bound / norms).clamp(max=1.0)[:, None]).sum(0)
        text += f"bound_l{norm} = {bound.item():.17e}\n" + vector(f"clipped_l{norm}", clipped, stride)
    image = images[0].clone().requires_grad_()
    loss, _ = gradient(model, image, one_hot[labels[0]], graph=True)
    slopes = torch.autograd.grad(loss, image)[0]
    text += vector("input_gradient", slopes, max(1, slopes.numel() // 50))
    if kind == "smooth":
        target = 0.1 * dice.numbers(parameters)
        guess = dice.numbers(*shape).requires_grad_()
        logits = dice.numbers(classes).requires_grad_()
        _, found = gradient(model, guess, torch.softmax(logits, 0), graph=True)
        distance = (found - target).square().sum()
        by_input, by_label = torch.autograd.grad(distance, [guess, logits])
        text += f"distance = {distance.item():.17e}\n"
        text += vector("match_input", by_input, max(1, by_input.numel() // 50)) + vector("match_label", by_label, 1)
    channels, height, width = shape
    text += "\n[neural.spec]\n"
    text += f"input = {{ channels = {channels}, height = {height}, width = {width} }}\nclasses = {classes}\n"
    return text + "layers = [\n    " + ",\n    ".join(toml) + ",\n]\n"


def main():
    text = f"# Written by scripts/torch_fixtures.py with torch {torch.__version__.split('+')[0]}; do not edit.\n"
    for number, entry in enumerate(CASES):
        text += "\n" + case(number, *entry)
    TARGET.write_text(text)


main()
