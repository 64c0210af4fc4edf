"""Documents of repositories: frames, lineage, what is summed up of the files."""

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.code.repository import Part, Repository, document_of, file_document, framed, framed_size, read_frames
from trivium.data.records import Document, Lineage, Meta, Step, Text
from trivium.data.stage import Draft


def file(path: str, text: str, license: str, language: str, **more) -> Draft:
    lineage = Lineage(source_sha256="0" * 64, steps=(Step(name="mask", version=1, counts={"keys": 1}),))
    meta = Meta(
        source_id=f"id-{path}",
        corpus="c",
        domain="code",
        source="s",
        address=f"r/{path}",
        license=license,
        language=language,
        lineage=lineage,
        **more,
    )
    return Draft(document=Document(segments=(Text(text=text),), meta=meta))


FILES = (
    file("b.c", "int b;\n", "MIT OR GPL-2.0-only", "c", duplicates=("z", "y")),
    file("a.py", "import b\n" * 3, "Apache-2.0", "python", duplicates=("y",)),
)


def test_a_document_names_every_file_and_sums_them_up():
    found = document_of(FILES, Part(source="s", repository="r", number=2, count=3), Repository()).document
    meta = found.meta
    assert found.text == "==> r/b.c <==\nint b;\n\n==> r/a.py <==\n" + "import b\n" * 3 + "\n"
    assert meta.lineage.parents == ("id-b.c", "id-a.py")
    assert meta.license == "Apache-2.0 AND (GPL-2.0-only OR MIT)"
    assert meta.language == "python"
    assert meta.duplicates == ("y", "z")
    assert (meta.address, meta.title) == ("r#2", "r (part 2 of 3)")
    assert [(step.name, step.counts) for step in meta.lineage.steps] == [("mask", {"keys": 2}), ("repository", {})]
    assert meta.source_id not in meta.lineage.parents


def test_a_file_by_itself_keeps_its_id_and_gets_its_path():
    found = file_document(FILES[0], Repository(group="file")).document
    assert found.meta.source_id == "id-b.c"
    assert found.text == "==> r/b.c <==\nint b;\n\n"


PATH = st.text("abc/._-", min_size=1, max_size=12)
TEXT = st.lists(st.text("ab =><\t", max_size=8), min_size=1, max_size=5).map(lambda lines: "\n".join(lines) + "\n")


@settings(max_examples=40)
@given(st.lists(st.tuples(PATH, TEXT), max_size=5))
def test_files_can_be_read_back_from_a_document(files):
    whole = "".join(framed(path, text) for path, text in files)
    assert list(read_frames(whole)) == files
    assert len(whole.encode()) == sum(framed_size(path, len(text.encode())) for path, text in files)
