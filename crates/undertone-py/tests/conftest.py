"""What tests share: streams that can be learnt, and the command `undertone`."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def stream():
    """Rows within the unit ball, and labels that a line tells apart."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(2000, 3))
    X /= 2 * np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X @ [1.0, -1.0, 0.5] > 0, "yes", "no")


@pytest.fixture(scope="session")
def command():
    """The command of the same sources: UNDERTONE_COMMAND, or built here."""
    named = os.environ.get("UNDERTONE_COMMAND")
    if named:
        return named
    if shutil.which("cargo") is None:
        pytest.fail("cargo is needed to build the command; or set UNDERTONE_COMMAND")
    subprocess.run(["cargo", "build", "--locked", "-q", "-p", "undertone-cli"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "debug" / "undertone")
