"""Real records for tests of data/: licence texts of installed packages and the pictures of matplotlib's toolbar."""

import io
import sysconfig
from pathlib import Path

import PIL.Image
import pytest

from trivium.data.records import Document, Image, Lineage, Meta, Segment, Step, Text, finish, source_id
from trivium.data.shards import Manifest, write_set

SITE = Path(sysconfig.get_paths()["purelib"])


def make(address: str, segments: tuple[Segment, ...], media: dict[str, bytes]) -> tuple[Document, dict[str, bytes]]:
    meta = Meta(
        source_id=source_id("site-packages", address),
        corpus="licences",
        domain="knowledge",
        source="site-packages",
        address=address,
        license="as-stated",
        language="en",
        lineage=Lineage(recipe="0" * 64, source_sha256="1" * 64, steps=(Step(name="read", version=1),)),
    )
    return finish(Document(segments=segments, meta=meta), media), media


def _texts() -> list[tuple[Document, dict[str, bytes]]]:
    found: dict[str, tuple[Document, dict[str, bytes]]] = {}
    for path in sorted(SITE.glob("*.dist-info/**/LICENSE*")):
        if path.is_file() and path.stat().st_size < 60_000:
            text = path.read_bytes().decode("utf-8", "replace")
            record = make(path.relative_to(SITE).as_posix(), (Text(text=text),), {})
            found[record[0].id] = record
    return [found[key] for key in sorted(found)][:40]


def _pictures() -> list[tuple[Document, dict[str, bytes]]]:
    found = []
    for path in sorted((SITE / "matplotlib" / "mpl-data" / "images").glob("*.png"))[:12]:
        payload = path.read_bytes()
        with PIL.Image.open(io.BytesIO(payload)) as picture:
            width, height = picture.size
        segments = (
            Text(text=f"The icon {path.stem}: ", loss=False),
            Image(media="i0.png", width=width, height=height, mime="image/png"),
            Text(text=path.stem),
        )
        found.append(make(path.relative_to(SITE).as_posix(), segments, {"i0.png": payload}))
    return sorted(found, key=lambda record: record[0].id)


@pytest.fixture(scope="session")
def texts() -> list[tuple[Document, dict[str, bytes]]]:
    """About 40 licence texts, sorted by id."""
    return _texts()


@pytest.fixture(scope="session")
def pictures() -> list[tuple[Document, dict[str, bytes]]]:
    """12 records of text, picture, text, sorted by id."""
    return _pictures()


@pytest.fixture
def base() -> Manifest:
    return Manifest(corpus="licences", domain="knowledge", recipe="0" * 64)


@pytest.fixture
def folder(tmp_path, texts, pictures, base) -> Path:
    """A whole untokenised set of all records in several shards."""
    write_set(tmp_path / "set", [*texts, *pictures], base, target_bytes=100_000)
    return tmp_path / "set"


@pytest.fixture(scope="session")
def bpe(tmp_path_factory, texts) -> Path:
    """A small tokenizer trained on the licence texts."""
    from trivium.data.shards import ShardSet
    from trivium.data.tokenizers.training import train

    place = tmp_path_factory.mktemp("bpe")
    write_set(place / "set", texts, Manifest(corpus="licences", domain="knowledge", recipe=""))
    train([ShardSet.open(place / "set")], 512, place / "tok")
    return place / "tok" / "tokenizer.json"
