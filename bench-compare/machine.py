"""The machine and the versions that were measured."""

import functools
import os
import pathlib
import platform
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PEERS = {
    "environment": ["dp-accounting", "numpy", "opendp", "river", "scikit-learn", "vowpalwabbit"],
    "environment-cnn": ["opacus", "torch"],
    "environment-p2pfl": ["p2pfl"],
}
VERSIONS = """
import sys
from importlib.metadata import version
for name in sys.argv[1:]:
    print(name, version(name))
"""


def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def field(path, name):
    lines = pathlib.Path(path).read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "unknown")


@functools.cache
def packages():
    """Versions by name, of the environments that are there."""
    found = {}
    for environment, names in PEERS.items():
        python = HERE / environment / "bin" / "python"
        for line in said(str(python), "-c", VERSIONS, *names).splitlines():
            name, version = line.split()
            found[name] = version
    return found


def described():
    gigabytes = int(field("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    return {
        "processor": field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory": f"{gigabytes:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "rustc": said("rustc", "--version"),
        "python": platform.python_version(),
        "packages": packages(),
        "commit": said("git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=10"),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "load_before": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    print(described(), file=sys.stderr)
