"""What a source gives, as the build's first job sees it."""

from collections.abc import Iterator
from pathlib import Path

from trivium.data.stage import Draft, Drop, Outcome, Raw
from trivium.pipelines.corpora.sources import Place, Source


def outcomes(source: Source, base: Path = Path("/")) -> list[Outcome]:
    return list(_each(source, base))


def _each(source: Source, base: Path) -> Iterator[Outcome]:
    for place in source.places(base):
        for item in source.split(place):
            yield from source.read(item, "c", "d") if isinstance(item, Place) else [item]


def reasons(source: Source) -> dict[str, str]:
    """`kept`, or why not, by address."""
    return {
        item.document.meta.address if isinstance(item, Draft) else item.address: item.reason
        if isinstance(item, Drop)
        else "kept"
        for item in outcomes(source)
    }


def bodies(source: Source) -> dict[str, bytes]:
    """What was kept, by address."""
    return {item.address: item.body for item in outcomes(source) if isinstance(item, Raw)}


def texts(source: Source) -> list[str]:
    return [item.document.text for item in outcomes(source) if isinstance(item, Draft)]
