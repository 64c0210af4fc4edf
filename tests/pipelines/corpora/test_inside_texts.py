"""Repeated lines, repeated paragraphs and long substrings against brute force, and through whole builds.

The laws run each shuffle's own rounds, scans, runs and edits in this process without Beam; the builds run them all.
"""

import itertools
import random
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trivium.data.dedup import runs as rows_on_disk
from trivium.data.dedup.edits import merged, pieces
from trivium.data.dedup.lines import RepeatedLines, scope_of
from trivium.data.dedup.paragraphs import RepeatedParagraphs, id_of, rank_of
from trivium.data.dedup.substrings import Substrings
from trivium.data.dedup.units import Tokens
from trivium.data.dedup.words import words_of
from trivium.data.records import Document, Image, Meta, Text, source_id
from trivium.data.stage import Draft, Drop
from trivium.pipelines.corpora.shuffles import lines, paragraphs, substrings
from trivium.pipelines.corpora.spool import Ref

SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
RUNS = {RepeatedLines: lines, RepeatedParagraphs: paragraphs, Substrings: substrings}


def draft_of(number: int, *segments: str | Image, address: str = "", scores=None) -> Draft:
    place = address or f"a/{number}"
    meta = Meta(
        source_id=source_id("s", f"{number}"),
        corpus="c",
        domain="d",
        source="s",
        address=place,
        license="MIT",
        scores=scores or {},
    )
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in segments)
    return Draft(document=Document(segments=made, meta=meta))


def ref_of(draft: Draft) -> Ref:
    meta = draft.document.meta
    return Ref(
        source_id=meta.source_id,
        source=meta.source,
        address=meta.address,
        id="",
        length=len(draft.document.text),
        stored=0,
        path="",
        offset=0,
        size=0,
        scores=meta.scores,
    )


class InProcess:
    """What a shuffle's `run` needs of a build: documents in memory, everything else as it is."""

    def __init__(self, folder: Path, drafts: list[Draft], limit: int) -> None:
        self.folder, self.limit = folder, limit
        self.drafts = {draft.document.meta.source_id: draft for draft in drafts}
        self.drops: dict[str, Drop] = {}
        self.notes: dict[bytes, bytes] = {}
        self.facts: dict = {}
        self._numbers = itertools.count()

    def sources(self) -> Counter[str]:
        return Counter(draft.document.meta.source for draft in self.drafts.values())

    def read(self, ref: Ref) -> Draft:
        return self.drafts[ref.source_id]

    def count(self, _work, _stage, _what, scan, keep, shape):
        scan.open()
        keep.open()
        folder = self.folder / f"{next(self._numbers)}"
        folder.mkdir()
        writer = rows_on_disk.RunWriter(folder, "runs", shape[0], self.limit)
        slices = []
        for draft in self.drafts.values():
            for rows in scan.rows(ref_of(draft), self.read):
                assert rows.shape[1] == shape[1]
                slices += writer.add(rows)
        slices += writer.flush()
        parts = []
        for part in sorted({piece.part for piece in slices}):
            mine = [piece for piece in slices if piece.part == part]
            for found in rows_on_disk.merge(folder, mine, shape[0], self.limit):
                parts.append(folder / f"{len(parts)}")
                rows_on_disk.write_rows(parts[-1], keep.keep(found))
        return rows_on_disk.join_tables(parts, folder / "table.rows", shape[1])

    def edit(self, _work, _name, editor) -> Path:
        editor.open()

        def note(key: bytes, said: bytes) -> None:
            self.notes[key] = min(said, self.notes.get(key, said))

        for key, draft in list(self.drafts.items()):
            outcome = editor.edit(ref_of(draft), self.read, note)
            if isinstance(outcome, Drop):
                self.drops[key] = outcome
                del self.drafts[key]
            elif outcome is not None:
                self.drafts[key] = outcome
        (self.folder / "notes-0").write_bytes(b"".join(said + b"\n" for said in self.notes.values()))
        return self.folder


@pytest.fixture
def apply(tmp_path_factory, monkeypatch):
    """apply(config, drafts) → (texts of the segments by source id, drops by source id, facts of the report)."""

    def run(config, drafts, *, limit=1000):
        work = InProcess(tmp_path_factory.mktemp("inside"), drafts, limit)
        module = RUNS[type(config)]
        with monkeypatch.context() as patch:
            patch.setattr(module, "count", work.count)
            patch.setattr(module, "edit", work.edit)
            patch.setattr(module, "report", lambda _work, _name, facts: work.facts.update(facts))
            module.run(work, "stage", msgspec.structs.replace(config, max_source_loss=1.0))
        return work

    return run


