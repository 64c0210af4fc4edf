"""What the HTML pages share: one style sheet, one way to write figures.

Odd: jinja2 is imported inside `templates`, since the training side may lack it and then makes no page.
"""

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
    environment.filters |= {"short": _short, "loss": _loss, "duration": duration, "percent": _percent, "count": _count}
    return environment


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
