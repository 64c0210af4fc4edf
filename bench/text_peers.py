"""Our text stages beside datatrove and text-dedup: documents and bytes a second of one core, memory, agreement.

    python bench/text_peers.py [--pages 1000] [--documents 6000] [--only WORD …] [--json | --write]

`make bench-peers` makes the peers' environments (scripts/bench_peers.sh) and writes docs/corpora/peers.*. Each stage of
each tool is a process of its own: its time is processor time without imports and loading, its memory the peak of the
whole process. Pages are real ones of fetched inputs in one WARC; documents are real paragraphs with planted copies.

Agreement is by brute force: all pairs of documents by the true Jaccard similarity of their sets of word 5-grams (plain
Python, none of the tools' own). Recall: pairs of 0.8 and more of which one is gone. Precision: documents that are gone
and have another of 0.7 or more.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
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
    "rensa alone": ("trivium",),
    "datasketch alone": ("trivium",),
    "signatures": ("datatrove", "text-dedup"),
    "near dedup": ("trivium", "datatrove", "text-dedup"),
}
HIGH, LOW = 0.8, 0.7
SITES = ("python3.11-doc", "debian-handbook", "git-doc", "postgresql-doc-15", "python-django-doc", "anarchism")


def prepare(folder: Path, pages: int, documents: int) -> None:
    """Writes the files that every tool reads."""
    from _documents import INPUTS, paragraphs
    from _documents import documents as planted

    found = [
        sorted(path for path in (INPUTS / site).rglob("*") if path.suffix in (".html", ".xhtml")) for site in SITES
    ]
    each = max(1, pages // max(1, sum(map(bool, found))))
    chosen = [path for paths in found for path in paths[:: max(1, len(paths) // each)][:each]]
    if not chosen:
        raise SystemExit(f"no pages are here: run `trivium inputs fetch {' '.join(SITES)}` first")
    _write_warc(folder / "pages.warc.gz", chosen)
    _write_texts(folder)
    with (folder / "planted.jsonl").open("w", encoding="utf-8") as file:
        for number, one in enumerate(planted(documents, paragraphs(documents * 6_000))):
            file.write(json.dumps({"id": str(number), "text": one.text}, ensure_ascii=False) + "\n")


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
    """One row: rates and peak memory, or `error`, the last line of what went wrong."""
    python, script, _ = TOOLS[tool]
    row: dict[str, Any] = {"tool": tool, "stage": stage}
    if not Path(python).exists():
        return row | {"error": f"no environment: {ROOT / '.bench' / tool}; run scripts/bench_peers.sh"}
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    from trivium.data.text.language import model_path

    environment = {**os.environ, "LID_MODEL": str(model_path()), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(PEERS), str(PEERS.parent)))}
    log = folder / "log.txt"
    with log.open("wb") as file:
        command = [str(python), str(PEERS / script), stage, str(folder), str(result)]
        running = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode or not result.exists():
        lines = log.read_text(errors="replace").strip().splitlines() or ["nothing was said"]
        return row | {"error": lines[-1][:300]}
    found = json.loads(result.read_text())
    return row | {
        "documents": found["documents"],
        "seconds": round(found["seconds"], 2),
        "documents_a_second": round(found["documents"] / max(1e-9, found["seconds"]), 1),
        "megabytes_a_second": round(found["bytes"] / 1e6 / max(1e-9, found["seconds"]), 2),
        "process_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": found["peak_mb"],
        "kept": found.get("kept"),
    }


Pairs = npt.NDArray[np.int64]


def alike(texts: list[str], least: float) -> tuple[Pairs, npt.NDArray[np.float64]]:
    """All pairs of texts with a Jaccard similarity of at least that much, and the similarities: exact, no sketch."""
    from scipy.sparse import csr_matrix

    sets = []
    for text in texts:
        words = re.findall(r"\w+", text.lower())
        sets.append({hash(tuple(words[at : at + 5])) for at in range(len(words) - 4)})
    sizes = np.array([len(one) for one in sets])
    flat = np.fromiter((gram for one in sets for gram in one), dtype=np.int64, count=int(sizes.sum()))
    _, column = np.unique(flat, return_inverse=True)
    rows = np.repeat(np.arange(len(sets)), sizes)
    matrix = csr_matrix((np.ones(len(flat), np.int32), (rows, column)))
    found, values = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for start in range(0, len(sets), 1000):
        part = (matrix[start : start + 1000] @ matrix.T).tocoo()
        first, second = part.row.astype(np.int64) + start, part.col.astype(np.int64)
        jaccard = part.data / (sizes[first] + sizes[second] - part.data)
        use = (first < second) & (jaccard >= least)
        found.append(np.column_stack((first[use], second[use])))
        values.append(jaccard[use])
    return np.concatenate(found), np.concatenate(values)


def agreement(folder: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each tool that de-duplicated: pairs found, documents rightly gone, against brute force."""
    lines = (folder / "planted.jsonl").read_bytes().splitlines(keepends=True)
    texts = [json.loads(line)["text"] for line in lines]
    offsets = np.cumsum([0, *map(len, lines)]).tolist()
    by_place = {f"planted.jsonl@{offset}": number for number, offset in enumerate(offsets)}
    pairs, values = alike(texts, LOW)
    high = pairs[values >= HIGH]
    has_twin = np.zeros(len(texts), dtype=bool)
    has_twin[pairs.ravel()] = True
    found = []
    for row in rows:
        kept = row.pop("kept", None)
        if kept is None:
            continue
        stays = np.zeros(len(texts), dtype=bool)
        stays[[by_place[one] if one in by_place else int(one) for one in kept]] = True
        gone = ~stays
        caught = gone[high].any(axis=1)
        found.append(
            {
                "tool": row["tool"],
                "documents": len(texts),
                "pairs": len(high),
                "recall": round(float(caught.mean()), 4) if len(high) else None,
                "gone": int(gone.sum()),
                "precision": round(float(has_twin[gone].mean()), 4) if gone.any() else None,
            }
        )
    return found


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


