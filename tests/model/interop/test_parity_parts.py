"""K3's own layers against compositions of independent parts: FLA's recurrence, gate and AttnRes; convolution, norms,
attention, router and experts of transformers. What the programs don't share is joined by hand: the full-rank gates, the
latent around the experts.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trivium.kernels.attnres import attnres
from trivium.kernels.kda import kda
from trivium.kernels.moe import route
from trivium.model.joint import JointConfig, JointModel
from trivium.model.layer import Layer

TOKENS = 70
BOUND = 5e-6
Peer = Callable[[str], ModuleType]
LINEAR = "transformers.models.kimi_linear.modeling_kimi_linear"


@pytest.fixture(name="draw")
def fixture_draw() -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(5)
    return lambda *shape: torch.randn(*shape, generator=generator)


@pytest.fixture(scope="module", name="model")
def fixture_model(awake: Callable[..., JointModel], change: Callable[..., JointConfig]) -> JointModel:
    """fp32; the norms inside MLA have transformers' 1e-6, as all others here."""
    return awake(change("backbone.norm_eps=0.000001"), torch.float32).eval()


def lengths() -> Tensor:
    return torch.tensor([0, TOKENS])


@pytest.mark.parametrize("bound", [-5.0, None])
def test_the_gate_and_the_recurrence_are_flas(
    bound: float | None, peer: Peer, draw: Callable[..., Tensor], gap: Callable
) -> None:
    naive, gates, hf = peer("fla.ops.kda.naive"), peer("fla.ops.kda.gate"), peer(LINEAR)
    heads, width = 3, 16
    q, k, v, z = (draw(TOKENS, heads, width).requires_grad_() for _ in range(4))
    beta, scale, bias = (draw(*shape).requires_grad_() for shape in ((TOKENS, heads), (heads,), (heads, width)))
    given = (q, k, v, z, beta, scale, bias)
    if bound is None:
        decay = gates.naive_kda_gate(z, scale, bias.flatten())
    else:
        decay = gates.naive_kda_lowerbound_gate(z, scale, bias.flatten(), bound)
    expected, state = naive.naive_recurrent_kda(
        hf.l2norm(q)[None], hf.l2norm(k)[None], v[None], decay[None], beta.sigmoid()[None], output_final_state=True
    )
    found, ours = kda(*given, lengths(), return_state=True, lower_bound=bound)
    assert gap(found, expected[0]) < BOUND
    assert gap(ours, state) < BOUND
    weight = draw(*found.shape)
    mine = torch.autograd.grad((found * weight).sum(), given)
    theirs = torch.autograd.grad((expected[0] * weight).sum(), given)
    for one, other in zip(mine, theirs, strict=True):
        assert gap(one, other) < 4 * BOUND


def test_the_kda_layer_is_made_of_those_parts(
    model: JointModel, peer: Peer, draw: Callable[..., Tensor], gap: Callable
) -> None:
    naive, gates, hf = peer("fla.ops.kda.naive"), peer("fla.ops.kda.gate"), peer(LINEAR)
    ours = model.backbone.layers[1].attn
    x, split = draw(TOKENS, model.config.backbone.width), (TOKENS, ours.config.heads, ours.config.head_dim)

    def stream(proj: nn.Linear, conv: nn.Module) -> Tensor:
        mixed = hf.causal_conv1d_fn(proj(x).T[None], conv.weight, activation="silu")
        return mixed[0].T.reshape(split)

    q, k = (hf.l2norm(stream(*pair)) for pair in ((ours.q_proj, ours.q_conv), (ours.k_proj, ours.k_conv)))
    decay = gates.naive_kda_lowerbound_gate(ours.f_b_proj(ours.f_a_proj(x)).reshape(split), ours.A_log, ours.dt_bias)
    mixed, _ = naive.naive_recurrent_kda(
        q[None], k[None], stream(ours.v_proj, ours.v_conv)[None], decay[None], ours.b_proj(x).sigmoid()[None]
    )
    norm = hf.KimiLinearRMSNormGated(ours.config.head_dim, eps=ours.o_norm.eps)
    norm.weight.data.copy_(ours.o_norm.weight)
    expected = ours.o_proj(norm(mixed[0], ours.g_proj(x).reshape(split)).flatten(1))
    assert gap(ours(x, lengths()), expected) < BOUND


