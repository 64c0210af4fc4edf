"""Each layer against its formula written out plainly, and every mechanism's switch."""

import math

import pytest
import torch
from torch.nn import functional as F

from trivium.model.batch import collate
from trivium.model.init import decay_bias, init_weights
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.moe import LatentMoE
from trivium.model.mtp import shifted_targets

CU = torch.tensor([0, 5, 12])
WIDTH, EPS = 24, 1e-5


def rows(seed: int = 0) -> torch.Tensor:
    return torch.randn(12, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def filled(module):
    module = module.double()
    init_weights(module, std=0.3)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith(("A_log", "norm.weight")):
                parameter += 0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(9))
    return module


def norm(x, weight):
    return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * weight


def plain_kda(layer: KDA, x_TD: torch.Tensor) -> torch.Tensor:
    """One document, one token after another (K3 report, equations 1, 2, 5 and 6)."""
    heads, width = layer.config.heads, layer.config.head_dim

    def stream(proj, conv):
        padded = F.pad(proj(x_TD), (0, 0, 3, 0))
        mixed = sum(padded[tap : tap + x_TD.shape[0]] * conv.weight[:, tap] for tap in range(4))
        return F.silu(mixed).unflatten(-1, (heads, width))

    q, k = (
        y / (y.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        for y in (stream(layer.q_proj, layer.q_conv), stream(layer.k_proj, layer.k_conv))
    )
    v = stream(layer.v_proj, layer.v_conv)
    beta = layer.b_proj(x_TD).sigmoid()
    z = (layer.f_b_proj(layer.f_a_proj(x_TD)) + layer.dt_bias).unflatten(-1, (heads, width))
    alpha = (-5 * (layer.A_log.exp()[:, None] * z).sigmoid()).exp()
    state = torch.zeros(heads, width, width, dtype=x_TD.dtype)
    out = []
    for t in range(x_TD.shape[0]):
        state = alpha[t][..., None] * state
        error = v[t] - torch.einsum("hkv,hk->hv", state, k[t])
        state = state + beta[t][:, None, None] * k[t][..., None] * error[:, None]
        out.append(torch.einsum("hkv,hk->hv", state, q[t]) / math.sqrt(width))
    normed = norm(torch.stack(out), layer.o_norm.weight)
    if layer.config.gate == "full_rank":
        normed = normed * layer.g_proj(x_TD).sigmoid().unflatten(-1, (heads, width))
    elif layer.config.gate == "low_rank":
        normed = normed * layer.g_b_proj(layer.g_a_proj(x_TD)).sigmoid().unflatten(-1, (heads, width))
    return layer.o_proj(normed.flatten(1))


@pytest.mark.parametrize("gate", ["full_rank", "low_rank", "none"])
def test_kda_is_its_recurrence(gate):
    layer = filled(KDA.Config(heads=2, head_dim=8, gate=gate).build(WIDTH, EPS))
    x_TD = rows()
    wanted = torch.cat([plain_kda(layer, x) for x in x_TD.split([5, 7])])
    torch.testing.assert_close(layer(x_TD, CU), wanted, rtol=1e-9, atol=1e-10)


def plain_mla(layer: MLA, x_TD: torch.Tensor) -> torch.Tensor:
    """One document, the whole score matrix (K3 report, equation 7)."""
    config = layer.config
    heads, content, extra = config.heads, config.head_dim, config.extra_dim
    q = layer.q_b_proj(norm(layer.q_a_proj(x_TD), layer.q_a_norm.weight)).unflatten(-1, (heads, content + extra))
    kv_a = layer.kv_a_proj(x_TD)
    shared = kv_a[:, config.kv_lora :]
    if config.rope_base is not None:
        angle = torch.arange(x_TD.shape[0])[:, None] * config.rope_base ** (-torch.arange(0, extra, 2).double() / extra)
        turn = torch.polar(torch.ones_like(angle), angle)

        def turned(y, by):
            return torch.view_as_real(torch.view_as_complex(y.reshape(*y.shape[:-1], -1, 2)) * by).flatten(-2)

        shared = turned(shared, turn)
        q = torch.cat([q[..., :content], turned(q[..., content:], turn[:, None])], -1)
    kv = layer.kv_b_proj(norm(kv_a[:, : config.kv_lora], layer.kv_a_norm.weight)).unflatten(-1, (heads, 2 * content))
    k = torch.cat([kv[..., :content], shared[:, None].expand(-1, heads, -1)], -1)
    scores = torch.einsum("thd,shd->hts", q, k) / math.sqrt(content + extra)
    future = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
    out = torch.einsum("hts,shv->thv", scores.masked_fill(future, -math.inf).softmax(-1), kv[..., content:])
    if config.gate == "full_rank":
        out = out * layer.g_proj(x_TD).sigmoid().unflatten(-1, (heads, content))
    return layer.o_proj(out.flatten(1))


@pytest.mark.parametrize("changes", [{}, {"gate": "none"}, {"rope_base": 100.0}])
def test_mla_is_its_softmax(changes):
    config = MLA.Config(heads=2, head_dim=8, extra_dim=4, q_lora=10, kv_lora=12, **changes)
    layer = filled(config.build(WIDTH, EPS))
    x_TD = rows()
    wanted = torch.cat([plain_mla(layer, x) for x in x_TD.split([5, 7])])
    torch.testing.assert_close(layer(x_TD, CU).y_TD, wanted, rtol=1e-9, atol=1e-10)


def test_mla_gates_in_fp32_before_the_cast():
    layer = filled(MLA.Config(heads=2, head_dim=8, extra_dim=4, q_lora=10, kv_lora=12).build(WIDTH, EPS)).bfloat16()
    seen = []
    layer.o_proj.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    layer(rows().bfloat16(), CU)
    assert seen[0].dtype == torch.bfloat16


def unit(gate, up, activation):
    if activation == "swiglu":
        return gate * gate.sigmoid() * up
    return 4 * (gate / 4).tanh() * gate.sigmoid() * 25 * (up / 25).tanh()


@pytest.mark.parametrize(
    ("activation", "latent", "scaling"), [("situ", 12, 1.0), ("swiglu", None, 2.5), ("situ", None, 1.0)]
)
def test_moe_is_its_sum_over_chosen_experts(activation, latent, scaling):
    config = LatentMoE.Config(experts=6, experts_per_token=2, hidden=10, latent=latent, shared=2, scaling=scaling)
    layer = filled(config.build(WIDTH, EPS, activation))
    layer.balance.bias.copy_(torch.tensor([0.3, -0.2, 0, 0.1, -0.1, -0.1]))
    x_TD = rows() * 3
    scores = layer.router(x_TD).sigmoid()
    wanted = []
    for t in range(12):
        chosen = (scores[t] + layer.balance.bias).argsort(descending=True)[:2]
        z = x_TD[t] if latent is None else layer.latent_down(x_TD[t])
        total = scores[t, chosen].sum()
        experts = layer.experts
        mixed = sum(
            scores[t, e] / total * (experts.w2[e] @ unit(experts.w1[e] @ z, experts.w3[e] @ z, activation))
            for e in chosen
        )
        routed = mixed * scaling if latent is None else layer.latent_up(norm(mixed, layer.latent_norm.weight))
        shared = layer.shared
        dense = shared.down_proj(unit(shared.gate_proj(x_TD[t]), shared.up_proj(x_TD[t]), activation))
        wanted.append(dense + routed)
    torch.testing.assert_close(layer(x_TD).y_TD, torch.stack(wanted), rtol=1e-9, atol=1e-10)


def test_the_bias_moves_routes_and_never_weights():
    config = LatentMoE.Config(experts=6, experts_per_token=5, hidden=10, latent=12, shared=1)
    layer = filled(config.build(WIDTH, EPS, "situ"))
    before = layer(rows()).y_TD
    layer.balance.bias += 0.7
    torch.testing.assert_close(layer(rows()).y_TD, before, rtol=1e-12, atol=1e-12)


def test_mtp_targets_are_two_ahead_inside_a_document():
    targets = torch.tensor([11, 12, 13, -100, 21, -100, 31, 32, -100])
    cu = torch.tensor([0, 4, 6, 9])
    assert shifted_targets(targets, cu).tolist() == [12, 13, -100, -100, -100, -100, 32, -100, -100]


def test_mtp_predicts_from_the_next_token_and_not_the_one_after(small, awake, sample):
    model = awake(small).eval()
    first = sample(30)
    batch = collate([first], small.media_pad)
    before = model(batch, mtp=True).mtp_loss_T
    first.tokens[21] = (first.tokens[21] + 1) % 150
    after = model(collate([first], small.media_pad), mtp=True).mtp_loss_T
    # Row 20 reads token 21; row 19 predicts it.
    assert torch.equal(before[:19], after[:19])
    assert before[20] != after[20]


@pytest.mark.parametrize(
    "switch",
    [
        "backbone.residual=plain",
        "backbone.moe.latent=null",
        "backbone.moe.balance=none",
        "backbone.mtp_layers=0",
        "backbone.activation=swiglu",
        "backbone.kda.gate=low_rank",
        "backbone.mla.gate=none",
        "backbone.mla.rope_base=10000.0",
        "backbone.mla_every=1",
        "backbone.attn_res_block=1",
        "vision=null",
    ],
)
def test_every_switch_trains_alone(change, sample, switch):
    config = change(switch)
    model = config.build().train()
    pictures = [] if config.vision is None else [(2, 2)]
    out = model(collate([sample(20, *pictures)], config.media_pad))
    loss = out.loss_T.sum() + (0 if out.mtp_loss_T is None else out.mtp_loss_T.sum())
    loss.backward()
    model.quantile_update()
    silent = [
        n for n, p in model.named_parameters() if p.requires_grad and (p.grad is None or not p.grad.isfinite().all())
    ]
    assert silent == []


def test_decay_starts_between_its_published_bounds():
    bias = decay_bias(torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))
    alpha = (-5 * bias.sigmoid()).exp()
    assert bias[0].item() == pytest.approx(-6.9, abs=0.01)
    assert bias[2].item() == pytest.approx(-2.25, abs=0.01)
    assert alpha[0].item() == pytest.approx(0.995, abs=0.001)
    assert alpha[2].item() == pytest.approx(0.62, abs=0.005)