def measure(pages: int, documents: int, only: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        note("making the inputs")
        prepare(folder, pages, documents)
        rows = []
        for stage, tools in STAGES.items():
            for tool in tools:
                if not only or any(word in f"{tool} {stage}" for word in only):
                    rows.append(run_stage(tool, stage, folder))
                    note(f"{tool} {stage}: {rows[-1].get('error') or rows[-1]['documents_a_second']}")
        agreed = agreement(folder, rows)
    return {
        "commit": _commit(),
        "machine": machine(),
        "versions": versions(),
        "rows": [{key: value for key, value in row.items() if key != "kept"} for row in rows],
        "agreement": agreed,
    }


def tables(facts: dict[str, Any]) -> list[Table]:
    speed = Table(title=f"one core: {facts['machine']}", title_justify="left")
    for name in ("stage", "tool"):
        speed.add_column(name)
    for name in ("documents/s", "MB/s", "peak MB"):
        speed.add_column(name, justify="right")
    for row in facts["rows"]:
        figures = [f"{row[key]:,}" for key in ("documents_a_second", "megabytes_a_second", "peak_mb") if key in row]
        speed.add_row(row["stage"], row["tool"], *(figures or [row["error"]]))
    same = Table(title="near duplicates against brute force", title_justify="left")
    for name in ("tool", "documents", f"pairs ≥ {HIGH}", "recall", "gone", "precision"):
        same.add_column(name)
    for row in facts["agreement"]:
        same.add_row(*(str(row[key]) for key in ("tool", "documents", "pairs", "recall", "gone", "precision")))
    return [speed, same]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=6000)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD", help="stages or tools whose names hold it")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="write docs/corpora/peers.json and peers.md")
    arguments = parser.parse_args()
    facts = measure(arguments.pages, arguments.documents, arguments.only)
    if arguments.write:
        from _text_peers_page import page

        target = ROOT / "docs/corpora/peers.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(facts, indent=1) + "\n")
        target.with_suffix(".md").write_text(page(facts))
    if arguments.json:
        emit_json(facts)
    else:
        for table in tables(facts):
            out.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
