"""Our text stages beside datatrove and text-dedup: documents and bytes a second of one core, memory, agreement.

    python bench/text_peers.py [--pages 1000] [--documents 20000] [--folder FOLDER] [--json | --write]

`make bench-peers` makes the peers' environments (scripts/bench_peers.sh) and writes docs/corpora/peers.*. Each stage of
each tool is a process of its own, started anew: its time is processor time without imports and loading, its memory what
lay there when the clock began and the most since (peers/text_stage.py). Pages are real ones of fetched inputs in one
WARC; documents are real paragraphs with planted copies. Agreement: _text_agreement.py.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _text_agreement import HIGH, agreement
from rich.table import Table

from trivium.console import emit_json, note, out

ROOT = Path(__file__).resolve().parents[1]
PEERS = Path(__file__).parent / "peers"
TOOLS = {
    "trivium": (sys.executable, "text_ours.py", ""),
    "datatrove": (ROOT / ".bench/datatrove/bin/python", "text_datatrove.py", "datatrove"),
    "text-dedup": (ROOT / ".bench/text-dedup/bin/python", "text_dedup_cli.py", "text-dedup"),
}
STAGES = {
    "extract": ("trivium", "datatrove"),
    "filters": ("trivium", "datatrove"),
    "language": ("trivium", "datatrove"),
    "signatures (rensa)": ("trivium",),
    "signatures (datasketch)": ("trivium",),
    "signatures, by part": ("trivium",),
    "rensa alone": ("trivium",),
    "datasketch alone": ("trivium",),
    "signatures": ("datatrove", "text-dedup"),
    "signatures, same words": ("datatrove",),
    "near dedup": ("trivium", "datatrove", "text-dedup"),
    "near dedup, same words": ("datatrove",),
    "near dedup, our bands": ("trivium",),
    "near dedup, unverified": ("text-dedup",),
}
ANSWERS = ("kept", "clusters", "pairs")  # of a de-duplication: for agreement, not for the page
SITES = ("python3.11-doc", "debian-handbook", "git-doc", "postgresql-doc-15", "python-django-doc", "anarchism")


def prepare(folder: Path, pages: int, documents: int, slow: int) -> None:
    """Writes the files that every tool reads."""
    from _documents import INPUTS, paragraphs
    from _documents import documents as planted

    found = [
        sorted(path for path in (INPUTS / site).rglob("*") if path.suffix in (".html", ".xhtml")) for site in SITES
    ]
    each = -(-pages * 11 // (10 * max(1, sum(map(bool, found)))))  # some pages have no main text
    chosen = [path for paths in found for path in paths[:: max(1, len(paths) // each)][:each]]
    if not chosen:
        raise SystemExit(f"no pages are here: run `trivium inputs fetch {' '.join(SITES)}` first")
    _write_warc(folder / "pages.warc.gz", chosen)
    _write_texts(folder)
    with (folder / "planted.jsonl").open("w", encoding="utf-8") as file:
        for number, one in enumerate(planted(documents, paragraphs(documents * 6_000))):
            file.write(json.dumps({"id": str(number), "text": one.text}, ensure_ascii=False) + "\n")
    lines = (folder / "planted.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "planted-slow.jsonl").write_bytes(b"".join(lines[:slow]))


def _write_warc(target: Path, pages: list[Path]) -> None:
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with target.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for page in pages:
            http = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            with page.open("rb") as body:
                record = writer.create_warc_record(
                    f"http://example.org{page}",
                    "response",
                    payload=body,
                    http_headers=http,
                    warc_headers_dict={"WARC-Identified-Payload-Type": "text/html"},
                )
                writer.write_record(record)


def _write_texts(folder: Path) -> None:
    """The pages' text as our extraction gives it: the filters of both tools judge the same."""
    from trivium.data.stage import Draft, Raw
    from trivium.data.text.extract import ExtractHtml
    from trivium.pipelines.corpora.sources import Place
    from trivium.pipelines.corpora.warc import Warc

    stage, source = ExtractHtml.Config().build(), Warc(name="pages", path=str(folder / "pages.warc.gz"), license="")
    places = [item for place in source.places(folder) for item in source.split(place) if isinstance(item, Place)]
    raws = [raw for place in places for raw in source.read(place, "c", "d") if isinstance(raw, Raw)]
    drafts = [one for raw in raws for one in stage.process(raw) if isinstance(one, Draft)]
    with (folder / "pages.jsonl").open("w", encoding="utf-8") as file:
        for number, draft in enumerate(drafts):
            row = {"id": str(number), "text": draft.document.text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def run_stage(tool: str, stage: str, folder: Path) -> dict[str, Any]:
    """One row: rates and memory, or `error`, the last line of what went wrong; a result that is there is taken."""
    python, script, _ = TOOLS[tool]
    row: dict[str, Any] = {"tool": tool, "stage": stage}
    if not Path(python).exists():
        return row | {"error": f"no environment: {ROOT / '.bench' / tool}; run scripts/bench_peers.sh"}
    result = folder / f"{tool} {stage}.json"
    if not result.exists() and (error := _measure_stage(str(python), script, stage, folder, result)):
        return row | {"error": error}
    found = json.loads(result.read_text())
    return row | {
        "documents": found["documents"],
        "seconds": round(found["seconds"], 2),
        "documents_a_second": round(found["documents"] / max(1e-9, found["seconds"]), 1),
        "megabytes_a_second": round(found["bytes"] / 1e6 / max(1e-9, found["seconds"]), 2),
        **{name: found[name] for name in ("base_mb", "peak_mb", "load", "steps", *ANSWERS) if name in found},
    }


def _measure_stage(python: str, script: str, stage: str, folder: Path, result: Path) -> str:
    """Runs the stage in a process of its own, which writes `result`; what went wrong, if anything."""
    from trivium.data.text.language import model_path

    environment = {**os.environ, "LID_MODEL": str(model_path()), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    environment |= {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    environment |= {"PYTHONPATH": os.pathsep.join((str(PEERS), str(PEERS.parent)))}
    log = folder / "log.txt"
    with log.open("wb") as file:
        command = [python, str(PEERS / script), stage, str(folder), str(result)]
        done = subprocess.run(command, stdout=file, stderr=file, env=environment, check=False)
    if done.returncode == 0 and result.exists():
        return ""
    lines = log.read_text(errors="replace").strip().splitlines() or ["nothing was said"]
    return lines[-1][:300]


def decisions(pages: Path) -> dict[str, Any] | None:
    """Our rules' verdicts beside datatrove's, words cut alike; None without its environment."""
    from text_rules import figures

    python = TOOLS["datatrove"][0]
    if not Path(python).exists():
        return None
    found = figures(pages, str(python), "blanks")
    return {name: found[name] for name in ("documents", "filters")}


def versions() -> dict[str, str]:
    """What took part, by name."""
    from importlib.metadata import version

    found = {name: version(name) for name in ("rensa", "datasketch", "resiliparse", "fastwarc")}
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    for tool, (python, _, package) in TOOLS.items():
        if package and Path(python).exists():
            asked = subprocess.run([str(python), "-c", code, package], capture_output=True, text=True, check=False)
            found[tool] = asked.stdout.strip() or "not installed"
        elif package:
            found[tool] = "not installed"
    return found


def _commit() -> str:
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def machine() -> str:
    names = [
        line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "name" in line
    ]
    return f"{names[0] if names else platform.machine()}, Python {platform.python_version()}"


def inputs(folder: Path, sizes: dict[str, int]) -> None:
    """The files that every tool reads, made once; a folder of other sizes is refused."""
    made = folder / "sizes.json"
    if made.exists():
        if json.loads(made.read_text()) != sizes:
            raise SystemExit(f"{folder} has files of {made.read_text()}; give another --folder, or the same sizes")
        return
    folder.mkdir(parents=True, exist_ok=True)
    note("making the inputs")
    prepare(folder, **sizes)
    made.write_text(json.dumps(sizes))


def measure(folder: Path, sizes: dict[str, int], only: list[str]) -> dict[str, Any]:
    inputs(folder, sizes)
    rows = []
    for stage, tools in STAGES.items():
        for tool in tools:
            if not only or any(word in f"{tool} {stage}" for word in only):
                rows.append(run_stage(tool, stage, folder))
                note(f"{tool} {stage}: {rows[-1].get('error') or rows[-1]['documents_a_second']}")
    agreed = agreement(folder / "planted.jsonl", rows)
    rules = decisions(folder / "pages.jsonl")
    given = " ".join(f"--{name} {size}" for name, size in sizes.items())
    return {
        "command": f"make bench-peers ARGS='{given}'",
        "commit": _commit(),
        "machine": machine(),
        "versions": versions(),
        "rows": [{key: value for key, value in row.items() if key not in ANSWERS} for row in rows],
        "agreement": agreed,
        "rules": rules,
    }


def tables(facts: dict[str, Any]) -> list[Table]:
    speed = Table(title=f"one core: {facts['machine']}", title_justify="left")
    for name in ("stage", "tool"):
        speed.add_column(name)
    for name in ("documents/s", "MB/s", "base MB", "peak MB"):
        speed.add_column(name, justify="right")
    for row in facts["rows"]:
        keys = ("documents_a_second", "megabytes_a_second", "base_mb", "peak_mb")
        figures = [f"{row[key]:,}" for key in keys if key in row]
        speed.add_row(row["stage"], row["tool"], *(figures or [row["error"]]))
    same = Table(title=f"near duplicates of {facts['agreement']['documents']:,} documents", title_justify="left")
    names = {"tool": "tool", "stage": "stage", "recall": f"recall ≥ {HIGH}", "gone": "gone", "precision": "precision"}
    names |= {"lost": "clusters lost", "same_clusters": "same clusters", "union_find": "union-find"}
    for title in names.values():
        same.add_column(title)
    for row in facts["agreement"]["rows"]:
        same.add_row(*(str(row[key]) for key in names))
    return [speed, same]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--slow", type=int, default=20_000, help="documents for datatrove with its own words")
    parser.add_argument("--folder", type=Path, help="keeps inputs and results; a run that was stopped goes on there")
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="stages or tools whose names hold it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/corpora/peers.json and peers.md")
    arguments = parser.parse_args()
    sizes = {name: getattr(arguments, name) for name in ("pages", "documents", "slow")}
    with tempfile.TemporaryDirectory() as name:
        facts = measure(arguments.folder or Path(name), sizes, arguments.only)
    if arguments.write:
        from _text_peers_page import bars, page

        target = ROOT / "docs/corpora/peers.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(facts, indent=1) + "\n")
        target.with_suffix(".md").write_text(page(facts))
        target.with_suffix(".svg").write_text(bars(facts["rows"]))
    if arguments.json:
        emit_json(facts)
    else:
        for table in tables(facts):
            out.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
