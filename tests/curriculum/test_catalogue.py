import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.catalogue import columns_of, split
from trivium.curriculum.schedule import HeldOut


@given(
    web=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    svg=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    fraction=st.floats(0, 0.5),
)
def test_no_cluster_and_no_content_is_on_both_sides(make_catalogue, web, svg, fraction) -> None:
    catalogues = {
        # Members of a cluster differ in content; svg holds some of web's contents under other clusters.
        "web": make_catalogue("web", [9] * len(web), clusters=[f"c{c}" for c in web]),
        "svg": make_catalogue("svg", [9] * len(svg), clusters=[f"e{c}" for c in svg], ids=[f"web{c}" for c in svg]),
    }
    sides = split(catalogues, HeldOut(fraction=fraction))
    for column in ("cluster", "id"):
        train = {str(v) for n, c in catalogues.items() for v in getattr(c, column)[sides[n].train]}
        held = {str(v) for n, c in catalogues.items() for v in getattr(c, column)[sides[n].held_out]}
        assert not train & held
    for name, catalogue in catalogues.items():
        side = sides[name]
        assert sorted([*side.train, *side.held_out, *side.twins]) == list(range(len(catalogue)))


def test_the_fraction_is_of_clusters_and_the_salt_moves_it(make_catalogue) -> None:
    catalogue = {"web": make_catalogue("web", [9] * 20_000, clusters=[f"c{i // 2}" for i in range(20_000)])}
    first = split(catalogue, HeldOut(fraction=0.05, salt="a"))["web"].held_out
    second = split(catalogue, HeldOut(fraction=0.05, salt="b"))["web"].held_out
    assert len(first) / 20_000 == pytest.approx(0.05, abs=0.007)
    assert len(np.intersect1d(first, second)) < 0.2 * len(first)


def test_a_document_without_cluster_stands_for_itself(make_catalogue) -> None:
    catalogue = {"web": make_catalogue("web", [9] * 1000, clusters=[""] * 1000)}
    assert 20 < len(split(catalogue, HeldOut(fraction=0.05))["web"].held_out) < 80


def test_columns_of_unequal_length_are_refused(make_catalogue) -> None:
    with pytest.raises(ValueError, match="'web' differ in length"):
        make_catalogue("web", [9, 9], clusters=["a"])


def test_the_digest_sees_every_column(make_catalogue) -> None:
    base = make_catalogue("web", [9, 8])
    others = [
        make_catalogue("web", [9, 7]),
        make_catalogue("web", [9, 8], patches=[0, 4]),
        make_catalogue("web", [9, 8], clusters=["x", "x"]),
        make_catalogue("web", [9, 8], ids=["x", "y"]),
        make_catalogue("svg", [9, 8]),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 6


def test_sizes_are_kept_in_a_file_and_mapped_from_it(make_catalogue, tmp_path) -> None:
    catalogue = make_catalogue("web", range(1, 101), patches=[0, 4] * 50)
    side = split({"web": catalogue}, HeldOut(fraction=0.2))["web"]
    folder = tmp_path / "plan" / "lengths"
    memory, mapped = columns_of(catalogue, side, None), columns_of(catalogue, side, folder)
    assert isinstance(mapped.tokens, np.memmap)
    again = columns_of(catalogue, side, folder)
    records = np.arange(100)
    for columns in (memory, mapped, again):
        tokens, patches = columns.sizes(records)
        assert (tokens == np.where(np.isin(records, side.held_out), 0, records + 1)).all()
        assert patches.tolist() == [0, 4] * 50
    assert mapped.tokens.dtype == np.uint32
