"""torch.compile around the operators (bench/_step_compile.py): breaks at them alone, equal results, any length.

Backend `eager`: Dynamo's part, graphs and guards, without a compiler behind it.
"""

import importlib.util
from pathlib import Path

import pytest
import torch

from trivium.model.layer import Pass
from trivium.model.presets import preset

# Dynamo makes a fake copy of each operand, and a warning of torch for one that is no leaf is an error in our suite.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The .grad attribute")]
FILE = Path(__file__).resolve().parents[2] / "bench" / "_step_compile.py"
DISABLED = "torch.compiler.disable"


@pytest.fixture(scope="module", name="whole")
def fixture_whole():
    spec = importlib.util.spec_from_file_location("_step_compile", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.operators_whole():
        yield module


@pytest.fixture(scope="module", name="model")
def fixture_model():
    return preset("nano").build(seed=0).train()


def part(model, kind):
    """A module of the model and how it is called on so many tokens."""
    layers = model.backbone.layers
    found = next(m for layer in layers for m in (layer.attn, layer.mlp) if type(m).__name__ == kind)

    def operands(tokens):
        cu_seqlens = torch.tensor([0, tokens // 3, tokens])
        shared = Pass.over(cu_seqlens, tokens)
        x_TD = torch.randn(tokens, model.config.backbone.width, generator=torch.Generator().manual_seed(tokens))
        more = {"KDA": {"chunks": shared.chunks, "taps": shared.taps}, "MLA": {"blocks": shared.blocks}}
        return (x_TD.requires_grad_(), *((cu_seqlens,) if kind in more else ())), more.get(kind, {})

    return found, operands


def tensors(output):
    return [y for y in (output if isinstance(output, tuple) else (output,)) if y is not None]


@pytest.mark.parametrize("kind", ["KDA", "MLA", "LatentMoE", "GatedMLP"])
def test_graphs_end_at_the_operators_alone_with_equal_results_at_any_length(whole, model, kind):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    module, operands = part(model, kind)
    compiled = torch.compile(module, backend="eager", dynamic=True)
    graphs = []
    for tokens in (40, 57, 90):
        arguments, more = operands(tokens)
        twin, _ = operands(tokens)
        for mine, theirs in zip(tensors(compiled(*arguments, **more)), tensors(module(*twin, **more)), strict=True):
            assert torch.equal(mine, theirs)
            if mine.requires_grad:
                (mine_TD,) = torch.autograd.grad(mine.square().sum(), arguments[0], retain_graph=True)
                (theirs_TD,) = torch.autograd.grad(theirs.square().sum(), twin[0], retain_graph=True)
                assert torch.equal(mine_TD, theirs_TD)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert graphs[0] > 0
    assert len(set(graphs)) == 1, "another length was compiled anew"
    reasons = list(torch._dynamo.utils.counters["graph_break"])
    assert reasons
    assert all(DISABLED in reason for reason in reasons), reasons


def test_the_operators_are_themselves_again_afterwards(whole):
    import trivium.model.mlp as mlp

    before = mlp.situ_glu
    with whole.operators_whole():
        assert mlp.situ_glu is not before
    assert mlp.situ_glu is before
