"""Renders the page: style, script and data inside one file, and a policy that lets nothing else run or load.

Odd: records are foreign and may be hostile. They enter the page as JSON whose `<`, `>` and `&` are escaped, the script
writes them with `textContent` only, and the content policy names the one script and style by their hashes, so that
markup in a record could not run even if it got through.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.shards.address import Place
from trivium.data.shards.storage import write_whole
from trivium.errors import InputError, MissingDependencyError, UsageError
from trivium.pipelines.gallery.collect import collect, open_sets

SCRIPTS = (
    "core.js",
    "pairs.js",
    "rewrites.js",
    "records.js",
    "clusters.js",
    "cuts.js",
    "tabs.js",
)  # one script, in this order
COUNT = 600


@dataclass(frozen=True, slots=True)
class GalleryFacts:
    """What was written: records, clusters and rejects shown, bytes of the page; what is `damaged`: {path, reason}."""

    records: int
    clusters: int
    rejects: int
    bytes: int
    damaged: tuple[dict[str, str], ...]


def write_gallery(
    paths: Sequence[Path | str | Place], target: Path, *, count: int = COUNT, seed: int = 0
) -> GalleryFacts:
    """Writes one page of the sets at or below `paths`, with at most `count` records and `count` rejects in all.

    Raises MissingDependencyError, UsageError (no place for the page), InputError (no set there, or the page can't be
    written), ShardError (none that can be opened).
    """
    if not target.parent.is_dir():
        raise UsageError(f"--out {target}: there is no folder {target.parent}; make it, or give another path")
    if os.path.isdir(target):
        raise UsageError(f"--out {target}: a folder; give the page a name, such as {target / 'gallery.html'}")
    sets, damaged = open_sets(paths)
    data = collect(sets, count, seed, damaged)
    page = render(data).encode("utf-8", "replace")
    try:
        write_whole(target, page)
    except OSError as error:
        raise InputError(
            f"--out {target}: can't be written ({error.strerror}); mend that or give another path"
        ) from None
    shown = [len(data[part]) for part in ("records", "clusters", "rejects")]
    return GalleryFacts(*shown, bytes=len(page), damaged=tuple(data["damaged"]))


def render(data: dict[str, Any]) -> str:
    """The HTML text of the page."""
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise MissingDependencyError("the gallery needs jinja2; install it with `pip install jinja2`") from None
    from trivium.pipelines.pages import policy

    folder = resources.files(__package__)
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["thousands"] = lambda count: f"{count:,}"
    template = environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"))
    # Markup: our own files, and JSON that holds no markup.
    return template.render(
        policy=policy([script], [style]),
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(harmless_json(data)),
        sets=data["sets"],
        damaged=data["damaged"],
        rule=data["rule"],
        shown={part: len(data[part]) for part in ("records", "clusters", "cuts", "rejects")},
    )


def harmless_json(data: Any) -> str:
    """JSON that holds no character which HTML could take for markup."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
