"""The family: the K2 baseline of each size weighs what K3's member weighs, and differs from it in its mechanisms."""

import pytest

from trivium.data.config import to_mapping
from trivium.errors import UsageError
from trivium.model.presets import PRESETS, optimizer, preset
from trivium.model.sizes import measure


def test_the_names_in_their_order():
    assert list(PRESETS) == ["nano", "tiny", "small", "base", "k3", "k2-nano", "k2-tiny", "k2-small", "k2-base", "k2"]
    with pytest.raises(UsageError, match="no preset 'k2-mega'; known: nano, tiny, small, base, k3, k2-nano"):
        preset("k2-mega")


@pytest.mark.parametrize("size", ["nano", "tiny", "small", "base"])
def test_the_baseline_weighs_what_the_member_of_its_size_weighs(size):
    ours, theirs = preset(size), preset(f"k2-{size}")
    k3, k2 = measure(ours, (8192,)).parameters, measure(theirs, (8192,)).parameters
    assert k2.total == pytest.approx(k3.total, rel=0.02)
    assert k2.activated == pytest.approx(k3.activated, rel=0.02)
    assert k2.total + k2.parts["mtp"] == pytest.approx(k3.total + k3.parts["mtp"], rel=0.02)
    assert (theirs.vision, theirs.media_pad, theirs.backbone.vocab, theirs.backbone.mtp_layers) == (
        ours.vision,
        ours.media_pad,
        ours.backbone.vocab,
        ours.backbone.mtp_layers,
    )


@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_the_baseline_keeps_the_ratios_of_k2(size):
    published, config = preset("k2").backbone, preset(f"k2-{size}").backbone
    for ratio in (
        lambda c: c.width / c.mla.heads,
        lambda c: c.moe.hidden / c.width,
        lambda c: c.mla.q_lora / c.width,
        lambda c: c.moe.experts_per_token / c.moe.shared,
    ):
        assert ratio(config) == pytest.approx(ratio(published))
    if size != "tiny":
        assert 7 * config.dense_hidden == 18 * config.width
    # Depth: K2 is the shallower family, by as much as at full size.
    wanted = (7168 / 61) / (7168 / 93) * preset(size).backbone.width / preset(size).backbone.layers
    assert config.width / config.layers == pytest.approx(wanted, rel=0.15)


def test_all_members_of_a_family_have_its_mechanisms():
    """What is no size is equal in all members; the two families differ in each of the mechanisms."""
    families = (("nano", "tiny", "small", "base", "k3"), ("k2-nano", "k2-tiny", "k2-small", "k2-base", "k2"))
    found = []
    for family in families:
        kinds = {str(mechanisms(name)) for name in family}
        assert len(kinds) == 1
        found.append(mechanisms(family[0]))
        assert len({optimizer(name).per_head for name in family}) == 1
    assert all(found[0][key] != found[1][key] for key in found[0])
    assert optimizer("small").per_head
    assert not optimizer("k2-small").per_head


def mechanisms(name):
    raw = to_mapping(preset(name))["backbone"]
    return {
        "pattern": raw["mla_every"],
        "gate": raw["mla"]["gate"],
        "positions": raw["mla"]["rope_base"],
        "residual": raw["residual"],
        "latent": raw["moe"]["latent"] is None,
        "shared": raw["moe"]["shared"],
        "scaling": raw["moe"]["scaling"],
        "balance": raw["moe"]["balance"],
        "activation": raw["activation"],
    }
