"""Makes the samples of this folder again from the packages that they come from.

    trivium inputs fetch python3.11-doc && trivium inputs fetch debian-handbook && trivium inputs fetch pywb
    python examples/web/make.py --python DIR --handbook DIR --pywb DIR

Each DIR is the unpacked package (the folder that holds `usr/`, or pywb's `sample_archive/`). Pages are packed
unchanged, as WARC `resource` records under the address where the package puts them; equal inputs give equal bytes.
"""

import argparse
import io
import shutil
import uuid
from pathlib import Path

from warcio.warcwriter import WARCWriter

HERE = Path(__file__).parent
PYTHON_PAGES = ("tutorial", "faq")
PYTHON_PACKED = ("howto/*.html", "whatsnew/2.*.html", "whatsnew/3.0.html")
HANDBOOK_LANGUAGES = ("en-US", "cs-CZ")  # the Czech one is half translated: real near-duplicates, real foreign pages
PYWB = ("dupes.warc.gz", "example.warc.gz", "example-wget-1-14.warc.gz", "example-wpull.warc.gz")


def pack(target: Path, root: Path, pages: list[Path], date: str) -> None:
    """Writes `pages` into one .warc.gz; dates and record ids are functions of the input, so that bytes repeat."""
    with target.open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        for page in pages:
            uri = f"file:///{page.relative_to(root).as_posix()}"
            headers = {"WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, uri)}>", "WARC-Date": date}
            record = writer.create_warc_record(
                uri,
                "resource",
                payload=io.BytesIO(page.read_bytes()),
                warc_content_type="text/html",
                warc_headers_dict=headers,
            )
            writer.write_record(record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("python", "handbook", "pywb"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="DIR")
    arguments = parser.parse_args()
    html = arguments.python / "usr/share/doc/python3.11/html"
    for folder in PYTHON_PAGES:
        (HERE / "python" / folder).mkdir(parents=True, exist_ok=True)
        for page in sorted((html / folder).glob("*.html")):
            shutil.copyfile(page, HERE / "python" / folder / page.name)
    packed = [page for pattern in PYTHON_PACKED for page in sorted(html.glob(pattern))]
    pack(HERE / "python.warc.gz", arguments.python, packed, "2026-10-07T12:35:00Z")
    book = arguments.handbook / "usr/share/doc/debian-handbook/html"
    pages = [page for language in HANDBOOK_LANGUAGES for page in sorted((book / language).glob("*.html"))]
    pack(HERE / "debian-handbook.warc.gz", arguments.handbook, pages, "2022-09-22T00:00:00Z")
    (HERE / "pywb").mkdir(exist_ok=True)
    for name in PYWB:
        shutil.copyfile(arguments.pywb / "sample_archive/warcs" / name, HERE / "pywb" / name)


if __name__ == "__main__":
    main()