def segments(work: InProcess) -> dict[str, list[str]]:
    return {
        key: [part.text for part in draft.document.segments if isinstance(part, Text)]
        for key, draft in work.drafts.items()
    }


def again_changes_nothing(apply, config, work: InProcess) -> None:
    second = apply(config, list(work.drafts.values()))
    assert second.drafts == work.drafts
    assert not second.drops


# --- lines

LINE = st.sampled_from(
    ("Home | About us", "home  about US", "Copyright 2024", "Copyright 2023", "", "}", "Да и нет", "x")
)
BODY = st.integers(0, 400).map(lambda number: f"unique words {number} " + "z" * (number % 30))
PAGE = st.tuples(st.sampled_from(("a/", "b/", "")), st.lists(st.one_of(LINE, BODY), max_size=7).map("\n".join))


def lines_oracle(config: RepeatedLines, drafts: list[Draft]) -> tuple[dict[str, list[list[str]]], set[str]]:
    """(kept lines that are not blank by document, dropped documents), by counting until nothing changes."""

    def key(line: str):
        words = tuple(words_of("".join(" " if c.isdigit() else c for c in line) if config.ignore_digits else line))
        return words if len(words) >= config.min_words else None

    gone: set[tuple] = set()

    def left(draft):
        scope = scope_of(config.scope, "s", draft.document.meta.address)
        return [
            [line for line in part.text.split("\n") if (scope, key(line)) not in gone]
            for part in draft.document.segments
            if isinstance(part, Text)
        ]

    while True:
        dropped = set()
        pages: Counter[str] = Counter()
        counts: Counter[tuple] = Counter()
        for draft in drafts:
            scope = scope_of(config.scope, "s", draft.document.meta.address)
            kept = left(draft)
            cut = sum(map(len, kept)) < sum(part.text.count("\n") + 1 for part in draft.document.segments)
            if cut and sum(len(line.strip()) for part in kept for line in part) < config.min_left:
                dropped.add(draft.document.meta.source_id)
                continue
            pages[scope] += 1
            counts.update({(scope, key(line)) for part in kept for line in part if key(line)})
        more = {
            which
            for which, count in counts.items()
            if count >= config.min_documents and count >= config.min_share * pages[which[0]]
        }
        if not more:
            kept_lines = {
                draft.document.meta.source_id: [[line for line in part if line.strip()] for part in left(draft)]
                for draft in drafts
            }
            return {key: lines for key, lines in kept_lines.items() if key not in dropped}, dropped
        gone |= more


@SETTINGS
@given(
    st.lists(PAGE, max_size=14),
    st.sampled_from(("site", "source", "corpus")),
    st.sampled_from((0.0, 0.4, 0.7, 1.0)),
    st.sampled_from((0, 12, 40)),
    st.booleans(),
    st.integers(1, 9),
)
@example(
    [("a/", "x y\nabc"), ("a/", "x y\nabc"), ("a/", "x y\np q\nlong enough"), ("a/", "p q\nlong enough")],
    "site",
    0.7,
    10,
    False,
    3,
)
def test_lines_go_as_counting_says_until_nothing_changes(apply, pages, scope, share, least, figures, limit):
    config = RepeatedLines(scope=scope, min_documents=2, min_share=share, min_left=least, ignore_digits=figures)
    drafts = [draft_of(n, text, address=f"{folder}{n}") for n, (folder, text) in enumerate(pages)]
    kept, dropped = lines_oracle(config, drafts)
    work = apply(config, drafts, limit=limit)
    found = {
        key: [[line for line in text.split("\n") if line.strip()] for text in parts]
        for key, parts in segments(work).items()
    }
    whole = {key: [part for part in parts if part] for key, parts in kept.items()}
    assert {key: [part for part in parts if part] for key, parts in found.items()} == whole
    assert set(work.drops) == dropped
    again_changes_nothing(apply, config, work)


