"""The optimizer against loops in fp64 that know nothing of its batches."""

import copy
from collections import defaultdict
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from trivium.data.config import from_mapping
from trivium.errors import CheckpointError, ConfigError
from trivium.model.batch import collate
from trivium.model.optim import OptimizerConfig, PerHeadMuon
from trivium.model.presets import PRESETS

NANO = PRESETS["nano"]()
LAYER = "backbone.layers.3."


def _random(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _named(**shapes: tuple[int, ...]) -> dict[str, nn.Parameter]:
    return {
        name.replace("__", "."): nn.Parameter(_random(*shape, seed=number))
        for number, (name, shape) in enumerate(shapes.items())
    }


def _newton_schulz(u: Tensor) -> Tensor:
    turned = u.shape[0] > u.shape[1]
    x = (u.T if turned else u) / (u.pow(2).sum().sqrt() + 1e-7)
    for _ in range(5):
        y = x @ x.T
        x = 3.4445 * x - 4.7750 * (y @ x) + 2.0315 * (y @ (y @ x))
    return x.T if turned else x


def _moonlight(weight: Tensor, gradients: list[Tensor], lr: float, parts: list[slice]) -> Tensor:
    """W ← W − η(0.2√max(A, B)·NS(G + μM) + λW) on each run of rows by itself."""
    weight = weight.clone()
    for rows in parts:
        w, momentum = weight[rows], torch.zeros_like(weight[rows])
        for gradient in gradients:
            g = gradient[rows]
            momentum = 0.95 * momentum + g
            o = _newton_schulz(g + 0.95 * momentum)
            w = w - lr * (0.2 * max(w.shape) ** 0.5 * o + 0.1 * w)
        weight[rows] = w
    return weight


def _train(optimizer: PerHeadMuon, named: dict[str, nn.Parameter], seeds: range, lr: float = 0.01) -> None:
    for seed in seeds:
        for number, parameter in enumerate(named.values()):
            parameter.grad = _random(*parameter.shape, seed=1000 * seed + number).to(parameter.dtype)
        optimizer.set_lr(lr)
        optimizer.step()


@pytest.mark.parametrize(
    ("name", "shape", "edges"),
    [
        (LAYER + "attn.g_proj.weight", (128, 128), [0, 128]),
        (LAYER + "mlp.shared.down_proj.weight", (128, 112), [0, 128]),
        ("backbone.layers.0.mlp.gate_proj.weight", (616, 128), [0, 616]),
        ("backbone.layers.0.attn.q_proj.weight", (128, 128), [0, 64, 128]),
        (LAYER + "attn.q_b_proj.weight", (192, 32), [0, 96, 192]),
        (LAYER + "attn.kv_b_proj.weight", (256, 64), [0, 64, 128, 192, 256]),  # K, V of head 0, K, V of head 1
        (LAYER + "attn.kv_a_proj.weight", (96, 128), [0, 64, 96]),
        ("vision.blocks.0.wqkv.weight", (768, 256), list(range(0, 769, 64))),
    ],
)
def test_each_block_moves_as_if_it_were_alone(name: str, shape: tuple[int, int], edges: list[int]) -> None:
    parameter = nn.Parameter(_random(*shape, seed=1))
    start = parameter.detach().clone()
    optimizer = PerHeadMuon([(name, parameter)], NANO)
    _train(optimizer, {name: parameter}, range(3))
    gradients = [_random(*shape, seed=1000 * seed) for seed in range(3)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    torch.testing.assert_close(parameter.data, _moonlight(start, gradients, 0.01, parts), rtol=1e-8, atol=1e-10)


def test_each_expert_moves_as_if_it_were_alone() -> None:
    name, shape = "backbone.layers.1.mlp.experts.w1", (16, 56, 64)
    parameter = nn.Parameter(_random(*shape, seed=1))
    start = parameter.detach().clone()
    _train(PerHeadMuon([(name, parameter)], NANO), {name: parameter}, range(2))
    for expert in range(16):
        gradients = [_random(*shape, seed=1000 * seed)[expert] for seed in range(2)]
        expected = _moonlight(start[expert], gradients, 0.01, [slice(None)])
        torch.testing.assert_close(parameter.data[expert], expected, rtol=1e-8, atol=1e-10)


def test_parameters_of_one_batch_do_not_touch_each_other() -> None:
    shapes = {LAYER + "attn.g_proj.weight": (128, 128), LAYER + "attn.o_proj.weight": (128, 128)}
    shapes |= {LAYER + "mlp.latent_up.weight": (128, 64), LAYER + "mlp.latent_down.weight": (64, 128)}
    together = {name: nn.Parameter(_random(*shape, seed=n)) for n, (name, shape) in enumerate(shapes.items())}
    alone = copy.deepcopy(together)
    _train(PerHeadMuon(together.items(), NANO), together, range(2))
    for number, (name, parameter) in enumerate(alone.items()):
        optimizer = PerHeadMuon([(name, parameter)], NANO)
        for seed in range(2):
            parameter.grad = _random(*parameter.shape, seed=1000 * seed + number)
            optimizer.set_lr(0.01)
            optimizer.step()
        torch.testing.assert_close(parameter.data, together[name].data, rtol=1e-9, atol=1e-12)


def test_whole_matrix_mode_is_plain_muon() -> None:
    name = LAYER + "attn.kv_b_proj.weight"
    parameter = nn.Parameter(_random(256, 64, seed=1))
    start = parameter.detach().clone()
    optimizer = PerHeadMuon([(name, parameter)], NANO, OptimizerConfig(per_head=False))
    _train(optimizer, {name: parameter}, range(2))
    gradients = [_random(256, 64, seed=1000 * seed) for seed in range(2)]
    torch.testing.assert_close(parameter.data, _moonlight(start, gradients, 0.01, [slice(None)]), rtol=1e-8, atol=1e-10)


def test_adamw_equals_torch_and_vectors_do_not_decay() -> None:
    named = {
        "backbone.embed.weight": nn.Parameter(_random(30, 8, seed=1)),
        "backbone.norm.weight": nn.Parameter(_random(8, seed=2)),
        "backbone.layers.0.attn.A_log": nn.Parameter(_random(2, seed=3)),
    }
    peers = copy.deepcopy(list(named.values()))
    theirs = torch.optim.AdamW(
        [{"params": peers[:1], "weight_decay": 0.1}, {"params": peers[1:], "weight_decay": 0.0}],
        lr=0.01,
        betas=(0.9, 0.95),
        eps=1e-8,
    )
    optimizer = PerHeadMuon(named.items(), NANO)
    for seed in range(4):
        _train(optimizer, named, range(seed, seed + 1))
        for peer, mine in zip(peers, named.values(), strict=True):
            peer.grad = mine.grad.clone()
        theirs.step()
    for peer, mine in zip(peers, named.values(), strict=True):
        torch.testing.assert_close(mine.data, peer.data, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return NANO.build(seed=3)


def _fill(model: nn.Module, seed: int, leave_out: str = "?") -> None:
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        drawn = torch.randn(parameter.shape, generator=generator)
        parameter.grad = None if name.startswith(leave_out) else drawn


@pytest.mark.parametrize("way", ["state_dict", "named_state"])
def test_a_saved_state_goes_on_bit_for_bit(model: nn.Module, way: str) -> None:
    model = copy.deepcopy(model)
    # So that a test step takes milliseconds; the projector's own rule is covered above.
    config = OptimizerConfig(adamw_also=(r"projector\.fc0\.weight", r"vision\.blocks\.[123]\..*"))
    optimizer = config.build(model)
    optimizer.set_lr(0.01)
    for seed in range(2):
        _fill(model, seed, leave_out="?" if seed else "vision.")
        optimizer.step()
    twin = copy.deepcopy(model)
    other = config.build(twin)
    other.set_lr(0.01)
    if way == "state_dict":
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    else:
        other.load_named_state(optimizer.named_state())
        assert other.named_state().keys() == optimizer.named_state().keys()
    for seed in range(2, 4):
        for each, step in ((model, optimizer), (twin, other)):
            _fill(each, seed)
            step.step()
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_parameters_without_gradient_stay_as_they_are(model: nn.Module) -> None:
    model = copy.deepcopy(model)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = OptimizerConfig().build(model)
    optimizer.set_lr(0.01)
    _fill(model, 0, leave_out=("vision.", "projector."))
    optimizer.step()
    for name, parameter in model.named_parameters():
        still = name.startswith(("vision.", "projector.")) or not parameter.requires_grad
        assert torch.equal(parameter, before[name]) == still, name
    assert not any(key.startswith(("vision.", "projector.")) for key in optimizer.named_state())


def _pressed(blocks: Tensor) -> Tensor:
    """What five steps of the published polynomial make of each block's singular values, in fp64."""
    values = torch.linalg.svdvals(blocks.double())
    x = values / (values.square().sum(-1, keepdim=True).sqrt() + 1e-7)
    for _ in range(5):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    return x


def test_updates_of_real_gradients_have_the_aimed_size(small, awake, sample) -> None:
    """0.2 where singular values end at 1; the published coefficients leave about 0.9 of it, and what a gradient does
    not span stays zero: by kind of block, and each parameter as its own singular values say."""
    model = awake(small, torch.float32).train()
    optimizer = OptimizerConfig().build(model)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    samples = [sample(160, (8, 8), seed=1), sample(150, seed=2), sample(140, (8, 6), seed=3)]
    for one in samples:
        one.patches[:] = [patches.float() for patches in one.patches]
    output = model(collate(samples, small.media_pad))
    (output.loss_T.mean() + 0.3 * output.mtp_loss_T.mean()).backward()
    optimizer.set_lr(0.0)
    optimizer.step()
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())
    measured = optimizer.update_rms()
    assert set(measured) == {group.name for group in optimizer.groups if group.optimizer == "muon"}
    kinds: dict[str, list[float]] = defaultdict(list)
    for group in optimizer.groups:
        if group.optimizer == "muon":
            u = model.get_parameter(group.name).grad  # the step left G + μM there
            squares = [(b.scale**2 * _pressed(b.view(u)).square().sum(), b.view(u).numel()) for b in group.blocks]
            expected = float((sum(s for s, _ in squares) / sum(n for _, n in squares)).sqrt())
            assert measured[group.name] == pytest.approx(expected, rel=0.02), group.name
            kinds[group.split].append(measured[group.name])
    assert len(kinds) == 7
    for kind, sizes in kinds.items():
        assert 0.15 < sum(sizes) / len(sizes) < 0.2, kind


def test_the_measured_size_is_that_of_the_update() -> None:
    name = LAYER + "attn.kv_a_proj.weight"
    parameter = nn.Parameter(_random(96, 128, seed=1))
    optimizer = PerHeadMuon([(name, parameter)], NANO, OptimizerConfig(weight_decay=0.0))
    start = parameter.detach().clone()
    _train(optimizer, {name: parameter}, range(1), lr=1.0)
    assert optimizer.update_rms()[name] == pytest.approx(
        float((parameter.detach() - start).square().mean().sqrt()), rel=1e-9
    )


def test_a_state_of_another_model_is_refused(model: nn.Module) -> None:
    name = LAYER + "attn.g_proj.weight"
    optimizer = PerHeadMuon([(name, nn.Parameter(torch.zeros(128, 128)))], NANO)
    good = torch.zeros(128, 128)
    for tensors in ({f"{name}:mean": good}, {"backbone.x:momentum": good}, {f"{name}:momentum": good[:4]}, {"x": good}):
        with pytest.raises(CheckpointError, match="which this model and optimizer do not have"):
            optimizer.load_named_state(tensors)
    embed = PerHeadMuon([("backbone.embed.weight", nn.Parameter(torch.zeros(4, 4)))], NANO)
    with pytest.raises(CheckpointError, match="is damaged"):
        embed.load_named_state({"backbone.embed.weight:mean": torch.zeros(4, 4)})


@pytest.mark.parametrize(
    "wrong", [{"momentum": 1.0}, {"betas": [0.9, 1.0]}, {"eps": 0.0}, {"weight_decay": -0.1}, {"qk_clip": 0.0}]
)
def test_wrong_dials_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        from_mapping(wrong, OptimizerConfig, name="run.yaml")
