import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import from_mapping
from trivium.data.patches import PictureRules, fit
from trivium.errors import ConfigError

SIDES = st.integers(1, 40_000)
RULES = st.builds(
    PictureRules, patch_limit=st.integers(4, 70_000), side_limit=st.integers(1, 256).map(lambda half: 2 * half)
)


@given(width=SIDES, height=SIDES, rules=RULES)
def test_never_upscales_and_holds_every_limit(width, height, rules):
    size = fit(width, height, rules)
    assert 1 <= size.width <= width
    assert 1 <= size.height <= height
    assert size.padded_width % 28 == 0
    assert size.padded_height % 28 == 0
    assert 0 <= size.padded_width - size.width < 28
    assert 0 <= size.padded_height - size.height < 28
    assert (size.grid_w, size.grid_h) == (size.padded_width // 14, size.padded_height // 14)
    assert max(size.grid_w, size.grid_h) <= rules.side_limit
    assert size.patches == size.grid_w * size.grid_h <= rules.patch_limit
    assert size.tokens * 4 == size.patches


@given(width=st.integers(28, 4000), height=st.integers(28, 4000))
def test_keeps_the_aspect_within_a_pixel(width, height):
    size = fit(width, height, PictureRules(patch_limit=1024))
    assert abs(size.width * height - size.height * width) <= 2 * max(width, height)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(112, 112, 16), (1, 1, 1), (29, 28, 2), (3584, 3584, 16384), (7168, 14, 256), (100_000, 50, 256)],
)
def test_known_sizes(width, height, tokens):
    assert fit(width, height, PictureRules()).tokens == tokens


def test_padding_past_the_limit_shrinks_the_picture():
    # 3597 // 14 = 256 patches a side pass the released bound, yet pad to 258.
    assert fit(3597, 3597, PictureRules()).patches == 65536


@pytest.mark.parametrize("wrong", [{"patch_limit": 3}, {"side_limit": 7}, {"side_limit": 0}])
def test_refuses_rules_that_hold_no_picture(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        from_mapping(wrong, PictureRules, name="rules")


def test_digest_tells_rules_apart():
    assert PictureRules().digest() == PictureRules().digest()
    assert PictureRules().digest() != PictureRules(side_limit=256).digest()
