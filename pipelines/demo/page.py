"""The demo's last step: `report.json` for scripts and `report.html` for people, from what the steps left behind."""

import base64
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trivium.pipelines.demo.steps import CORPORA, Step
from trivium.pipelines.pages import policy, templates


def write_page(out: Path, plan: Sequence[Step], seconds: Mapping[str, float], total: float) -> dict[str, Any]:
    """Writes both reports into `out` and returns the facts; `seconds` by step, `total` of all, some at the same time.

    The page holds everything in itself but three links.
    """
    run = json.loads((out / "run" / "report.json").read_text())
    facts = {**run, "train_seconds": run["seconds"], "seconds": round(total, 1), "steps": dict(seconds)}
    facts["corpora"] = {name: _corpus(out / "built" / name, out / "corpora" / name) for name in CORPORA}
    _replace(out / "report.json", json.dumps(facts, indent=2) + "\n")
    template = templates(Path(__file__).parent).get_template("page.html.j2")
    page = template.render(
        facts=facts,
        policy=policy([]),  # the page has no script
        steps=[{"title": s.title, "command": shlex.join(s.arguments), "seconds": seconds.get(s.name)} for s in plan],
        plot=base64.b64encode((out / "curriculum.png").read_bytes()).decode(),
        text=(out / "sample-text.txt").read_text(encoding="utf-8"),
        pairs=_pairs(out / "pictures"),
    )
    _replace(out / "report.html", page)
    return facts


def _corpus(built: Path, tokenised: Path) -> dict[str, Any]:
    """Records, tokens and the funnel of one corpus, from its manifests."""
    before, after = (json.loads((folder / "manifest.json").read_text()) for folder in (built, tokenised))
    return {
        "records": sum(shard["records"] for shard in after["shards"]),
        "tokens": sum(shard["tokens"] for shard in after["shards"]),
        "patches": sum(shard["patches"] for shard in after["shards"]),
        "funnel": before["funnel"],
        "licences": after["licences"],
    }


def _pairs(folder: Path) -> list[dict[str, Any]]:
    """Held-out pictures and the drawings of what the model wrote, as data addresses."""
    pairs = json.loads((folder / "pairs.json").read_text(encoding="utf-8"))
    for pair in pairs:
        for key in ("picture", "drawn"):
            if pair[key] is not None:
                payload = base64.b64encode((folder / pair[key]).read_bytes()).decode()
                pair[key] = f"data:image/png;base64,{payload}"
    return pairs


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
