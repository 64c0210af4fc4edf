"""What the HTML pages share: one style sheet, one way to write figures, one content policy.

Odd: jinja2 is imported inside `templates`, since the training side may lack it and then makes no page.
"""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def templates(folder: Path) -> "jinja2.Environment":
    """The templates of `folder` and the shared ones (`style.css.j2`), with autoescape and the filters below."""
    import jinja2

    loader = jinja2.FileSystemLoader([folder, Path(__file__).parent])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False
    )
    environment.filters |= {
        "short": _short,
        "loss": _loss,
        "signed": _signed,
        "duration": duration,
        "percent": _percent,
        "count": _count,
        "picture": picture,
    }
    return environment


def policy(scripts: Sequence[str], styles: Sequence[str] = ()) -> str:
    """A content policy: the given scripts and styles by their hashes, pictures from data: addresses, nothing else.

    Without `styles` any inline style may stand, since style attributes have no hashes; a style runs nothing. So markup
    that came through in spite of the templates' escaping would still be dead: no script, no handler, no request.
    """
    script = " ".join(_hashed(text) for text in scripts) or "'none'"
    style = " ".join(_hashed(text) for text in styles) or "'unsafe-inline'"
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def picture(address: str) -> str:
    """The address when it is a raster picture's data: address, else nothing: no page points anywhere else."""
    kinds = tuple(f"data:image/{kind};base64," for kind in ("png", "webp", "jpeg", "gif"))
    return address if address.startswith(kinds) else ""


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def _short(value: float | None) -> str:
    return "–" if value is None else short(value)


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    """Rounded to nothing it has no sign: `−0.000` would say that it is below zero."""
    if value is None:
        return "–"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.3g} %"


def _count(value: float | None) -> str:
    """Thousands parted by thin spaces."""
    return "–" if value is None else f"{round(value):,}".replace(",", "\u202f")


def short(value: float) -> str:
    """Three significant digits, thousands as k and M."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    if size and size < 1e-3:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.3g}" if size < 1000 else f"{value:.0f}"
