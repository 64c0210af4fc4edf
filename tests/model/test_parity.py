"""One model computed in two ways: decoded as passed over whole, packed as alone, by kernels as by the reference.

fp64 runs free. In bf16 the routing is forced equal, the error is held to that of bf16 itself, and the rate at which
routers would have flipped is told.
"""

import functools
import os
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from trivium.errors import UsageError
from trivium.kernels import dispatch
from trivium.model.batch import Sample, collate
from trivium.model.decode import prefill, step
from trivium.model.joint import JointModel
from trivium.model.presets import configure
from trivium.model.routing import Flips, Routes, recorded, replayed

PAD = 157
BACKBONE = {
    "vocab": 160,
    "width": 32,
    "layers": 3,
    "kda": {"heads": 2, "head_dim": 16},
    "mla": {"heads": 2, "head_dim": 16, "extra_dim": 8, "q_lora": 16, "kv_lora": 24},
    "dense_hidden": 48,
    "moe": {"experts": 8, "experts_per_token": 3, "hidden": 16},
    "init_std": 0.1,
}
HEADS_OF_64 = {"kda": {"heads": 2, "head_dim": 64}, "mla": {**BACKBONE["mla"], "head_dim": 64, "extra_dim": 32}}
TOWER = {"layers": 1, "width": 32, "heads": 2, "head_dim": 16, "hidden": 64, "table": 4}
CASES = {
    "k3": ("nano",),
    "k3 all MLA": ("nano", "backbone.mla_every=1"),
    "k3 no decay bound": ("nano", "backbone.kda.decay_bound=null"),
    "k3 low-rank gates": ("nano", "backbone.kda.gate=low_rank", "backbone.mla.gate=low_rank"),
    "k3 plain residual": ("nano", "backbone.residual=plain"),
    "k3 blocks of one layer": ("nano", "backbone.attn_res_block=1"),
    "k3 experts at full width": ("nano", "backbone.moe.latent=null"),
    "k3 SwiGLU, rotated, no gates": (
        *("nano", "backbone.activation=swiglu", "backbone.mla.rope_base=50000"),
        *("backbone.kda.gate=none", "backbone.mla.gate=none"),
    ),
    "k2": ("k2-nano",),
    "k2 attention residuals": ("k2-nano", "backbone.residual=attn_res"),
}
GRIDS = {"text": [], "picture": [(1, 4, 4), (1, 2, 6)], "clip": [(4, 2, 4), (3, 2, 4)]}
LENGTHS = {"text": 21, "picture": 30, "clip": 26}
START = 19  # the last picture's tokens end before


@dataclass(frozen=True)
class Case:
    """A model off its start, a document of each content, and the logits of all in one packed row, with its routes."""

    model: JointModel
    documents: dict[str, Sample]
    packed: dict[str, Tensor]
    routes: dict[str, Routes]


def document(content: str) -> Sample:
    draw, length = np.random.default_rng(len(content)), LENGTHS[content]
    ids, place, patches = draw.integers(0, 150, length), 3, []
    for t, h, w in GRIDS[content]:
        ids[place : place + h * w // 4] = PAD
        place += h * w // 4 + 2
        patches.append(torch.from_numpy(draw.standard_normal((t * h * w, 588)).astype(np.float32)))
    assert place <= START
    return Sample(ids, np.ones(length, bool), GRIDS[content], patches)


def built(name: str, **sizes: dict[str, int]) -> JointModel:
    family, *changes = CASES[name]
    latent = {} if family == "k2-nano" or "latent" in "".join(changes) else {"latent": 16}
    backbone = {**BACKBONE, "moe": {**BACKBONE["moe"], **latent}, **sizes}
    raw = {"preset": family, "backbone": backbone, "vision": TOWER, "media_pad": PAD}
    model = configure(raw, name="parity", overrides=changes).build(seed=1, dtype=torch.float64).eval()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith((".query", ".gamma", "norm.weight", ".A_log")):
                parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
        for balance in model.balances().values():
            balance.bias += 0.05 * torch.randn(balance.bias.shape, generator=generator)
    return model


def passed(model: JointModel, documents: list[Sample]) -> list[Tensor]:
    """Logits of packed documents, in fp64."""
    with torch.no_grad():
        logits_TV = model.logits(collate(documents, PAD).to(model.backbone.head.weight.device))
    return list(logits_TV.double().cpu().split([len(one.tokens) for one in documents]))


def decoded(model: JointModel, whole: Sample) -> Tensor:
    """Logits from token START − 1 on: a prompt of START tokens, then one token at a time."""
    prompt = Sample(whole.tokens[:START], whole.loss[:START], whole.grids, whole.patches)
    state = prefill(model, collate([prompt], PAD))
    rows = [state.logits_BV, *(step(model, [int(token)], state) for token in whole.tokens[START:])]
    return torch.cat(rows).double()


@functools.cache
def case(name: str) -> Case:
    model, documents = built(name), {content: document(content) for content in GRIDS}
    with recorded(model) as routes:
        packed = passed(model, [*documents.values()])
    stops = np.cumsum([len(one.tokens) for one in documents.values()])
    mine = [routes.rows(stop - len(one.tokens), stop) for one, stop in zip(documents.values(), stops, strict=True)]
    return Case(model, documents, dict(zip(GRIDS, packed, strict=True)), dict(zip(GRIDS, mine, strict=True)))


@pytest.mark.parametrize(
    ("name", "content"),
    [(name, content) for name in CASES for content in (GRIDS if name in ("k3", "k2") else ["clip"])],
)
def test_decoded_and_packed_as_passed_over_alone(name, content):
    one = case(name)
    (alone,) = passed(one.model, [one.documents[content]])
    assert alone.abs().max() > 0.1
    assert (one.packed[content] - alone).abs().max() < 1e-9
    assert (decoded(one.model, one.documents[content]) - alone[START - 1 :]).abs().max() < 1e-9


def error(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).norm() / wanted.norm())


