import resource
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest
import torch

from trivium.errors import CheckpointError, TrainError
from trivium.pipelines.train.checkpoint import CheckpointStore, check_identity, verify

IDENTITY = {"model": {"width": 8, "layers": [1, 2], "patterns": []}, "seed": 1}


def tensors(seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "model/weight": torch.randn(17, 5, generator=generator),
        "model/half": torch.randn(9, generator=generator).bfloat16(),
        "model/bias": torch.tensor(float(seed)),
        "rng/torch": torch.get_rng_state(),
        "model/counts": torch.arange(7) + seed,
    }


def store(root: Path, *, keep: int = 3, steps: tuple[int, ...] = (10, 20, 30)) -> CheckpointStore:
    made = CheckpointStore(root / "checkpoints", keep=keep)
    for step in steps:
        made.save(step, tensors(step), {"step": step, "stage": "8k"}, IDENTITY)
    return made


def no_warning(message: str) -> None:
    raise AssertionError(message)


def test_what_was_saved_comes_back_bit_for_bit(tmp_path):
    found = store(tmp_path).newest(no_warning)
    assert found is not None
    assert (found.step, found.state) == (30, {"step": 30, "stage": "8k"})
    loaded, expected = found.tensors(), tensors(30)
    assert loaded.keys() == expected.keys()
    for name, tensor in expected.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor), name


def test_no_checkpoint_is_none(tmp_path):
    assert CheckpointStore(tmp_path / "checkpoints", keep=2).newest(no_warning) is None


def test_keeps_the_newest(tmp_path):
    made = store(tmp_path, keep=2, steps=(1, 2, 3, 4))
    assert made.steps() == [3, 4]
    assert sorted(path.name for path in made.folder.iterdir()) == ["step-00000003", "step-00000004"]


def test_the_same_step_again_replaces(tmp_path):
    made = store(tmp_path)
    made.save(30, tensors(99), {"step": 30}, IDENTITY)
    found = made.newest(no_warning)
    assert found is not None
    assert float(found.tensors()["model/bias"]) == 99
    assert made.steps() == [10, 20, 30]


def flip_a_byte(folder: Path) -> None:
    path = folder / "__0_0.distcp"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def truncate(folder: Path) -> None:
    path = folder / "__0_0.distcp"
    path.write_bytes(path.read_bytes()[:-100])


def remove_a_file(folder: Path) -> None:
    (folder / ".metadata").unlink()


def remove_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def edit_the_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"stage": "8k"', '"stage": "9k"'))


DAMAGE = [flip_a_byte, truncate, remove_a_file, remove_the_manifest, edit_the_manifest]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_newest_falls_back_with_a_warning(tmp_path, damage):
    made = store(tmp_path)
    damage(made.path(30))
    said: list[str] = []
    found = made.newest(said.append)
    assert found is not None
    assert found.step == 20
    assert len(said) == 1
    assert "step-00000030 is damaged" in said[0]
    assert "of step 20" in said[0]
    assert made.steps() == [10, 20]
    assert (made.folder / "damaged-step-00000030").is_dir()


def test_all_damaged_is_an_error_and_moves_nothing(tmp_path):
    made = store(tmp_path)
    for step in made.steps():
        flip_a_byte(made.path(step))
    with pytest.raises(CheckpointError, match=r"no checkpoint is whole.*step-00000010.*another --out"):
        made.newest(no_warning)
    assert made.steps() == [10, 20, 30]


def test_an_unknown_version_is_refused_by_name(tmp_path):
    made = store(tmp_path)
    found = verify(made.path(30))
    assert not isinstance(found, str)
    newer = msgspec.structs.replace(found.manifest, version=2).sealed()
    (made.path(30) / "manifest.json").write_bytes(msgspec.json.encode(newer))
    with pytest.raises(CheckpointError, match="format version 2, this code reads 1"):
        made.newest(no_warning)


def test_another_configuration_names_the_keys(tmp_path):
    found = store(tmp_path).newest(no_warning)
    assert found is not None
    check_identity(found, {"model": {"width": 8, "layers": (1, 2), "patterns": ()}, "seed": 1})
    with pytest.raises(CheckpointError) as caught:
        check_identity(found, {"model": {"width": 16, "layers": [1, 2], "patterns": []}, "seed": 1, "extra": "new"})
    message = str(caught.value)
    assert "model.width was 8, is 16" in message
    assert "extra was absent, is 'new'" in message
    assert "seed" not in message
    assert "another --out" in message


def test_half_written_folders_are_no_checkpoints_and_are_cleaned(tmp_path):
    made = store(tmp_path)
    shutil.copytree(made.path(30), made.folder / ".new-00000040")
    shutil.copytree(made.path(30), made.folder / ".old-00000010")
    assert made.steps() == [10, 20, 30]
    made.clean()
    assert sorted(path.name for path in made.folder.iterdir()) == [f"step-000000{n}0" for n in (1, 2, 3)]


DISK_FULL = """
import resource, sys
from pathlib import Path
import torch
from trivium.errors import TrainError
from trivium.pipelines.train.checkpoint import CheckpointStore
store = CheckpointStore(Path(sys.argv[1]), keep=3)
store.save(1, {"w": torch.ones(1000)}, {}, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.save(2, {"w": torch.ones(1_000_000)}, {}, {})
except TrainError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_checkpoint_before_intact(tmp_path):
    script = textwrap.dedent(DISK_FULL)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "c")], capture_output=True, text=True, check=True, timeout=120
    )
    assert "step-00000002: the checkpoint can't be written" in done.stdout
    assert "the one of step 1 is intact: free some space" in done.stdout
    found = CheckpointStore(tmp_path / "c", keep=3).newest(no_warning)
    assert found is not None
    assert torch.equal(found.tensors()["w"], torch.ones(1000))
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["step-00000001"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


def test_an_unwritable_place_is_a_train_error(tmp_path):
    (tmp_path / "checkpoints").write_text("a file where the folder should be")
    with pytest.raises(TrainError, match="there is none before it"):
        CheckpointStore(tmp_path / "checkpoints", keep=1).save(1, tensors(1), {}, {})
