"""Every mechanism in or out, alone: it builds, is counted and optimised by name, trains, and decodes as it computes."""

import re
from collections.abc import Iterator

import pytest
import torch

from trivium.errors import ConfigError
from trivium.model.batch import collate
from trivium.model.decode import prefill, step
from trivium.model.optim import OptimizerConfig
from trivium.model.presets import configure
from trivium.model.sizes import measure

SIZE = {
    "backbone": {
        "vocab": 160,
        "width": 32,
        "layers": 3,
        "kda": {"heads": 2, "head_dim": 16},
        "mla": {"heads": 2, "head_dim": 16, "extra_dim": 8, "q_lora": 16, "kv_lora": 24},
        "dense_hidden": 48,
        "moe": {"experts": 8, "experts_per_token": 3, "hidden": 16},
        "init_std": 0.1,
    },
    "vision": None,
    "media_pad": 157,
}
# What each switch changes: parameters that come or go, by a piece of their names.
K3 = {
    "backbone.mla_every=1": ("-A_log", "-dt_bias"),
    "backbone.mla_every=2": (),
    "backbone.mla_every=null": (),
    "backbone.kda.decay_bound=null": (),
    "backbone.kda.decay_bound=-1": (),
    "backbone.kda.gate=low_rank": ("+attn.g_a_proj",),
    "backbone.kda.gate=none": (),
    "backbone.mla.gate=low_rank": ("+attn.g_a_proj",),
    "backbone.mla.gate=none": (),
    "backbone.residual=plain": ("-_res.query", "-out_res.gamma"),
    "backbone.attn_res_block=1": (),
    "backbone.moe.latent=null": ("-latent_down", "-latent_norm"),
    "backbone.activation=swiglu": (),
    "backbone.moe.balance=sign": (),
    "backbone.moe.balance=none": (),
    "backbone.mla.rope_base=50000": (),
    "backbone.mtp_layers=0": ("-mtp",),
}
K2 = {
    "backbone.mla_every=4": ("+A_log", "+dt_bias"),
    "backbone.mla.gate=full_rank": ("+attn.g_proj",),
    "backbone.residual=attn_res": ("+_res.query",),
    "backbone.moe.latent=16": ("+latent_down", "+latent_norm"),
    "backbone.moe.balance=quantile": (),
    "backbone.mla.rope_base=null": (),
}
SWITCHES = [("nano", change, moved) for change, moved in K3.items()] + [
    ("k2-nano", change, moved) for change, moved in K2.items()
]


