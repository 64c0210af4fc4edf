"""The oracle list holds: every error within its bound, every test it names there, and the page beside it true."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("oracle_list", Path(__file__).with_name("oracle_list.py"))
assert _spec is not None
assert _spec.loader is not None
oracles = importlib.util.module_from_spec(_spec)
sys.modules["oracle_list"] = oracles
_spec.loader.exec_module(oracles)

MEASURED = [oracle for oracle in oracles.ORACLES if oracle.measure is not None]


@pytest.mark.parametrize("oracle", MEASURED, ids=[oracle.line for oracle in MEASURED])
def test_the_error_is_within_its_bound(oracle):
    assert oracle.measure(torch.float64) <= oracle.fp64 <= (oracles.FP64 if not oracle.unit else oracle.fp64)
    assert oracle.measure(torch.bfloat16) <= oracle.bf16


@pytest.mark.parametrize("oracle", oracles.ORACLES, ids=[oracle.line for oracle in oracles.ORACLES])
def test_every_test_that_is_named_is_there(oracle):
    assert oracle.tests
    for test in oracle.tests:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_the_page_says_what_is_held():
    """Its errors are another machine's: each must be within its bound; all else is written anew, word for word."""
    found = (ROOT / "docs" / "oracles.md").read_text(encoding="utf-8")
    wanted = oracles.HEAD + "\n".join(
        oracles.row(o, *([None] * 2 if o.measure is None else [0.0] * 2)) for o in oracles.ORACLES
    )
    number = re.compile(r"[0-9.e+-]+ \(≤ ")
    assert number.sub("0 (≤ ", found) == wanted + "\n"
    for error, bound in re.findall(r"([0-9.e+-]+) \(≤ ([0-9.e+-]+)\)", found):
        assert float(error) <= float(bound)
