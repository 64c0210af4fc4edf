"""What an import refuses, and that it says what to do: wrong tensors, and files made to do harm."""

import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from trivium.errors import CheckpointError, InputError
from trivium.model.interop import WeightsSource, import_model
from trivium.model.interop.convert import export_model
from trivium.model.joint import JointConfig


class Fresh:
    """A model's first weights as a source."""

    def __init__(self, config: JointConfig) -> None:
        self.config = config
        self._state = config.build().state_dict()
        self.shapes = {name: tuple(tensor.shape) for name, tensor in self._state.items()}

    def load(self, name: str) -> torch.Tensor:
        return self._state[name]


@pytest.fixture(scope="module", name="weights")
def fixture_weights(small: JointConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("weights") / "out"
    export_model(Fresh(small), out)
    return out


@pytest.fixture(name="edit")
def fixture_edit(weights: Path, tmp_path: Path) -> Callable[[Callable[[dict[str, torch.Tensor]], None]], Path]:
    """`edit(change)`: a copy of the folder with its tensors changed."""

    def edit(change: Callable[[dict[str, torch.Tensor]], None]) -> Path:
        tensors = load_file(weights / "model.safetensors")
        change(tensors)
        folder = tmp_path / "edited"
        folder.mkdir()
        save_file(tensors, folder / "model.safetensors")
        (folder / "config.json").write_bytes((weights / "config.json").read_bytes())
        return folder

    return edit


HEAD = "language_model.lm_head.weight"
EXPERT = "language_model.model.layers.2.block_sparse_moe.experts.3.w1."
MTP = "language_model.model.layers.5."


def _without_mtp(tensors: dict[str, torch.Tensor]) -> None:
    for name in [name for name in tensors if name.startswith(MTP)]:
        del tensors[name]


def _packed(tensors: dict[str, torch.Tensor]) -> None:
    del tensors[EXPERT + "weight"]
    tensors[EXPERT + "weight_packed"] = torch.zeros(56, 32, dtype=torch.uint8)
    tensors[EXPERT + "weight_scale"] = torch.zeros(56, 2, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop(HEAD), ["1 missing", HEAD, "configuration that they were written from"]),
        (lambda t: t.update(extra=torch.zeros(1)), ["1 unknown", "extra"]),
        (lambda t: t.update({HEAD: torch.zeros(3, 128)}), [HEAD, "[3, 128]", "[160, 128]", "--set"]),
        (lambda t: t.update({HEAD: t[HEAD].half()}), [HEAD, "F16", "give BF16 or F32"]),
        (_without_mtp, ["no MTP layer", "--set backbone.mtp_layers=0"]),
        (_packed, ["quantised", "convert them to bf16"]),
    ],
)
def test_wrong_tensors_are_named(change: Callable, says: list[str], edit: Callable, tmp_path: Path) -> None:
    folder = edit(change)
    with pytest.raises(InputError) as raised:
        import_model(folder, tmp_path / "out")
    for part in says:
        assert part in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_named(value: float, edit: Callable, tmp_path: Path) -> None:
    def spoil(tensors: dict[str, torch.Tensor]) -> None:
        for name in (HEAD, EXPERT + "weight"):
            tensors[name][1, :2] = value

    folder = edit(spoil)
    with pytest.raises(CheckpointError) as raised:
        import_model(folder, tmp_path / "out")
    count = "2 NaN and 0 infinite" if value != value else "0 NaN and 2 infinite"
    for part in (f"{HEAD} ({count} of 20,480)", f"{EXPERT}weight ({count} of "):
        assert part in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_changes_apply_to_the_configuration_in_the_folder(edit: Callable, tmp_path: Path) -> None:
    folder = edit(_without_mtp)
    import_model(folder, tmp_path / "out", changes=["backbone.mtp_layers=0"])
    assert WeightsSource(tmp_path / "out").config.backbone.mtp_layers == 0
    with pytest.raises(InputError, match="num_experts_per_token is 4, not 3"):
        import_model(folder, tmp_path / "other", changes=["backbone.moe.experts_per_token=3"])


def test_padding_that_counts_is_refused(change: Callable[..., JointConfig], tmp_path: Path) -> None:
    name = "language_model.model.layers.0.self_attn.A_log"
    export_model(Fresh(change("backbone.kda.stored_decay_scales=3")), tmp_path / "padded")
    tensors = load_file(tmp_path / "padded/model.safetensors")
    tensors[name][2] = 0.5
    save_file(tensors, tmp_path / "padded/model.safetensors")
    with pytest.raises(InputError, match="numbers behind the first 2 are not zero"):
        import_model(tmp_path / "padded", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _file(header: bytes, length: int | None = None, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def _entry(start: int, stop: int, shape: list[int]) -> dict[str, object]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, stop]}


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        _file(b"{}", length=1 << 40),
        _file(b"{}", length=(1 << 64) - 1),
        _file(b"not json"),
        _file(json.dumps({"a": _entry(0, 4000, [1000])}).encode(), data=b"\0" * 16),
        _file(json.dumps({"a": _entry(0, 16, [4]), "b": _entry(8, 24, [4])}).encode(), data=b"\0" * 24),
        _file(json.dumps({"a": _entry(0, 16, [1 << 62])}).encode(), data=b"\0" * 16),
        _file(json.dumps({"a": _entry(0, 16, [2])}).encode(), data=b"\0" * 16),
        _file(b"[" * 100_000),
    ],
    ids=["empty", "long", "longest", "text", "beyond", "overlap", "product", "mismatch", "deep"],
)
def test_a_header_that_lies_is_refused(payload: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(payload)
    with pytest.raises(InputError, match="not a whole safetensors file"):
        import_model(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "weights.bin", ""])
def test_an_index_names_files_beside_it_and_nothing_else(name: str, weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.safetensors").write_bytes((weights / "model.safetensors").read_bytes())
    index = {"metadata": {}, "weight_map": {HEAD: name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"not the name of a \.safetensors file beside the index"):
        import_model(folder, tmp_path / "out")


class _Armed:
    def __reduce__(self) -> tuple[Callable, tuple[str]]:
        return exec, ("import pathlib; pathlib.Path('ran').touch()",)


def test_a_pickle_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(pickle.dumps(_Armed()))
    for path in (tmp_path, file):
        with pytest.raises(InputError, match="a pickle, which can run code"):
            import_model(path, tmp_path / "out")
    (tmp_path / "model.safetensors").write_bytes(file.read_bytes())
    with pytest.raises(InputError, match="not a whole safetensors file"):
        import_model(tmp_path, tmp_path / "out")
    assert not (tmp_path / "ran").exists()


def test_files_and_index_must_agree(weights: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "part.safetensors").write_bytes((weights / "model.safetensors").read_bytes())
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {HEAD: "part.safetensors"}}))
    with pytest.raises(InputError, match="is not in the index"):
        import_model(folder, tmp_path / "out")
    index.write_text(json.dumps({"weight_map": {HEAD: "lost.safetensors"}}))
    with pytest.raises(InputError, match=r"lost\.safetensors: missing"):
        import_model(folder, tmp_path / "out")


def test_settings_that_contradict_are_refused(edit: Callable, tmp_path: Path) -> None:
    folder = edit(lambda tensors: None)
    place = folder / "config.json"
    settings = json.loads(place.read_text())
    settings["text_config"]["num_experts_per_token"] = 3
    place.write_text(json.dumps(settings))
    with pytest.raises(InputError, match="num_experts_per_token is 3, not 4"):
        import_model(folder, tmp_path / "out")
