"""Which of the demo's steps are begun and done, kept in one JSON file beside what they made."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from trivium.pipelines.demo.steps import Step


class Ledger:
    """Fingerprint and seconds by step name; written at each change, so that a killed demo goes on where it was."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        self.begun: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        if path.exists() and not fresh:
            kept = json.loads(path.read_text())
            self.begun, self.keys, self.seconds = kept["begun"], kept["keys"], kept["seconds"]

    def done(self, step: Step, key: str) -> bool:
        return self.keys.get(step.name) == key and step.writes.exists()

    def begin(self, step: Step, key: str) -> None:
        """A step begun with another fingerprint left work that can't be gone on with: its folder goes."""
        if self.begun.get(step.name) != key and step.resumes is not None and step.resumes.exists():
            shutil.rmtree(step.resumes)
        self.begun[step.name] = key
        self._write()

    def add(self, step: Step, key: str, seconds: float) -> None:
        self.keys[step.name] = key
        self.seconds[step.name] = round(seconds, 2)
        self._write()

    def total(self, plan: Sequence[Sequence[Step]]) -> float:
        """Seconds of the whole demo: steps that run at the same time last as long as the slowest of them."""
        return sum(max(self.seconds.get(step.name, 0.0) for step in wave) for wave in plan)

    def _write(self) -> None:
        partial = self.path.with_suffix(".tmp")
        partial.write_text(json.dumps({"begun": self.begun, "keys": self.keys, "seconds": self.seconds}, indent=2))
        partial.replace(self.path)
