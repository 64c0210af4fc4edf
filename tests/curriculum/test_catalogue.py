import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.curriculum.catalogue import columns_of, key_of, sizes_of, split, split_sizes
from trivium.curriculum.kept import IN_MEMORY, cache_folder
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


def test_a_name_has_one_key_however_it_is_stored() -> None:
    names = np.array(["a", "ab", "", "ab", "ä", "b" * 26])
    keys = key_of(names)
    assert keys.tolist() == key_of(np.char.encode(names, "utf-8").astype("S99")).tolist()
    assert len(set(keys.tolist())) == 5
    assert int(keys[0]) == 0xAF63DC4C8601EC8C  # FNV-1a of "a", as published


@pytest.mark.parametrize("damage", ["half", "gone", "other", "none"])
def test_sizes_are_read_once_kept_whole_and_mapped(make_catalogue, tmp_path, damage) -> None:
    catalogue = make_catalogue("web", range(1, 101), patches=[0, 4] * 50)
    rule, read = HeldOut(fraction=0.2), list[int]()
    memory = sizes_of(catalogue, rule, None)
    kept = sizes_of(catalogue, rule, tmp_path, read.append)
    assert read == [100]
    assert isinstance(kept.tokens, np.memmap)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
    (folder,) = tmp_path.glob("sizes-*")
    if damage == "half":  # as a full disk leaves a file
        (folder / "patches.npy").write_bytes((folder / "patches.npy").read_bytes()[:300])
    if damage == "gone":
        (folder / "patches.npy").unlink()
    if damage == "other":
        np.save(folder / "tokens.npy", np.zeros(7, np.uint32))
    again = sizes_of(catalogue, rule, tmp_path, read.append)
    assert len(read) == 1 + (damage != "none")
    assert again.tokens.tolist() == memory.tokens.tolist() == list(range(1, 101))
    assert again.patches_of(np.arange(100)).tolist() == [0, 4] * 50
    assert again.held_out.tolist() == kept.held_out.tolist() == memory.held_out.tolist() != []
    side = split_sizes({"web": again})["web"]
    for where in (None, tmp_path / "lengths"):
        tokens, patches = columns_of(catalogue, again, side, where).sizes(np.arange(100))
        assert (tokens == np.where(np.isin(np.arange(100), side.held_out), 0, np.arange(1, 101))).all()
        assert patches.tolist() == [0, 4] * 50


def test_sizes_of_many_documents_go_to_a_folder_that_can_be_written(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache_folder(None, IN_MEMORY) is None
    assert not (tmp_path / "home").exists()  # nothing is made for sets that fit in memory
    assert cache_folder(tmp_path, 9) == tmp_path
    assert cache_folder(None, IN_MEMORY + 1) == tmp_path / "home" / "trivium" / "curriculum"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # as a home that is read-only
    made = cache_folder(None, IN_MEMORY + 1)
    assert made is not None
    assert made.is_dir()
    assert made.name.startswith("trivium-curriculum-")