@pytest.mark.parametrize("content", GRIDS)
@pytest.mark.parametrize("name", ["k3", "k2"])
def test_in_bf16_with_routing_forced_no_way_is_worse_than_bf16_is(name, content, record_property):
    one, flips = case(name), Flips()
    routes, whole = one.routes[content], one.documents[content]
    rough = built(name).float()
    ways = {
        "alone": lambda: passed(rough, [whole])[0],
        "packed": lambda: passed(rough, [*one.documents.values()])[[*GRIDS].index(content)],
        "decoded": lambda: decoded(rough, whole),
    }
    every = Routes({n: torch.cat([r.choices[n] for r in one.routes.values()]) for n in routes.choices})
    errors = {}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for way, run in ways.items():
            with replayed(rough, every if way == "packed" else routes) as found:
                logits = run()
            errors[way] = error(logits[-3:], one.packed[content][-3:])
            flips.tokens, flips.flipped = flips.tokens + found.tokens, flips.flipped + found.flipped
    record_property("errors", errors)
    record_property("flip_rate", flips.rate)
    print(f"{name}, {content}: {errors}, flips {flips.flipped} of {flips.tokens}")
    assert 1e-4 < errors["alone"] < 0.05, "bf16 must have been used, and no more than it"
    assert errors["packed"] < 2 * errors["alone"]
    assert errors["decoded"] < 2 * errors["alone"]
    assert flips.rate < 0.1


def test_forced_routes_are_used_and_counted():
    one = case("k3")
    routes, whole = one.routes["text"], one.documents["text"]
    with replayed(one.model, routes) as flips:
        (same,) = passed(one.model, [whole])
    assert (flips.tokens, flips.flipped) == (2 * LENGTHS["text"], 0)
    torch.testing.assert_close(same, one.packed["text"], rtol=0, atol=1e-9)
    turned = Routes({name: (index_TK + 1) % 8 for name, index_TK in routes.choices.items()})
    with replayed(one.model, turned) as flips:
        (other,) = passed(one.model, [whole])
    assert flips.rate > 0.9
    assert (other - same).abs().max() > 0.01
    with pytest.raises(UsageError, match="5 more tokens to route and 0 choices left"), replayed(one.model, Routes()):
        passed(one.model, [Sample(whole.tokens[:5], whole.loss[:5])])
    assert (passed(one.model, [whole])[0] - same).abs().max() < 1e-9, "nothing is forced behind the block"


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="the interpreter's turn is where no GPU is")
def test_kernels_as_the_reference_in_the_interpreter(monkeypatch, caplog):
    """Every operator that has Triton kernels takes them, in fp32, which is what the interpreter computes rightly."""
    interpreter = pytest.importorskip("triton.runtime.interpreter")
    patch = interpreter._patch_lang_tensor

    def with_index(tensor, scope):
        """Triton 3.6's loops take int() of arrays of one element, which NumPy 2.4 refuses."""
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", with_index)
    caplog.set_level("INFO", "trivium.kernels.dispatch")
    model, documents = built("k3", **HEADS_OF_64).float(), [document(content) for content in GRIDS]
    with recorded(model) as routes:
        wanted = torch.cat(passed(model, documents))
    monkeypatch.setattr(dispatch, "_obstacle", lambda x, dtypes, fits: None if fits else "no kernel for the shape")
    dispatch.tell_again()
    with replayed(model, routes) as flips:
        found = torch.cat(passed(model, documents))
    assert {word for word in ("kda", "short_conv", "gated_norm") if f"{word} takes its Triton path" in caplog.text} == {
        "kda", "short_conv", "gated_norm",
    }  # fmt: skip
    assert error(found, wanted) < 1e-4
    assert flips.flipped == 0


@pytest.mark.gpu
@pytest.mark.parametrize("content", GRIDS)
@pytest.mark.parametrize("name", ["k3", "k2"])
def test_kernels_as_the_reference_in_bf16_on_a_gpu(name, content, monkeypatch, record_property, caplog):
    """Heads of 64, which the Triton kernels take; logits and the gradient of their sum of squares."""
    caplog.set_level("INFO", "trivium.kernels.dispatch")
    model, whole = built(name, **HEADS_OF_64), document(content)
    with recorded(model) as routes:
        exact = model.logits(collate([whole], PAD))
    exact.square().sum().backward()
    wanted, slopes = exact.detach(), _gradient(model)
    model = model.float().cuda()
    errors, gradients = {}, {}
    for path in ("reference", ""):
        monkeypatch.setenv(dispatch.KERNELS_VARIABLE, path)
        dispatch.tell_again()
        model.zero_grad()
        batch = collate([whole], PAD).to("cuda")
        with replayed(model, routes) as flips, torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model.logits(batch)
        logits.float().square().sum().backward()
        errors[path] = error(logits.detach().double().cpu(), wanted)
        gradients[path] = error(_gradient(model), slopes)
    assert "takes its Triton path" in caplog.text
    record_property("errors", errors | {f"gradient, {path}": found for path, found in gradients.items()})
    record_property("flip_rate", flips.rate)
    assert 1e-4 < errors["reference"] < 0.06
    assert errors[""] < 1.5 * errors["reference"]
    assert 1e-4 < gradients["reference"] < 0.3
    assert gradients[""] < 1.5 * gradients["reference"]


def _gradient(model: JointModel) -> Tensor:
    """All of it in one row, fp64."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).double().cpu()