@pytest.fixture(scope="module", autouse=True)
def fixture_one_thread() -> Iterator[None]:
    """Tensors this small make threads wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def switched(family, *changes):
    latent = {} if family == "k2-nano" else {"latent": 16}
    size = {**SIZE, "backbone": {**SIZE["backbone"], "moe": {**SIZE["backbone"]["moe"], **latent}}}
    return configure({"preset": family, **size}, name="switches", overrides=changes)


@pytest.mark.parametrize(
    ("family", "change", "moved"), SWITCHES, ids=[f"{family}-{change}" for family, change, _ in SWITCHES]
)
def test_a_switch_trains_is_counted_and_has_a_rule_for_each_name(sample, family, change, moved):
    config = switched(family, change)
    model = config.build().train()
    names, before = dict(model.named_parameters()), dict(switched(family).build(device="meta").named_parameters())
    for piece in moved:
        present, absent = (names, before) if piece[0] == "+" else (before, names)
        assert any(piece[1:] in name for name in present)
        assert not any(piece[1:] in name for name in absent)
    built = sum(p.numel() for p in names.values()) + sum(b.bias.numel() for b in model.balances().values())
    assert sum(measure(config, (64,)).parameters.parts.values()) == built
    optimizer = OptimizerConfig(per_head=family == "nano").build(model)
    batch = collate([sample(40), sample(23, seed=1)], config.media_pad)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        output = model(batch)
        total = output.loss_T.sum() / batch.targets
        losses.append(float(total.detach()))
        if output.mtp_loss_T is not None:
            total = total + 0.3 * output.mtp_loss_T.sum() / batch.targets
        total.backward()
        optimizer.set_lr(1e-2)
        optimizer.step()
        model.quantile_update()
    missing = [name for name, p in names.items() if p.requires_grad and p.grad is None]
    assert not missing
    assert losses[-1] < losses[0] - 0.1
    moves = [bool(balance.bias.any()) for balance in model.balances().values()]
    assert moves == [config.backbone.moe.balance != "none"] * len(moves)


@pytest.mark.parametrize(
    ("family", "change"), [(family, change) for family, change, _ in SWITCHES if not re.search("balance|mtp", change)]
)
def test_a_switch_decodes_as_the_full_pass_computes(awake, sample, family, change):
    config = switched(family, change)
    model = awake(config).eval()
    documents = [sample(30), sample(17, seed=3)]
    begun = [20, 7]
    with torch.no_grad():
        full = [model.logits(collate([document], config.media_pad)) for document in documents]
    cut = [type(d)(d.tokens[:n], d.loss[:n]) for d, n in zip(documents, begun, strict=True)]
    state = prefill(model, collate(cut, config.media_pad))
    rows = [state.logits_BV]
    for number in range(8):
        tokens = [int(d.tokens[n + number]) for d, n in zip(documents, begun, strict=True)]
        rows.append(step(model, tokens, state))
    for place, (logits_TV, n) in enumerate(zip(full, begun, strict=True)):
        found_TV = torch.stack([logits_BV[place] for logits_BV in rows])
        assert (found_TV - logits_TV[n - 1 : n + 8]).abs().max() < 1e-9


def test_a_switch_changes_what_is_computed(sample):
    """From equal weights, each switch that moves no parameter gives other logits (or, for balance, other biases)."""
    batch = collate([sample(40)], SIZE["media_pad"])
    plain = switched("nano").build(dtype=torch.float64).eval()
    with torch.no_grad():
        expected_TV = plain.logits(batch)
        for change in (
            "backbone.kda.decay_bound=-1",
            "backbone.kda.decay_bound=null",
            "backbone.attn_res_block=1",
            "backbone.activation=swiglu",
            "backbone.mla.rope_base=50000",
        ):
            model = switched("nano", change).build(dtype=torch.float64).eval()
            model.load_state_dict(plain.state_dict())
            assert (model.logits(batch) - expected_TV).abs().max() > 1e-6, change


def test_a_decay_without_a_bound_starts_as_in_kimi_linear():
    config = switched("nano", "backbone.kda.decay_bound=null", "backbone.kda.heads=64", "backbone.kda.head_dim=4")
    scales = torch.cat([p.detach().exp() for name, p in config.build().named_parameters() if name.endswith("A_log")])
    assert scales.min() >= 1
    assert scales.max() <= 16
    assert float(scales.mean()) == pytest.approx(8.5, abs=1)  # uniform between 1 and 16
    bounded = switched("nano").build()
    assert all(not p.any() for name, p in bounded.named_parameters() if name.endswith("A_log"))


@pytest.mark.parametrize(
    ("every", "mla"),
    [(1, list(range(1, 14))), (2, [2, 4, 6, 8, 10, 12, 13]), (4, [4, 8, 12, 13]), (8, [8, 13]), (None, [])],
)
def test_the_patterns_of_the_ablation(every, mla):
    """Kimi Linear's Table 1: 0:1, 1:1, 3:1, 7:1; the last layer looks at all tokens unless none does."""
    config = switched("nano", f"backbone.mla_every={'null' if every is None else every}", "backbone.layers=13").backbone
    assert [layer + 1 for layer in range(13) if config.is_mla(layer)] == mla


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mla_every=0", "mla_every is 0; 1: MLA in all layers, null: in none"),
        ("kda.decay_bound=-6", r"decay_bound is -6; give a log decay of a token from -5\.33 up to 0"),
        ("kda.decay_bound=0", "decay_bound is 0; give a log decay"),
        ("kda.gate=wide", "kda.gate: invalid enum value 'wide'; known: full_rank, low_rank, none"),
        ("mla.gate=half", "mla.gate: invalid enum value 'half'; known: full_rank, low_rank, none"),
        ("mla.rope_base=1", "rope_base is 1; give a base above 1"),
        ("mla.extra_dim=-2", "extra_dim is -2; give 0 or more"),
        ("residual=none", "residual: invalid enum value 'none'; known: attn_res, plain"),
        ("attn_res_block=0", "attn_res_block is 0; give at least 1"),
        ("activation=gelu", "activation: invalid enum value 'gelu'; did you mean 'swiglu'"),
        ("moe.latent=0", "hidden is 16, latent 0, scaling 1; give widths of at least 1"),
        ("moe.balance=even", "moe.balance: invalid enum value 'even'; known: none, quantile, sign"),
    ],
)
def test_a_wrong_switch_names_the_right_ones(change, message):
    with pytest.raises(ConfigError, match=message):
        switched("nano", f"backbone.{change}")


def test_positions_want_pairs_of_extra_dims():
    with pytest.raises(ConfigError, match="extra_dim is 7; positions turn pairs"):
        switched("nano", "backbone.mla.extra_dim=7", "backbone.mla.rope_base=50000")
    switched("nano", "backbone.mla.extra_dim=7")
