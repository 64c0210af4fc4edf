import copy

import pytest
import torch

from trivium.model.optim import OptimizerConfig, orthogonalize
from trivium.model.presets import PRESETS

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("shape", [(4, 128, 1024), (3, 192, 1536), (2, 512, 128), (1, 64, 7168)])
def test_bf16_blocks_end_in_the_band(shape: tuple[int, int, int]) -> None:
    blocks = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    found = orthogonalize(blocks.cuda())
    assert found.dtype == torch.float32
    values = torch.linalg.svdvals(found.cpu().double())
    assert values.min() > 0.6
    assert values.max() < 1.25
    exact = orthogonalize(blocks.double())
    assert torch.linalg.norm(found.cpu() - exact) < 0.05 * torch.linalg.norm(exact)


def test_a_step_on_the_gpu_is_that_of_the_cpu_up_to_bf16() -> None:
    model = PRESETS["nano"]().build(seed=3)
    generator = torch.Generator().manual_seed(1)
    start = copy.deepcopy(model.state_dict())
    twin = copy.deepcopy(model).cuda()
    for parameter, other in zip(model.parameters(), twin.parameters(), strict=True):
        parameter.grad = torch.randn(parameter.shape, generator=generator)
        other.grad = parameter.grad.cuda()
    for each in (model, twin):
        optimizer = OptimizerConfig().build(each)
        optimizer.set_lr(0.01)
        optimizer.step()
        optimizer.load_named_state(optimizer.named_state())
    for (name, mine), theirs in zip(model.named_parameters(), twin.parameters(), strict=True):
        moved = mine.detach() - start[name]
        difference = theirs.detach().cpu() - mine.detach()
        assert torch.linalg.norm(difference) <= 0.05 * torch.linalg.norm(moved) + 1e-6, name
