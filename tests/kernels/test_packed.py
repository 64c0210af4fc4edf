"""Borders of packed documents are checked; every operator exports what its package lists."""

import importlib
import pkgutil

import pytest
import torch

import trivium.kernels as kernels
from trivium.kernels.packed import accumulation_dtype, offsets


def test_good_borders_come_back_as_integers():
    assert offsets(torch.tensor([0, 3, 3, 7]), 7) == [0, 3, 3, 7]
    assert offsets([0], 0) == [0]


@pytest.mark.parametrize("wrong", [[], [1, 7], [0, 6], [0, 8]])
def test_borders_must_cover_the_row(wrong):
    with pytest.raises(ValueError, match="cu_seqlens must run from 0 to 7"):
        offsets(wrong, 7)


def test_borders_must_not_decrease():
    with pytest.raises(ValueError, match="document 1 runs from 5 to 3"):
        offsets([0, 5, 3, 7], 7)


@pytest.mark.parametrize("wrong", [torch.tensor([0.0, 6.5, 7.0]), torch.tensor([[0, 7]])])
def test_borders_are_a_line_of_integers(wrong):
    with pytest.raises(ValueError, match="must be integers"):
        offsets(wrong, 7)


def test_accumulation_is_fp32_unless_an_operand_is_fp64():
    assert accumulation_dtype(torch.zeros(1, dtype=torch.bfloat16)) == torch.float32
    assert accumulation_dtype(torch.zeros(1), torch.zeros(1, dtype=torch.float64)) == torch.float64


def test_each_operator_lists_what_it_exports_and_has_its_definition():
    found = [info.name for info in pkgutil.iter_modules(kernels.__path__) if info.ispkg]
    assert {"attnres", "cross_entropy", "gated_norm", "kda", "mla", "moe", "quantile", "short_conv"} <= set(found)
    for name in set(found) - {"bench"}:
        module = importlib.import_module(f"trivium.kernels.{name}")
        assert module.__all__ == sorted(module.__all__, key=lambda n: (not n.isupper(), n.islower(), n))
        assert all(hasattr(module, export) for export in module.__all__)
        assert any(export.endswith("_reference") for export in module.__all__)
