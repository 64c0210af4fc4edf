"""A bank's gradients summed in one buffer each: the same training, with recomputation and without."""

import pytest
import torch

from trivium.model.batch import collate


@pytest.mark.parametrize("recompute", [False, True])
def test_every_parameter_gets_the_gradient_that_autograd_sums(change, awake, sample, recompute):
    config = change("backbone.layers=7")  # four blocks of two
    batch = collate([sample(60, (4, 4)), sample(80)], config.media_pad)
    found = {}
    for share in (True, False):
        model = awake(config).train()
        model.backbone.share_gradients, model.backbone.recompute = share, recompute
        out = model(batch)
        (out.loss_T.sum() + out.mtp_loss_T.sum()).backward()
        found[share] = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert found[True].keys() == found[False].keys()
    for name, right in found[False].items():
        assert (found[True][name] - right).norm() <= 1e-12 * right.norm(), name


@pytest.mark.parametrize("share", [False, True])
def test_the_option_decides_whether_autograd_sees_the_mixtures_gradients(small, awake, sample, share):
    model = awake(small).train()
    model.backbone.share_gradients = share
    seen: list[torch.Tensor | None] = []

    def watch(_, args):
        args[0][1].register_hook(seen.append)  # a finished block, which mixtures alone read

    hook = model.backbone.out_res.register_forward_pre_hook(watch)
    out = model(collate([sample(60)], small.media_pad))
    hook.remove()
    out.loss_T.sum().backward()
    assert [grad is None for grad in seen] == [share]
