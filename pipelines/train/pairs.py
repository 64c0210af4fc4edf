"""Held-out pictures of a run, and what its model writes for them: the quickest way to see whether it sees."""

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from trivium.curriculum.corpora import catalogues_of, open_corpora
from trivium.curriculum.plan import Plan
from trivium.curriculum.schedule import Schedule
from trivium.data.config import from_mapping, load_yaml
from trivium.data.guard import Guard
from trivium.data.records import Image, Text
from trivium.data.shards import ShardSet
from trivium.data.svg.requests import TASK, Picture, request_for
from trivium.errors import GuardError, InputError, MissingDependencyError, UsageError
from trivium.model.sampling import Sampling
from trivium.needs import cure
from trivium.pipelines.train.config import reload_run
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.sample import Drawn, Opening, Writer

TOGETHER = 8  # documents decoded in the same steps


@dataclass(frozen=True, slots=True)
class Pair:
    """A held-out record: its first picture (bytes, and its longer side in pixels), the code that drew it, and what the
    model wrote."""

    id: str
    picture: bytes
    side: int
    truth: str
    drawn: Drawn


def held_out_pairs(root: Path, writer: Writer, corpus: str, count: int, sampling: Sampling) -> Iterator[Pair]:
    """The first `count` held-out records of `corpus` that hold a picture and text after it, shown to the model.

    `root` is a run folder, whose schedule and corpora must still be where they were. Raises InputError, UsageError and
    the errors of `open_corpora`.
    """
    folder = RunFolder(root)
    if not folder.config.is_file():
        raise InputError(f"{root}: no config.yaml here; --held-out needs a run folder, not a single checkpoint")
    raw = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    run = reload_run(raw, str(folder.config))
    schedule = _schedule(raw["resolved"]["schedule"], Path(run.schedule), str(folder.config))
    if corpus not in schedule.corpora:
        raise UsageError(f"--held-out {corpus}: the run's corpora are {', '.join(schedule.corpora)}")
    sets = open_corpora(Path(run.corpora), schedule)
    plan = Plan.open(schedule, catalogues_of(sets))
    records = (piece.record for row in plan.held_out(corpus) for piece in row.pieces)
    shown = itertools.islice(_pictures(sets[corpus], records), count)
    none = True
    while batch := list(itertools.islice(shown, TOGETHER)):
        none = False
        openings = [Opening(pictures=(picture,)) for _, picture, *_ in batch]
        drawn = writer.write_together(openings, [sampling] * len(batch))
        yield from (Pair(*known, written) for known, written in zip(batch, drawn, strict=True))
    if none:
        raise UsageError(f"--held-out {corpus}: no held-out record of it holds a picture; try another corpus")


def _pictures(shards: ShardSet, records: Iterable[int]) -> Iterator[tuple[str, bytes, int, str]]:
    """(id, first picture, its longer side, text after it) of the records that hold a picture."""
    for record in records:
        document, media = shards.read(record)
        shown = next((s for s in document.segments if isinstance(s, Image)), None)
        if shown is not None:
            after = document.segments[document.segments.index(shown) + 1 :]
            text = "".join(s.text for s in after if isinstance(s, Text))
            yield document.id, media[shown.media], max(shown.width, shown.height), text


def _schedule(resolved: dict[str, Any], path: Path, name: str) -> Schedule:
    """The run's own schedule, whatever its file says today; only the corpora's folders come from the file."""
    today = load_yaml(path, Schedule)
    for corpus, settings in resolved["corpora"].items():
        settings["path"] = today.corpora[corpus].path if corpus in today.corpora else corpus
    return from_mapping(resolved, Schedule, name=name)


def save_pairs(pairs: Iterator[Pair], folder: Path) -> list[dict[str, Any]]:
    """Writes each pair's picture, code and sample into `folder`, drawing what the model wrote where that can be done.

    Returns a fact a pair; all of them also stand in `pairs.json`. What the model wrote is untrusted: it is sanitised
    and drawn in a guarded child.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(Guard(TASK)) as guard:  # its child starts at the first drawing and draws them all
        facts = [_save(pair, folder / f"{number:02}", guard) for number, pair in enumerate(pairs)]
    (folder / "pairs.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=2))
    return facts


def _save(pair: Pair, stem: Path, guard: Guard) -> dict[str, Any]:
    stem.with_suffix(".png").write_bytes(pair.picture)
    stem.with_suffix(".svg").write_text(pair.truth, encoding="utf-8")
    stem.with_suffix(".sample.svg").write_text(pair.drawn.text, encoding="utf-8")
    drawing, reason = _draw(guard, pair.drawn.text, pair.side)
    if drawing is not None:
        stem.with_suffix(".sample.png").write_bytes(drawing)
    return {
        "id": pair.id,
        "picture": f"{stem.name}.png",
        "truth": pair.truth.strip(),
        "written": pair.drawn.text.strip(),
        "drawn": None if drawing is None else f"{stem.name}.sample.png",
        "refused": reason,
    }


def _draw(guard: Guard, code: str, side: int) -> tuple[bytes | None, str | None]:
    """The picture of `code`, `side` pixels at its longer side, or why there is none."""
    from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
    from trivium.data.svg.sanitise import sanitise

    try:
        clean = sanitise(code.strip().encode(), SvgPolicy())
        request = request_for(clean.text, side, (255, 255, 255), check=False)
        return guard.call(request, Picture).png, None
    except SvgRefusedError as error:
        return None, f"{error.reason}: {error.detail}"
    except GuardError as error:
        return None, f"{error.reason}: {error}"
    except MissingDependencyError as error:
        return None, f"not drawn: {error}"
    except ImportError as error:
        return None, f"not drawn: {error.name} is not installed (run: {cure('build')})"
