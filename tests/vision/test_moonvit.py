"""The tower against plain per-picture formulas: packing, positions, time, merging, gradients."""

import copy
import math
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from trivium.errors import InputError
from trivium.kernels.patches import PatchPlan
from trivium.model.init import init_weights
from trivium.vision import moonvit
from trivium.vision.moonvit import PIXELS, MoonViT, merge
from trivium.vision.positions import resized_positions, rotation_2d
from trivium.vision.projector import Projector

CONFIG = MoonViT.Config(width=32, layers=2, heads=2, head_dim=16, hidden=64, table=8)
GRIDS = [(1, 4, 6), (1, 2, 2), (3, 2, 4), (1, 6, 4), (1, 2, 2), (4, 2, 2)]


@pytest.fixture(name="tower")
def fixture_tower() -> MoonViT:
    tower = CONFIG.build().double()
    init_weights(tower, std=0.2)
    return tower


def patches(grids: list[tuple[int, int, int]], seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sum(t * h * w for t, h, w in grids), PIXELS, generator=generator, dtype=torch.float64)


def plain_tower(tower: MoonViT, x_PC: torch.Tensor, grid: tuple[int, int, int]) -> torch.Tensor:
    """One grid by the formulas of the report, patch by patch where that is the plainest."""
    t, h, w = grid
    config = tower.config
    places = [(f, y, x) for f in range(t) for y in range(h) for x in range(w)]
    table = F.interpolate(tower.pos_embed.permute(2, 0, 1)[None], size=(h, w), mode="bilinear", align_corners=False)[0]
    x = x_PC @ tower.patch_embed.weight.T + torch.stack([table[:, y, x] for _, y, x in places])
    if t > 1:
        rates = [10000 ** (-j / (config.width // 2)) for j in range(config.width // 2)]
        waves = [[math.sin(f * r) for r in rates] + [math.cos(f * r) for r in rates] for f, _, _ in places]
        x = x + torch.tensor(waves, dtype=x.dtype)
    angles = []
    for _, y, column in places:
        pair = []
        for i in range(config.head_dim // 4):
            rate = 10000 ** (-4 * i / config.head_dim)
            pair += [column * rate, y * rate]
        angles.append(pair)
    turn = torch.polar(torch.ones(()).double(), torch.tensor(angles, dtype=torch.float64))
    for block in tower.blocks:
        n = F.rms_norm(x, x.shape[-1:], block.norm1.weight, config.norm_eps)
        q, k, v = (n @ block.wqkv.weight.T).view(len(places), 3, config.heads, config.head_dim).unbind(1)
        q, k = (
            torch.view_as_real(torch.view_as_complex(y.reshape(*y.shape[:-1], -1, 2)) * turn[:, None]).flatten(-2)
            for y in (q, k)
        )
        scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(config.head_dim)
        out = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).flatten(1)
        x = x + out @ block.wo.weight.T
        n = F.rms_norm(x, x.shape[-1:], block.norm2.weight, config.norm_eps)
        x = x + F.gelu(n @ block.fc0.weight.T, approximate="tanh") @ block.fc1.weight.T
    x = F.rms_norm(x, x.shape[-1:], tower.norm.weight, config.norm_eps).view(t, h, w, -1).mean(0)
    cells = [(y, c) for y in range(0, h, 2) for c in range(0, w, 2)]
    return torch.stack([torch.cat([x[y, c], x[y, c + 1], x[y + 1, c], x[y + 1, c + 1]]) for y, c in cells])


def test_packed_equals_one_by_one_forwards_and_backwards(tower):
    x_PC = patches(GRIDS).requires_grad_()
    packed = tower(x_PC, torch.tensor(GRIDS))
    weight = torch.randn(packed.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    parameters = [x_PC, *tower.parameters()]
    got = torch.autograd.grad((packed * weight).sum(), parameters)
    sizes = [t * h * w for t, h, w in GRIDS]
    alone = torch.cat([plain_tower(tower, x, grid) for x, grid in zip(x_PC.split(sizes), GRIDS, strict=True)])
    wanted = torch.autograd.grad((alone * weight).sum(), parameters)
    torch.testing.assert_close(packed, alone, rtol=1e-10, atol=1e-10)
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)


def test_the_order_of_pictures_does_not_matter(tower):
    x_PC = patches(GRIDS)
    sizes = [t * h * w for t, h, w in GRIDS]
    order = [4, 2, 0, 5, 3, 1]
    straight = tower(x_PC, torch.tensor(GRIDS)).split([h * w // 4 for _, h, w in GRIDS])
    pieces = x_PC.split(sizes)
    turned = tower(torch.cat([pieces[i] for i in order]), torch.tensor([GRIDS[i] for i in order]))
    torch.testing.assert_close(turned, torch.cat([straight[i] for i in order]), rtol=1e-10, atol=1e-10)


def test_frames_of_a_chunk_see_each_other_and_pictures_do_not(tower):
    frames, pictures = [(2, 2, 2)], [(1, 2, 2), (1, 2, 2)]
    x_PC = patches(frames)
    changed = x_PC.clone()
    changed[4:] += 1
    assert not torch.allclose(tower(x_PC, torch.tensor(frames)), tower(changed, torch.tensor(frames)))
    before, after = tower(x_PC, torch.tensor(pictures)), tower(changed, torch.tensor(pictures))
    assert torch.equal(before[0], after[0])
    assert not torch.allclose(before[1], after[1])


def test_the_position_table_keeps_its_size_and_resizes_by_half_pixels():
    table = torch.randn(8, 8, 5, dtype=torch.float64)
    assert torch.equal(resized_positions(table, 8, 8), table.flatten(0, 1))
    for size in ((3, 11), (16, 4), (1, 1)):
        wanted = F.interpolate(table.permute(2, 0, 1)[None], size=size, mode="bilinear", align_corners=False)
        torch.testing.assert_close(resized_positions(table, *size), wanted[0].flatten(1).T, rtol=1e-12, atol=1e-12)


def test_rotary_phases_alternate_column_and_row_and_repeat_each_frame():
    cos, sin = rotation_2d(((2, 2, 4),), 8, 10000.0, torch.zeros((), dtype=torch.float64))
    phase = torch.atan2(sin, cos)
    assert phase.shape == (16, 4)
    rates = [1.0, 1.0, 10000**-0.5, 10000**-0.5]
    assert phase[6].tolist() == pytest.approx([2 * rates[0], 1 * rates[1], 2 * rates[2], 1 * rates[3]])
    assert torch.equal(phase[:8], phase[8:])


def test_merge_puts_neighbours_side_by_side():
    x = torch.arange(2 * 2 * 4, dtype=torch.float64)[:, None]
    merged = merge(x, ((2, 2, 4),))
    assert merged.tolist() == [[4, 5, 8, 9], [6, 7, 10, 11]]


def test_gradients_reach_the_patch_embedding_and_every_parameter(tower):
    projector = Projector.Config().build(CONFIG.width, 24).double()
    init_weights(projector, std=0.2)
    seen = projector(tower(patches(GRIDS), torch.tensor(GRIDS)))
    assert seen.shape == (sum(h * w // 4 for _, h, w in GRIDS), 24)
    (seen * torch.randn(seen.shape, dtype=seen.dtype, generator=torch.Generator().manual_seed(3))).sum().backward()
    for name, parameter in [*tower.named_parameters(), *projector.named_parameters()]:
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("grid", [(1, 3, 2), (5, 2, 2), (0, 2, 2)])
def test_grids_that_can_not_be_are_refused(tower, grid):
    with pytest.raises(InputError, match="frames, rows, columns"):
        tower(torch.zeros(math.prod(grid), PIXELS).double(), torch.tensor([grid]))


def test_grids_and_patches_must_agree(tower):
    with pytest.raises(InputError, match="5 patches and grids that hold 4"):
        tower(torch.zeros(5, PIXELS).double(), torch.tensor([(1, 2, 2)]))


def test_attention_never_takes_the_backend_whose_gradients_break(tower, monkeypatch):
    asked, plain = [], F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention",
        lambda *given: (asked.append(torch.backends.cuda.cudnn_sdp_enabled()), plain(*given))[1],
    )  # fmt: skip
    tower(patches([(1, 8, 8)]), torch.tensor([(1, 8, 8)]))
    assert asked == [False] * CONFIG.layers
    assert torch.backends.cuda.cudnn_sdp_enabled()  # as it was


@pytest.mark.gpu
def test_a_picture_of_64_patches_with_logits_far_below_zero_has_finite_gradients():
    width, patches_a_side = 128, 8
    config = MoonViT.Config(width=width, layers=1, heads=2, head_dim=64, hidden=64, table=8)
    block = config.build().blocks[0].cuda()
    init_weights(block, std=0.02)
    with torch.no_grad():  # every q has a 30 in one channel and every k a -30: all logits near -112
        block.wqkv.weight[:128].zero_()[::64, 0] = 30.0
        block.wqkv.weight[128:256].zero_()[::64, 0] = -30.0
    x = torch.randn(patches_a_side**2, width, device="cuda") * 0.01
    x[:, 0] = 1.0
    x = (x / x.square().mean(-1, keepdim=True).sqrt()).requires_grad_()
    still = (torch.ones(64, 32, device="cuda"), torch.zeros(64, 32, device="cuda"))  # no turn: all keys lie alike
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = block(x, still, PatchPlan.build((0, 64), 64))
    y.float().sum().backward()
    assert bool(x.grad.isfinite().all())
    assert bool(block.wqkv.weight.grad.isfinite().all())


def test_all_blocks_share_one_plan_of_the_whole_buffer(tower, monkeypatch):
    seen, plain = [], moonvit.patch_attention
    monkeypatch.setattr(moonvit, "patch_attention", lambda *x: (seen.append((len(x[0]), x[4])), plain(*x))[1])
    tower(patches(GRIDS), torch.tensor(GRIDS))
    sizes = sorted(t * h * w for t, h, w in GRIDS)
    assert [length for length, _ in seen] == [sum(sizes)] * CONFIG.layers
    assert all(plan is seen[0][1] for _, plan in seen)
    assert [b - a for a, b in pairwise(seen[0][1].borders)] == sizes


@pytest.mark.gpu
@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_kernels_attention_is_the_tower_s(head_dim):
    config = MoonViT.Config(width=256, layers=2, heads=2, head_dim=head_dim, hidden=256, table=8)
    exact = config.build().double()
    init_weights(exact, std=0.05)
    quick = copy.deepcopy(exact).cuda().float()
    grids = torch.tensor([*GRIDS, (1, 20, 26), (4, 12, 12)])
    x_PC = patches([tuple(grid) for grid in grids.tolist()])
    wanted = exact(x_PC, grids)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        found = quick(x_PC.cuda().float(), grids)
    weight = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (wanted * weight).sum().backward()
    (found.double() * weight.cuda()).sum().backward()
    right = wanted.detach()
    assert float((found.detach().cpu().double() - right).norm() / right.norm()) < 0.03
    for (name, one), other in zip(exact.named_parameters(), quick.parameters(), strict=True):
        assert float((other.grad.cpu().double() - one.grad).norm() / one.grad.norm()) < 0.06, name
