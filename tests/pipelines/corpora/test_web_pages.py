"""Pages with the files that they name, and none that lie elsewhere."""

import os
from pathlib import Path

import msgspec
import pytest

from trivium.data.guard import sandbox
from trivium.data.pairs import bundle
from trivium.data.stage import Draft, Drop, Raw
from trivium.errors import InputError, MissingDependencyError
from trivium.pipelines.corpora.sources.base import RefusedError
from trivium.pipelines.corpora.web_jsx import PageJsx
from trivium.pipelines.corpora.web_pages import PageComposed, PageFolder, closure, inside


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "css").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"canary")
    (root / "index.html").write_text(
        """<link rel=stylesheet href="css/a.css?v=1"><img src="a%20b.png" srcset="x.png 2x"><script src="a.js"></script>
        <img src="../secret.png"><img src="/../secret.png"><img src="%2e%2e/secret.png"><img src="link.png">
        <img src="file:///etc/hosts"><img src="http://example.com/a.png"><style>p{background:url(css/p.png)}</style>"""
    )
    (root / "css/a.css").write_text("@import 'b.css'; i { background: url('../../secret.png') url(q.png) }")
    (root / "css/b.css").write_text("@import 'a.css'; @font-face { src: url(f.woff2) }")
    for name in ("a b.png", "x.png", "a.js", "css/p.png", "css/q.png", "css/f.woff2"):
        (root / name).write_bytes(name.encode())
    os.symlink(tmp_path / "secret.png", root / "link.png")
    return root


def test_a_page_takes_what_it_names_and_nothing_outside(site: Path) -> None:
    found = closure(site, "index.html", 1 << 20)
    assert sorted(found) == [
        "a b.png", "css/a.css", "css/b.css", "css/f.woff2", "css/p.png", "css/q.png", "index.html", "x.png",
    ]  # fmt: skip
    assert b"canary" not in b"".join(found.values())
    with pytest.raises(RefusedError, match="more than"):
        closure(site, "index.html", sum(map(len, found.values())) - 1)


@pytest.mark.parametrize(
    "reference", ["../../x", "//h/x", "file:/x", "a\\..\\x", "../..", "x/../../../y", "data:,x", ""]
)
def test_a_reference_that_leaves_the_folder_means_nothing(reference: str) -> None:
    assert not inside("deep/page.html", reference)


def test_a_folder_gives_some_of_its_pages_always_the_same(site: Path) -> None:
    for number in range(6):
        (site / f"p{number}.html").write_text(f"<p>{number}")
    source = PageFolder(name="s", path=str(site), license="MIT", most=3, skip=("p0*", "index*"))
    places = list(source.places(Path("/")))
    assert len(places) == 3
    assert places == list(source.places(Path("/")))
    assert not {"p0.html", "index.html"} & {place.address for place in places}
    [raw] = source.read(places[0], "web", "visual")
    assert isinstance(raw, Raw)
    assert bundle.unpack(raw.body).main == places[0].address
    small = PageFolder(name="s", path=str(site), license="MIT", max_bytes=2)
    [drop] = small.read(places[0], "web", "visual")
    assert isinstance(drop, Drop)
    assert drop.reason == "too_large"


def test_composed_pages_are_clean_already() -> None:
    source = PageComposed(name="ours", license="CC0-1.0", count=70, seed=2)
    places = [place for part in source.places(Path("/")) for place in source.split(part)]
    assert len(places) == 70
    [made] = source.read(places[69], "web", "visual")
    assert isinstance(made, Draft)
    assert made.document.text.startswith("<!DOCTYPE html>")
    assert made.document.meta.address == "page-00000069"


CACHE = Path("~/.cache/trivium/inputs").expanduser()
MODULES = {name: str(CACHE / name) for name in ("react", "react-dom", "scheduler")}
COMPONENT = """import { useState } from "react";
export default function Page() { const [n] = useState(3); return <html><body><h1>{"°".repeat(n)}</h1></body></html> }"""


def jsx(folder: Path) -> PageJsx:
    esbuild = str(CACHE / "esbuild-linux-x64/bin/esbuild")
    return PageJsx(name="parts", path=str(folder), license="MIT", esbuild=esbuild, modules=MODULES)


def test_a_component_becomes_a_page_or_a_reason(tmp_path: Path) -> None:
    if not sandbox().strong or not (CACHE / "esbuild-linux-x64").exists() or not (CACHE / "react-dom").exists():
        pytest.skip("needs namespaces, and: trivium inputs fetch react react-dom scheduler esbuild-linux-x64")
    (tmp_path / "a.jsx").write_text(COMPONENT)
    (tmp_path / "b.jsx").write_text("export default function Page( {")
    (tmp_path / "c.jsx").write_text(
        'import fs from "fs"; export default () => <p>{String(fs.readFileSync("/etc/passwd"))}</p>'
    )
    source = jsx(tmp_path)
    source.check(tmp_path)
    good, unreadable, curious = [next(source.read(place, "web", "visual")) for place in source.places(tmp_path)]
    assert isinstance(good, Raw)
    [page] = bundle.unpack(good.body).files.values()
    assert page.decode("utf-8-sig") == "<!DOCTYPE html><html><head></head><body><h1>°°°</h1></body></html>"
    assert isinstance(unreadable, Drop)
    assert unreadable.reason == "not_bundled"
    assert isinstance(curious, Drop)
    assert curious.reason == "crashed"


def test_what_components_need_is_asked_for_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "a.jsx").write_text(COMPONENT)
    cache = "nowhere/inputs"
    source = msgspec.structs.replace(
        jsx(tmp_path), esbuild=f"{cache}/esbuild-linux-x64/bin/esbuild", modules={"react": f"{cache}/react"}
    )
    with pytest.raises((InputError, MissingDependencyError), match=r"fetch esbuild-linux-x64 react`|nodejs"):
        source.check(tmp_path)
    own = msgspec.structs.replace(jsx(tmp_path), esbuild="nowhere/esbuild", modules={})
    with pytest.raises((InputError, MissingDependencyError), match=r"esbuild does not exist; mend the paths|nodejs"):
        own.check(tmp_path)
