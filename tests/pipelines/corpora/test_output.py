"""Whose a folder is: only what a build wrote is ever replaced or removed."""

import pytest

from trivium.data.shards import Manifest, write_manifest
from trivium.data.shards.manifest import Takedown
from trivium.errors import BuildError, UsageError
from trivium.pipelines.corpora.output import claimed, refuse_foreign, refuse_inside, swap


def finished(folder, corpus="a", shards=("a-all-00000",), **more):
    for name in ("shards", "rejects", "report"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "report/index.html").write_text("a page")
    for shard in shards:
        for suffix in (".tar", ".idx.json"):
            (folder / "shards" / (shard + suffix)).write_text(shard)
    (folder / "rejects/read.jsonl").write_text("{}\n")
    write_manifest_unchecked(folder, Manifest(corpus=corpus, domain="web", recipe="0", **more))


def write_manifest_unchecked(folder, manifest):
    kept = {path: path.read_bytes() for path in (folder / "shards").iterdir()}
    write_manifest(folder, manifest)
    for path, payload in kept.items():
        path.write_bytes(payload)


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_new_folder_is_made_and_the_build_folder_goes_at_the_end(tmp_path):
    with claimed(tmp_path / "new/out", "a", "0") as claim:
        (claim.folder / "spool").mkdir()
        assert (claim.folder / "owner.json").is_file()
    assert list((tmp_path / "new/out").iterdir()) == []


def test_a_failed_build_leaves_only_its_folder_and_the_next_one_cleans_it(tmp_path):
    def fail():
        with claimed(tmp_path, "a", "0") as claim:
            (claim.folder / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == [".build/half", ".build/lock", ".build/owner.json"]
    with claimed(tmp_path, "a", "0") as claim:
        assert not (claim.folder / "half").exists()


def _foreign_file(out):
    (out / "thesis.txt").write_text("x")


def _foreign_in_shards(out):
    finished(out)
    (out / "shards/photo.jpg").write_text("x")


def _foreign_in_report(out):
    finished(out)
    (out / "report/notes.html").write_text("x")


def _other_corpus(out):
    finished(out, corpus="b")


def _tokenised(out):
    finished(out, tokenizer="abc")


def _taken_down(out):
    finished(out, takedowns=(Takedown(reason="a letter", by="ann", ids=("i" * 26,), records=1, shards=()),))


def _no_manifest(out):
    finished(out)
    (out / "manifest.json").unlink()


def _foreign_build(out):
    (out / ".build").mkdir()
    (out / ".build/precious").write_text("x")


def _damaged_manifest(out):
    finished(out)
    (out / "manifest.json").write_text("{")


def _unfinished_other(out):
    (out / ".build").mkdir()
    (out / ".build/owner.json").write_text('{"format":"trivium.build","version":1,"corpus":"b","recipe":"0"}')


@pytest.mark.parametrize(
    "make",
    [
        _foreign_file,
        _foreign_in_shards,
        _foreign_in_report,
        _other_corpus,
        _tokenised,
        _taken_down,
        _no_manifest,
        _foreign_build,
        _damaged_manifest,
        _unfinished_other,
    ],
)
def test_what_is_not_ours_is_refused_and_untouched(tmp_path, make):
    make(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    with pytest.raises(UsageError, match="give another --out") as caught, claimed(tmp_path, "a", "0"):
        pass
    assert caught.value.exit_code == 2
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(UsageError, match="a file"):
        refuse_foreign(tmp_path / "out", "a")


def test_an_output_may_not_lie_in_an_input_nor_hold_one_also_through_a_link(tmp_path):
    pages = tmp_path / "pages"
    (pages / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(pages / "deep")
    for out in (pages, pages / "out", tmp_path / "link/out"):
        with pytest.raises(UsageError, match="lies in what the recipe reads"):
            refuse_inside(out, "the recipe", [pages])
    with pytest.raises(UsageError, match="holds what the recipe reads"):
        refuse_inside(tmp_path, "the recipe", [pages])
    with pytest.raises(UsageError, match=f"reads \\({pages}\\)"):  # as the path reads best, without `..`
        refuse_inside(tmp_path, "the recipe", [tmp_path / "elsewhere/../pages"])
    refuse_inside(tmp_path / "pages-out", "the recipe", [pages])


def test_the_swap_replaces_the_whole_set(tmp_path):
    finished(tmp_path / "out", shards=("a-all-00000", "a-all-00001"))
    (tmp_path / "out/rejects/old.jsonl").write_text("{}\n")
    finished(tmp_path / "new", shards=("a-all-00000",))
    expected = names(tmp_path / "new")
    swap(tmp_path / "new", tmp_path / "out")
    assert names(tmp_path / "out") == expected
    assert names(tmp_path / "new") == []


def test_two_builds_may_not_share_a_folder(tmp_path):
    with (
        claimed(tmp_path, "a", "0"),
        pytest.raises(BuildError, match="another build is writing"),
        claimed(tmp_path, "a", "0"),
    ):
        pass
