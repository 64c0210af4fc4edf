"""Repeated lines against counting by hand until nothing changes."""

from collections import Counter

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from in_process import SETTINGS, again_changes_nothing, draft_of, segments

from trivium.data.dedup.lines import RepeatedLines, scope_of
from trivium.data.dedup.words import words_of
from trivium.data.records import Image, Text
from trivium.data.stage import Draft

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


def test_a_line_goes_on_its_own_site_only_by_host_and_by_folder(apply):
    menu = "Home and about us"
    pages = [draft_of(n, f"own text {n}\n{menu}", address=f"https://www.a.org/{n}") for n in range(3)]
    pages += [draft_of(10 + n, f"own text {n}\n{menu}", address=f"b/{n}") for n in range(3)]
    shown = [f"{menu}\nother {n}\nAll rights reserved" if n < 2 else "x\nAll rights reserved" for n in range(9)]
    other = [draft_of(20 + n, text, address=f"http://c.org/{n}") for n, text in enumerate(shown)]
    work = apply(RepeatedLines(min_documents=2, min_share=0.5, min_left=0), [*pages, *other])
    kept = {key: menu in text for key, (text,) in segments(work).items()}
    assert [kept[page.document.meta.source_id] for page in pages] == [False] * 6
    assert [kept[page.document.meta.source_id] for page in other] == [True, True] + [False] * 7
    both = apply(RepeatedLines(scope="corpus", min_documents=2, min_share=0.5, min_left=0), [*pages, *other])
    assert not any(menu in text for (text,) in segments(both).values())


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
