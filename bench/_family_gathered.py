"""What the archives of `bench/family.py` hold, beside what docs/results holds already."""

import csv
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from _family_facts import run_facts

from trivium.data.config import from_mapping
from trivium.model.joint import JointConfig
from trivium.model.sizes import measure


class Gathered:
    """What some archives hold: runs by name, those of a later archive in place of an earlier one's.

    `before` is a folder that was written from earlier archives: its runs stay, unless an archive holds as many steps.
    """

    def __init__(self, archives: Sequence[Path], before: Path | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self.wanted: dict[str, str] = {}  # kind by name, whether it ran or not
        self.known: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, list[dict[str, Any]]] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.notes: dict[str, str] = {}
        self.stood: dict[str, dict[str, Any]] = {}  # facts of runs that no archive holds any more
        if before is not None and (before / "results.json").is_file():
            self._take(before)
        for path in archives:
            with tarfile.open(path) as archive:
                self._read(archive)

    def _take(self, folder: Path) -> None:
        whole = json.loads((folder / "results.json").read_bytes())
        self.calls, self.wanted = whole["calls"], whole["wanted"]
        for name, found in whole["runs"].items():
            lines = _lines(folder / "curves" / f"{name}.csv")
            columns = {
                f"by_step_{kind}": [line[f"load_{kind}"] for line in lines if line[f"load_{kind}"] is not None]
                for kind in ("mean", "worst")
            }
            self.lines[name] = lines
            self.stood[name] = {**found, "load": found["load"] and found["load"] | columns}

    def _read(self, archive: tarfile.TarFile) -> None:
        call = json.loads(_text(archive, "family.json"))
        told = {key: value for key, value in call.items() if key != "jobs"}
        self.calls += [] if told in self.calls else [told]  # collected before
        self.wanted |= call["wanted"]
        for name, known in call["jobs"].items():
            lines = [json.loads(raw) for raw in _text(archive, f"runs/{name}/metrics.jsonl").splitlines()]
            if _steps(lines) < _steps(self.lines.get(name, [])):
                continue  # an earlier archive holds more of it
            self.stood.pop(name, None)
            self.known[name], self.lines[name] = known, lines
            config = _text(archive, f"runs/{name}/config.yaml")
            if config:
                self.configs[name] = yaml.safe_load(config)["resolved"]
            self.notes[name] = _last(_text(archive, f"logs/{name}.log"))

    def kinds(self) -> dict[str, str]:
        """The kind of every run that was wanted or made."""
        return self.wanted | {name: known["job"]["kind"] for name, known in (self.stood | self.known).items()}

    def facts(self) -> dict[str, dict[str, Any]]:
        """`run_facts` of each run, with its sizes, and why it ended where it did."""
        out = dict(self.stood)
        for name, known in self.known.items():
            config = self.configs.get(name)
            model = None if config is None else from_mapping(config["model"], JointConfig, name=name)
            sizes = None if model is None else measure(model, (1,))
            found = run_facts(
                self.lines[name], known["job"]["steps"], None if sizes is None else sizes.flops[0].training
            )
            if model is not None and sizes is not None:
                found |= {
                    "parameters": sizes.parameters.total,
                    "activated": sizes.parameters.activated,
                    "experts": f"{model.backbone.moe.experts} top-{model.backbone.moe.experts_per_token}",
                    "balance": model.backbone.moe.balance,
                    "shape": f"{model.backbone.layers} × {model.backbone.width}",
                }
            ends = known["starts"]
            failed = not ends or (ends[-1]["exit"] != 0 and not ends[-1]["left"])
            out[name] = found | {
                "job": known["job"],
                "command": "python " + " ".join(known["command"]),
                "starts": ends,
                "problem": self.notes[name] if failed else "",
            }
        return out


def _steps(lines: Sequence[dict[str, Any]]) -> int:
    return sum(line["kind"] == "step" for line in lines)


def _text(archive: tarfile.TarFile, name: str) -> str:
    try:
        file = archive.extractfile(name)
    except KeyError:
        return ""
    return "" if file is None else file.read().decode("utf-8", errors="replace")


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _lines(path: Path) -> list[dict[str, Any]]:
    """The step lines of a CSV file, as far as it tells them; of the loads their mean and worst layer."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{key: float(cell) if cell else None for key, cell in row.items()} for row in csv.DictReader(file)]
    kinds = {"total": "loss", "text": "text", "image": "image", "mtp": "mtp"}
    return [{**row, "kind": "step", "loss": {kind: row[key] for kind, key in kinds.items()}} for row in rows]
