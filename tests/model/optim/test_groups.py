import re
from collections import Counter

import pytest
import torch

from trivium.errors import ConfigError
from trivium.model.optim.groups import RULES, Group, describe_groups, group_of
from trivium.model.presets import PRESETS

NANO = PRESETS["nano"]()
K3 = PRESETS["k3"]()


@pytest.fixture(scope="module", params=["nano", "k3", "k2"])
def rows(request: pytest.FixtureRequest) -> list[Group]:
    config = PRESETS[request.param]()
    model = config.build(device="meta")
    named = list(model.named_parameters())
    found = describe_groups(named, config)
    assert [(row.name, row.shape) for row in found] == [(name, tuple(p.shape)) for name, p in named]
    return found


def test_exactly_one_rule_knows_each_parameter(rows: list[Group]) -> None:
    for row in rows:
        assert sum(re.fullmatch(rule.pattern, row.name) is not None for rule in RULES) == 1, row.name


def test_blocks_cover_each_matrix_once(rows: list[Group]) -> None:
    for row in rows:
        if row.optimizer == "muon":
            size = torch.Size(row.shape).numel()
            assert sum(b.count * b.rows * b.columns for b in row.blocks) == size
            edges = [edge for b in row.blocks for edge in (b.start, b.stop)]
            assert edges == sorted(edges)
            assert edges[0] == 0
            assert edges[-1] * row.shape[-1] == size
            assert row.decay
        else:
            assert row.blocks == ()
            assert row.decay == (len(row.shape) > 1)


def test_what_is_no_hidden_matrix_goes_to_adamw(rows: list[Group]) -> None:
    kinds = Counter(re.sub(r"\.\d+\.", ".N.", row.name) for row in rows if row.optimizer == "adamw" and row.decay)
    decayed = {name.removeprefix("backbone.layers.N.attn.") for name in kinds}
    assert decayed <= {
        "backbone.embed.weight",
        "backbone.head.weight",
        "vision.patch_embed.weight",
        "vision.pos_embed",
        "q_conv.weight",
        "k_conv.weight",
        "v_conv.weight",
    }
    assert all(len(row.shape) > 1 for row in rows if row.optimizer == "muon")


@pytest.mark.parametrize(
    ("name", "shape", "blocks"),
    [
        ("backbone.layers.0.attn.q_proj.weight", (12288, 7168), [(96, 128, 7168)]),
        ("backbone.layers.3.attn.q_b_proj.weight", (18432, 1536), [(96, 192, 1536)]),
        ("backbone.layers.3.attn.kv_b_proj.weight", (24576, 512), [(192, 128, 512)]),
        ("backbone.layers.3.attn.kv_a_proj.weight", (576, 7168), [(1, 512, 7168), (1, 64, 7168)]),
        ("backbone.layers.3.attn.q_a_proj.weight", (1536, 7168), [(1, 1536, 7168)]),
        ("backbone.layers.5.mlp.experts.w2", (896, 3584, 3072), [(896, 3584, 3072)]),
        ("backbone.layers.5.mlp.router.weight", (896, 7168), [(1, 896, 7168)]),
        ("backbone.mtp.layer.attn.kv_b_proj.weight", (24576, 512), [(192, 128, 512)]),
        ("vision.blocks.26.wqkv.weight", (4608, 1024), [(36, 128, 1024)]),
        ("vision.blocks.26.wo.weight", (1024, 1536), [(1, 1024, 1536)]),
    ],
)
def test_blocks_of_the_released_shapes(name: str, shape: tuple[int, ...], blocks: list[tuple[int, int, int]]) -> None:
    found = group_of(name, shape, K3)
    assert [(b.count, b.rows, b.columns) for b in found.blocks] == blocks
    for b in found.blocks:
        assert b.scale == pytest.approx(0.2 * max(b.rows, b.columns) ** 0.5)


def test_whole_matrix_mode_splits_only_what_is_fused() -> None:
    names = {
        row.name: row for row in describe_groups(NANO.build(device="meta").named_parameters(), NANO, per_head=False)
    }
    assert [b.count for b in names["backbone.layers.0.attn.q_proj.weight"].blocks] == [1]
    assert [b.count for b in names["backbone.layers.3.attn.kv_b_proj.weight"].blocks] == [1]
    assert [b.count for b in names["backbone.layers.3.attn.kv_a_proj.weight"].blocks] == [1]
    assert [b.count for b in names["backbone.layers.1.mlp.experts.w1"].blocks] == [16]
    assert [(b.count, b.rows) for b in names["vision.blocks.0.wqkv.weight"].blocks] == [(3, 256)]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no optimizer rule for the parameter 'backbone.layers.0.attn.new.weight'"):
        group_of("backbone.layers.0.attn.new.weight", (4, 4), NANO)


def test_more_names_can_go_to_adamw_and_a_pattern_must_match() -> None:
    named = list(NANO.build(device="meta").named_parameters())
    rows = describe_groups(named, NANO, adamw_also=(r"vision\..*", r"projector\.fc0\.weight"))
    assert {row.optimizer for row in rows if row.name.startswith("vision.")} == {"adamw"}
    assert {row.name for row in rows if row.name.startswith("projector.") and row.optimizer == "muon"} == {
        "projector.fc1.weight"
    }
    with pytest.raises(ConfigError, match="no parameter's name matches 'visoin"):
        describe_groups(named, NANO, adamw_also=(r"visoin\..*",))
