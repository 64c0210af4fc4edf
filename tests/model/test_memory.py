"""Bytes of activations against the storages that really live after a forward pass, for both policies of the code."""

import weakref
from typing import Any

import pytest
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from trivium.model.batch import collate
from trivium.model.flops import Work
from trivium.model.memory import FP32_REFERENCE, POLICIES, Storage, activations, layer_rows
from trivium.model.presets import configure, preset


class Living(TorchDispatchMode):
    """Bytes of storages that came to life under it and are still alive."""

    def __init__(self, old: list[Tensor]) -> None:
        super().__init__()
        self.now = 0
        self._seen: dict[int, int] = {}
        self._old = {tensor.untyped_storage()._cdata for tensor in old}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                storage = leaf.untyped_storage()
                key = storage._cdata
                if key not in self._seen and key not in self._old:
                    self._seen[key] = storage.nbytes()
                    self.now += storage.nbytes()
                    weakref.finalize(storage, self._drop, key)
        return out

    def _drop(self, key: int) -> None:
        self.now -= self._seen.pop(key)


@pytest.mark.parametrize("recompute", [False, True], ids=["attn_res", "layers"])
@pytest.mark.parametrize(
    ("name", "changes", "pictures"),
    [
        ("nano", (), ((8, 8),)),
        ("k2-nano", (), ()),
        ("nano", ("backbone.residual=plain", "backbone.mtp_layers=0", "backbone.kda.gate=low_rank"), ()),
    ],
    ids=["k3", "k2", "plain"],
)
def test_the_formula_is_what_lives_after_a_forward_pass(name, changes, pictures, recompute, sample):
    config = configure({"preset": name}, name="test", overrides=changes)
    samples = [sample(300, *pictures, pad=config.media_pad), sample(212, pad=config.media_pad)]
    for one in samples:
        for index, patches in enumerate(one.patches):
            one.patches[index] = patches.float()
    batch = collate(samples, config.media_pad)
    model = config.build(seed=1).train()
    model.backbone.recompute = recompute
    given = [*model.parameters(), *model.buffers(), batch.tokens_T, batch.targets_T, batch.cu_seqlens, batch.patches_P]
    with Living(given) as living:
        output = model(batch)
        kept = living.now
    work = Work((300, 212), tuple((1, *picture) for picture in pictures), batch.targets)
    formula = sum(activations(config, work, "layers" if recompute else "attn_res").values())
    assert formula == pytest.approx(kept, rel=0.03, abs=100_000)  # plans and masks are not in the formula
    assert output.loss_T.requires_grad


def test_policies_keep_less_and_less_and_attn_res_as_much_as_a_plain_residual():
    work, config = Work((8192,)), preset("k3")
    kept = [sum(activations(config, work, policy, Storage()).values()) for policy in POLICIES]
    assert kept[0] > kept[1] > kept[2]
    plain = configure({"preset": "k3", "backbone": {"residual": "plain"}}, name="plain")
    assert kept[1] == pytest.approx(sum(activations(plain, work, "keep", Storage()).values()), rel=0.003)


def test_the_kernels_keep_operands_and_no_chunks():
    backbone, work = preset("small").backbone, Work((8192,))
    lean, whole = (layer_rows(backbone, work, s, mla=False, moe=False)
                   for s in (Storage(row=4, kernels=True), FP32_REFERENCE))  # fmt: skip
    assert {"kda.chunks", "kda.states"} <= set(whole) - set(lean)
    assert whole["kda.states"] == 128 * 12 * 128 * 128 * 4
    assert lean["kda"] < whole["kda"]
