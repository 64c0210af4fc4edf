"""Which sources each sublayer reads: the released flow for 93 layers in blocks of 12, and its special cases."""

import pytest
import torch

from trivium.kernels.attnres import attnres_reference
from trivium.kernels.gated_norm import rms_norm_reference
from trivium.model import attn_res
from trivium.model.attn_res import AttnRes
from trivium.model.backbone import FROZEN
from trivium.model.batch import collate
from trivium.model.layer import Pass
from trivium.model.presets import configure


@pytest.fixture(scope="module", name="deep")
def fixture_deep():
    """93 layers of K3's pattern, each as small as can be."""
    tiny = {
        "vocab": 8,
        "width": 8,
        "kda": {"heads": 1, "head_dim": 4},
        "mla": {"heads": 1, "head_dim": 4, "extra_dim": 2, "q_lora": 4, "kv_lora": 4},
        "dense_hidden": 8,
        "moe": {"experts": 3, "experts_per_token": 1, "hidden": 4, "latent": 4},
        "mtp_layers": 0,
        "init_std": 0.5,
    }
    return configure({"preset": "k3", "backbone": tiny, "vision": None}, name="deep").build(dtype=torch.float64)


def test_k3_reads_nine_sources_at_the_output_and_blocks_sum_their_sublayers(deep):
    backbone = deep.backbone
    read: dict[str, list[torch.Tensor]] = {}
    outputs: list[torch.Tensor] = []
    hooks = []
    for name, module in backbone.named_modules():
        if isinstance(module, AttnRes):
            hooks.append(
                module.register_forward_pre_hook(lambda _, args, name=name: read.update({name: list(args[0])}))
            )
        if name.endswith((".attn", ".mlp")):
            hooks.append(module.register_forward_hook(lambda *args: outputs.append(_first(args[-1]))))
    x_TD = torch.randn(3, 8, dtype=torch.float64)
    with torch.no_grad():
        backbone(x_TD, Pass(torch.tensor([0, 3])))
    for hook in hooks:
        hook.remove()

    blocks = [sum(outputs[2 * start : 2 * min(start + 12, 93)]) for start in range(0, 93, 12)]
    wanted = [x_TD, *blocks]
    assert len(outputs) == 186
    assert len(read["out_res"]) == 9
    for found, sum_TD in zip(read["out_res"], wanted, strict=True):
        torch.testing.assert_close(found, sum_TD, rtol=1e-9, atol=1e-9)
    assert [layer for layer in range(93) if backbone.config.opens_block(layer)] == [0, 12, 24, 36, 48, 60, 72, 84]
    for layer in range(93):
        block, inside = divmod(layer, 12)
        # The embedding and all finished blocks; the running one too, once it has a sublayer.
        assert len(read[f"layers.{layer}.attn_res"]) == block + 1 + (inside > 0)
        assert len(read[f"layers.{layer}.mlp_res"]) == block + 2
        for source, sum_TD in zip(read[f"layers.{layer}.mlp_res"], wanted, strict=False):
            if source is not read[f"layers.{layer}.mlp_res"][-1]:
                torch.testing.assert_close(source, sum_TD, rtol=1e-9, atol=1e-9)


def _first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def test_every_layer_is_where_the_report_puts_it(deep):
    mla = [layer + 1 for layer in range(93) if deep.backbone.config.is_mla(layer)]
    assert mla == [*range(4, 93, 4), 93]


def test_at_the_start_every_read_is_the_mean_of_its_sources(small):
    backbone = small.build(dtype=torch.float64).backbone
    sources = [torch.randn(5, 128, dtype=torch.float64) for _ in range(4)]
    mixed = backbone.layers[3].mlp_res(sources)
    torch.testing.assert_close(mixed, torch.stack(sources).mean(0), rtol=1e-12, atol=1e-12)


def test_gradients_reach_every_parameter_but_the_first_query(small, awake, sample):
    model = awake(small).train()
    out = model(collate([sample(60, (4, 4)), sample(80)], small.media_pad))
    (out.loss_T.sum() + out.mtp_loss_T.sum()).backward()
    missing = [name for name, p in model.named_parameters() if p.grad is None or p.grad.abs().max() == 0]
    assert tuple(missing) == FROZEN
    assert [name for name, p in model.named_parameters() if not p.requires_grad] == list(FROZEN)


def test_a_fresh_model_moves_its_queries_first(small, sample):
    model = small.build(dtype=torch.float64).train()
    model(collate([sample(60)], small.media_pad)).loss_T.sum().backward()
    res = model.backbone.out_res
    assert res.query.grad.abs().max() > 0
    assert res.gamma.grad.abs().max() == 0


def _kept(model, batch):
    """Bytes kept for the gradient, each storage once and no parameter's; and the loss."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept, alive = {}, []

    def pack(tensor):
        alive.append(tensor)  # so that no address is given out twice
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(batch).loss_T.sum()
    return sum(kept.values()), loss


@pytest.mark.parametrize(("layers", "block"), [(5, 2), (4, 12)])
def test_residuals_over_depth_keep_what_plain_ones_do(change, awake, sample, layers, block):
    """But for the mixture that the head and the MTP layer read, and two numbers a source and token."""
    sizes = (f"backbone.layers={layers}", f"backbone.attn_res_block={block}", "backbone.mtp_layers=0")
    batch = collate([sample(150)], 157)
    found = {}
    for residual in ("attn_res", "plain"):
        model = change(*sizes, f"backbone.residual={residual}").build(seed=1).train()
        read = []
        for module in model.modules():
            if isinstance(module, AttnRes):
                module.register_forward_pre_hook(lambda _, args, read=read: read.append(len(args[0])))
        found[residual], _ = _kept(model, batch)
        if residual == "attn_res":
            sources = [count for count in read if count > 1]
    assert len(sources) == 2 * layers
    # Each plain norm but the first keeps one number a token, which is made again here.
    numbers = 128 + 2 * sum(sources) - (2 * layers - 1)
    assert found["attn_res"] - found["plain"] == 150 * 4 * numbers


def test_gradients_equal_those_of_plain_autograd_which_keeps_far_more(small, awake, sample, monkeypatch):
    model = awake(small).train()
    batch = collate([sample(60), sample(40, (4, 4))], small.media_pad)

    def run():
        model.zero_grad()
        kept, loss = _kept(model, batch)
        loss.backward()
        return kept, {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    kept, found = run()
    monkeypatch.setattr(attn_res, "attnres", attnres_reference)
    monkeypatch.setattr(
        attn_res, "attnres_normed", lambda v, q, g, w, eps, e: rms_norm_reference(attnres_reference(v, q, g, eps), w, e)
    )
    most, expected = run()
    assert most > kept + 100 * 128 * 8 * 2 * 28  # each of 28 sources, normalised and weighted
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert torch.linalg.norm(found[name] - gradient) <= 1e-12 * torch.linalg.norm(gradient), name