def linear_config(peer: Peer, model: JointModel, **changes: Any) -> Any:
    backbone = model.config.backbone
    mla, moe = backbone.mla, backbone.moe
    settings = {
        "hidden_size": backbone.width,
        "num_attention_heads": mla.heads,
        "num_key_value_heads": mla.heads,
        "q_lora_rank": mla.q_lora,
        "kv_lora_rank": mla.kv_lora,
        "qk_nope_head_dim": mla.head_dim,
        "qk_rope_head_dim": mla.extra_dim,
        "v_head_dim": mla.head_dim,
        "num_local_experts": moe.experts,
        "num_experts_per_tok": moe.experts_per_token,
        "moe_intermediate_size": moe.hidden,
        "routed_scaling_factor": moe.scaling,
        "num_hidden_layers": backbone.layers,
    }
    config = peer(LINEAR).KimiLinearConfig(**{**settings, **changes})
    config._attn_implementation = "eager"
    return config


def test_gated_mla_is_their_attention_and_a_gate(
    model: JointModel, peer: Peer, draw: Callable[..., Tensor], gap: Callable
) -> None:
    hf, layer = peer(LINEAR), model.backbone.layers[3]
    ours, x = layer.attn, draw(TOKENS, model.config.backbone.width)
    theirs = hf.KimiLinearAttention(linear_config(peer, model), 3)
    names = {"q_a_norm": "q_a_layernorm", "kv_a_norm": "kv_a_layernorm", "kv_a_proj": "kv_a_proj_with_mqa"}
    for name in ("q_a_proj", "q_a_norm", "q_b_proj", "kv_a_proj", "kv_a_norm", "kv_b_proj"):
        getattr(theirs, names.get(name, name)).weight.data.copy_(getattr(ours, name).weight)
    theirs.o_proj = nn.Identity()
    mask = torch.full((TOKENS, TOKENS), -torch.inf).triu(1)[None, None]
    attended = theirs(x[None], mask)[0][0]
    assert gap(ours(x, lengths()).y_TD, ours.o_proj(attended * ours.g_proj(x).sigmoid())) < BOUND


@pytest.mark.parametrize("forced", [False, True], ids=["free", "forced"])
def test_routing_and_experts_are_theirs_around_our_latent(
    forced: bool, change: Callable, awake: Callable, peer: Peer, draw: Callable[..., Tensor], gap: Callable
) -> None:
    """Forced: the experts of our choice in theirs, so a near tie can't hide behind another expert."""
    model = awake(change("backbone.activation=swiglu", "backbone.norm_eps=0.000001"), torch.float32).eval()
    hf, layer = peer(LINEAR), model.backbone.layers[2]
    assert isinstance(layer, Layer)
    ours, x = layer.mlp, draw(TOKENS, model.config.backbone.width)
    router = hf.KimiLinearTopkRouter(linear_config(peer, model))
    router.weight.data.copy_(ours.router.weight)
    router.e_score_correction_bias.copy_(ours.balance.bias)
    logits, shares, chosen = router(x)
    index, share, _ = route(logits, ours.balance.bias, ours.config.experts_per_token)
    assert torch.equal(index.sort(-1).values, chosen.sort(-1).values)
    assert gap(share.sort(-1).values, shares.sort(-1).values) < BOUND
    if forced:
        chosen, shares = index, share
    experts = hf.KimiLinearExperts(linear_config(peer, model, hidden_size=ours.config.latent))
    experts.gate_up_proj.data.copy_(torch.cat([ours.experts.w1, ours.experts.w3], dim=1))
    experts.down_proj.data.copy_(ours.experts.w2)
    norm = hf.KimiLinearRMSNorm(ours.config.latent, eps=1e-6)
    norm.weight.data.copy_(ours.latent_norm.weight)
    mixed = ours.latent_up(norm(experts(ours.latent_down(x), chosen, shares)))
    width = ours.config.shared * ours.config.hidden
    shared = hf.KimiLinearMLP(linear_config(peer, model), intermediate_size=width)
    for name in ("gate_proj", "up_proj", "down_proj"):
        getattr(shared, name).weight.data.copy_(getattr(ours.shared, name).weight)
    assert gap(ours(x).y_TD, shared(x) + mixed) < BOUND


def test_attention_residuals_are_flas(peer: Peer, draw: Callable[..., Tensor], gap: Callable) -> None:
    theirs = peer("fla.ops.attnres.naive")
    sources = [draw(TOKENS, 48).requires_grad_() for _ in range(5)]
    query, gamma = draw(48).requires_grad_(), (1 + draw(48)).requires_grad_()
    found = attnres(sources, query, gamma, 1e-6)
    expected = theirs.naive_attnres(query, sources, gamma, rms_eps=1e-6)
    assert gap(found, expected) < BOUND
    weight, given = draw(*found.shape), (*sources, query, gamma)
    mine = torch.autograd.grad((found * weight).sum(), given)
    others = torch.autograd.grad((expected * weight).sum(), given)
    for one, other in zip(mine, others, strict=True):
        assert gap(one, other) < 4 * BOUND