def test_a_cut_leaves_no_more_blank_lines_than_there_were(apply):
    pages = [
        f"Site menu here\n\nTitle {n}\n\n  text {n}\n\nSite menu here\n\nmore {n}\n\nAll rights reserved\n"
        for n in range(3)
    ]
    work = apply(RepeatedLines(min_documents=3, min_left=0), [draft_of(n, text) for n, text in enumerate(pages)])
    assert sorted(segments(work).values()) == [[f"Title {n}\n\n  text {n}\n\nmore {n}"] for n in range(3)]
    step = next(iter(work.drafts.values())).document.meta.lineage.steps[-1]
    assert (step.name, step.counts["lines"]) == ("repeated_lines", 3)
    assert step.counts["characters"] == len(pages[0]) - len("Title 0\n\n  text 0\n\nmore 0")
    assert [(line["pages"], line["line"]) for line in work.facts["top"]] == [
        (3, "All rights reserved"),
        (3, "Site menu here"),
    ]


def test_pictures_and_segments_stay_and_rows_with_evidence_are_left_alone(apply):
    picture = Image(media="i0.png", width=1, height=1, mime="image/png")
    pages = [draft_of(n, "Same line here", picture, f"own text {n}\nSame line here") for n in range(4)]
    asked = draft_of(9, "Same line here")
    meta = msgspec.structs.replace(asked.document.meta, evidence=({"task": "t", "answer": 1, "at": ()},))
    pages.append(msgspec.structs.replace(asked, document=msgspec.structs.replace(asked.document, meta=meta)))
    work = apply(RepeatedLines(min_documents=2, min_left=100), pages)
    assert not work.drops
    for n, draft in enumerate(pages[:4]):
        after = work.drafts[draft.document.meta.source_id].document.segments
        assert after == (picture, Text(text=f"own text {n}"))
    assert segments(work)[asked.document.meta.source_id] == ["Same line here"]


# --- paragraphs

PARAGRAPH = st.sampled_from(
    ("One same paragraph here.", "one SAME paragraph: here", "Другой абзац\nв две строки", "short", "--------")
)
TEXT = st.lists(st.one_of(PARAGRAPH, BODY), max_size=6).map("\n\n".join)


def order_of(draft: Draft, quality: str) -> tuple[int, int]:
    return rank_of(draft.document.meta.scores, quality, len(draft.document.text)), id_of(draft.document.meta.source_id)


@SETTINGS
@given(
    st.lists(st.tuples(st.lists(TEXT, min_size=1, max_size=2), st.sampled_from((None, -1.5, 0.0, 2.0))), max_size=8),
    st.sampled_from(("", "q")),
    st.sampled_from((0, 10)),
    st.integers(1, 9),
)
def test_of_each_paragraph_the_best_copy_stays_and_no_other(apply, documents, quality, least, limit):
    config = RepeatedParagraphs(min_chars=10, min_left=least, quality=quality)
    drafts = [
        draft_of(n, *texts, scores={} if score is None else {"q": score}) for n, (texts, score) in enumerate(documents)
    ]
    seen: set[tuple[str, ...]] = set()
    kept: dict[str, list[list[str]]] = {}
    for draft in sorted(drafts, key=lambda draft: order_of(draft, quality)):
        kept[draft.document.meta.source_id] = own = []
        for part in draft.document.segments:
            bodies = [body.strip("\n") for body in part.text.split("\n\n") if body.strip()]
            fresh = []
            for body in bodies:
                words = tuple(words_of(body))
                if len(body) < 10 or not words or words not in seen:
                    fresh.append(body)
                if len(body) >= 10:
                    seen.add(words)
            own.append(fresh)
    work = apply(config, drafts, limit=limit)
    for key, parts in segments(work).items():
        expected = [part for part in kept[key] if part]
        assert [[body for body in text.split("\n\n") if body.strip()] for text in parts if text.strip()] == expected
    for key in work.drops:
        assert sum(len("\n\n".join(part)) for part in kept[key]) < least
    everything = {tuple(words_of(body)) for parts in segments(work).values() for t in parts for body in t.split("\n\n")}
    assert {words for words in seen if words} <= everything  # no copy went with a dropped document
    again_changes_nothing(apply, config, work)


def test_ranks_and_ids_are_in_the_order_of_survivors():
    ids = sorted(source_id("s", str(n)) for n in range(200))
    assert sorted(map(id_of, ids)) == [id_of(key) for key in ids]
    assert id_of(ids[0]) < 1 << 60
    scores = [{"q": 3.5}, {"q": 0.25}, {"q": 0.0}, {"q": -0.25}, {"q": -7.0}, {}]
    ranks = [rank_of(score, "q", 10) for score in scores]
    assert ranks == sorted(ranks)
    assert rank_of({}, "", 11) < rank_of({}, "", 10)
    assert rank_of({"q": 0.25}, "q", 1) < rank_of({}, "q", 10_000)


