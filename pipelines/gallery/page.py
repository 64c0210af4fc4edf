"""Renders the page: style, script and data inside one file, and a policy that lets nothing else run or load.

Odd: records are foreign and may be hostile. They enter the page as JSON whose `<`, `>` and `&` are escaped, the script
writes them with `textContent` only, and the content policy names the one script and style by their hashes, so that
markup in a record could not run even if it got through.
"""

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.shards import ShardSet
from trivium.data.shards.storage import write_whole
from trivium.errors import MissingDependencyError
from trivium.pipelines.gallery.collect import collect


@dataclass(frozen=True, slots=True)
class GalleryFacts:
    """What was written: records and rejects shown, bytes of the page."""

    records: int
    rejects: int
    bytes: int


def write_gallery(sets: list[ShardSet], target: Path, *, limit: int = 200, seed: int = 0) -> GalleryFacts:
    """Writes one page with at most `limit` records and `limit` rejects of each set.

    Raises MissingDependencyError, ShardError.
    """
    data = collect(sets, limit, seed)
    page = render(data).encode("utf-8", "replace")
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, page)
    return GalleryFacts(len(data["records"]), len(data["rejects"]), len(page))


def render(data: dict[str, Any]) -> str:
    """The HTML text of the page."""
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise MissingDependencyError("the gallery needs jinja2; install it with `pip install jinja2`") from None
    folder = resources.files(__package__)
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["thousands"] = lambda count: f"{count:,}"
    template = environment.from_string((folder / "page.html.j2").read_text(encoding="utf-8"))
    # Markup: our own two files, and JSON that holds no markup.
    return template.render(
        policy=policy(style, script),
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        data=markupsafe.Markup(harmless_json(data)),
        sets=data["sets"],
        shown={"records": len(data["records"]), "rejects": len(data["rejects"])},
    )


def harmless_json(data: Any) -> str:
    """JSON that holds no character which HTML could take for markup."""
    text = msgspec.json.encode(data).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def policy(style: str, script: str) -> str:
    """The content policy: this style, this script, pictures from data: addresses, nothing from anywhere else."""
    sources = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{sources[0]}'; script-src 'sha256-{sources[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
