"""Where CAD comes from: folders of scripts and of STEP files, and the generator of parts."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.cad.families import FAMILIES
from trivium.data.cad.families.family import MODES, script
from trivium.data.cad.stages import GENERATED
from trivium.data.config import nearest
from trivium.data.longcontext.dice import Dice
from trivium.data.stage import Content, Outcome
from trivium.pipelines.corpora.sources import Counted, Folder, Place


class CadFolder(Folder, kw_only=True, tag="cad_folder"):
    """build123d scripts below a folder."""

    GIVES = Content.CAD_CODE

    suffixes: tuple[str, ...] = (".py",)
    max_bytes: Annotated[int, Meta(ge=1)] = 1 << 20  # of one file; a larger one is a reject
    mime: str = "text/x-python"


class StepFolder(Folder, kw_only=True, tag="step_folder"):
    """STEP files below a folder."""

    GIVES = Content.STEP

    suffixes: tuple[str, ...] = (".step", ".stp")
    max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20  # of one file; a larger one is a reject
    mime: str = "model/step"


class CadParts(Counted, kw_only=True, tag="cad_parts"):
    """`count` parts that the families draw from `seed`, as scripts; no file is read."""

    GIVES = Content.CAD_CODE
    CHUNK = 64

    first: Annotated[int, Meta(ge=0)] = 0  # number of the first part: sets of other numbers hold other parts
    families: tuple[str, ...] = ()  # which; none named: all of them, each as often

    def __post_init__(self) -> None:
        for name in self.families:
            if name not in FAMILIES:
                raise ValueError(f"families: there is none named {name!r}{nearest(name, sorted(FAMILIES))}")

    @property
    def begins(self) -> int:
        return self.first

    def address(self, number: int) -> str:
        names = self.families or tuple(sorted(FAMILIES))
        mode = MODES[number // len(names) % len(MODES)]
        return f"{names[number % len(names)]}/{mode}-{number:06d}"

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        family, _, rest = place.address.partition("/")
        mode = rest.partition("-")[0]
        part = FAMILIES[family].draw(Dice(self.seed, family, place.offset), mode)
        body = script(part).encode()
        yield self.raw(corpus, domain, address=place.address, body=body, mime=GENERATED, title=part.title)