# --- substrings

CHUNK = st.sampled_from(
    (
        "alpha beta gamma delta epsilon",
        "в начале было слово, и",
        "中文字符测试文本",
        "e\u0301te\u0301 na\u0131\u0308ve и\u0306 х",
        "👨\u200d👩 👍🏽 🇩🇪 1\ufe0f\u20e3 ok",
        "a b a b a b a b a b a b",
        "=== --- === ---",
        "ก่ำนี้คือ",
    )
)
GLUE = st.sampled_from((" ", "\n", "  ", "", "\u0301 ", " one ", " two three "))
PROSE = st.lists(st.tuples(CHUNK, GLUE), max_size=7).map(lambda parts: "".join(itertools.chain(*parts)))


def substrings_oracle(size: int, drafts: list[Draft]) -> dict[str, list[str]]:
    """The pieces of each document's text when every run of `size` tokens but its first occurrence goes."""
    read = {d.document.meta.source_id: [(p.text, Tokens(p.text)) for p in d.document.segments] for d in drafts}
    first: dict[str, tuple] = {}
    places = defaultdict(list)
    for draft in sorted(drafts, key=lambda draft: order_of(draft, "")):
        key = draft.document.meta.source_id
        for number, (text, tokens) in enumerate(read[key]):
            for at in range(len(tokens) - size + 1):
                run = text[tokens.starts[at] : tokens.ends[at + size - 1]]
                before = first.setdefault(run, (key, number, at))
                if before[:2] != (key, number) or at >= before[2] + size:
                    places[key, number].append((int(tokens.starts[at]), int(tokens.ends[at + size - 1])))
    return {
        key: [piece for n, (text, _) in enumerate(parts) for piece in pieces_of(text, merged(places[key, n]))]
        for key, parts in read.items()
    }


def pieces_of(text: str, spans) -> list[str]:
    return pieces(text, spans) if spans else [text]


@SETTINGS
@given(st.lists(st.lists(PROSE, min_size=1, max_size=2), min_size=1, max_size=7), st.integers(4, 7), st.integers(1, 9))
@example([["a " * 60], ["b " + "a " * 30]], 5, 4)
def test_exactly_the_later_copies_of_long_runs_go(apply, documents, size, limit):
    drafts = [draft_of(n, *texts) for n, texts in enumerate(documents)]
    expected = substrings_oracle(size, drafts)
    work = apply(Substrings(min_tokens=size, min_left=0), drafts, limit=limit)
    assert segments(work) == expected
    for parts in segments(work).values():
        assert all(part.encode().decode() == part for part in parts)
    again_changes_nothing(apply, Substrings(min_tokens=size, min_left=0), work)


def test_a_dropped_document_held_no_long_run(apply):
    shared = "".join(f"w{n} " for n in range(60))
    short, han = "x" * 20, "".join(chr(0x4E00 + n) for n in range(55))
    drafts = [
        draft_of(0, shared + " ".join(f"own{n}" for n in range(40))),
        draft_of(1, shared + short),
        draft_of(2, shared + han),
    ]
    work = apply(Substrings(min_left=200), drafts)
    dropped = {drafts[1].document.meta.source_id}
    assert set(work.drops) == dropped  # 55 ideographs are fewer than 200 characters, but a run of 50 tokens
    assert work.drops.popitem()[1].reason == "repeated_text"
    assert segments(work)[drafts[2].document.meta.source_id] == [" " + han]  # exactly the range, so not the space


def test_the_order_of_arrival_changes_nothing(apply):
    chooser = random.Random(5)
    pool = [
        " ".join(chooser.choice(("один", "two", "三", "4", "five!", "шесть")) for _ in range(30)) for _ in range(12)
    ]
    drafts = [draft_of(n, "\n\n".join(chooser.choices(pool, k=5)), f"own {n}") for n in range(12)]
    for config in (
        Substrings(min_tokens=9),
        RepeatedParagraphs(min_chars=80, min_left=80),
        RepeatedLines(min_documents=3, min_share=0.1),
    ):
        first = apply(config, drafts)
        chooser.shuffle(drafts)
        second = apply(config, drafts, limit=5)
        assert first.drafts == second.drafts
        assert first.drops == second.drops
        assert first.facts == second.facts
        assert first.facts[{"substrings": "longest"}.get(first.facts["kind"], "top")]
