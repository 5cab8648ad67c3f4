"""Examples in docstrings run, types agree with what is there, tutorials work."""

import doctest
import pathlib
import runpy
import subprocess
import sys

import pytest

import undertone
import undertone._accountant
import undertone._learner
import undertone._network
import undertone.river
import undertone.sklearn

MODULES = [
    undertone._undertone,
    undertone._accountant,
    undertone._learner,
    undertone._network,
    undertone.river,
    undertone.sklearn,
]
TUTORIALS = sorted((pathlib.Path(__file__).resolve().parents[3] / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    finder = doctest.DocTestFinder(exclude_empty=True)
    # What is compiled does not say which module it is from; what is not has imported others' things too.
    compiled = False if module is undertone._undertone else None
    found = [test for test in finder.find(module, module.__name__, module=compiled, globs={}) if test.examples]
    assert found, "there are examples"
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    assert runner.failures == 0


def test_types_agree_with_what_is_there():
    arguments = [sys.executable, "-m", "mypy.stubtest", "undertone._undertone"]
    said = subprocess.run(arguments, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


def test_everything_public_is_documented():
    for name in undertone.__all__:
        thing = getattr(undertone, name)
        assert getattr(thing, "__doc__", None), name
        if isinstance(thing, type):
            for method in vars(thing):
                if not method.startswith("_"):
                    assert getattr(thing, method).__doc__, f"{name}.{method}"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorials_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")


def test_there_is_a_tutorial_for_everybody():
    assert {path.stem for path in TUTORIALS} >= {"river_user", "opacus_user", "researcher"}
