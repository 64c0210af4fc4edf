import re

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.data.pairs.blocks import BlocksEditor
from tests.data.pairs.conftest import VIEWS
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.description import describe
from trivium.data.pairs.editor import EDITORS
from trivium.data.pairs.engine import engine
from trivium.data.pairs.item import SHEET, sheet_of
from trivium.data.pairs.questions import Asker
from trivium.data.pairs.session import SessionRules, replacements
from trivium.data.pairs.tasks import PairTasks, TaskShares
from trivium.data.pairs.wording import DEFAULT, load_wording, of_clips
from trivium.data.records import Text, Video, finish, source_id
from trivium.data.shards import Manifest, write_set
from trivium.data.shards.verify import verify
from trivium.data.stage import Draft, Drop
from trivium.errors import ConfigError

CODE = "red 10 20 30 40\nblue 60 10 20 20\nblack 5 70 90 10"
ONE = {"the whole": VIEWS["the whole"]}
ALL = TaskShares(description=1, questions=1, coordinates=1)


@pytest.fixture(scope="module")
def item(draw):
    return draw(CODE, files={"paper.bin": b"\xe0"})


def made(item, **given):
    stage = PairTasks.Config(**{"shares": ALL, **given}).build()
    try:
        return {o.document.meta.address.partition("#")[2]: o for o in stage.process(item) if not isinstance(o, Drop)}
    finally:
        stage.close()


def test_each_task_gives_a_document_that_stands_on_its_own(item, drawer):
    pages = made(item)
    assert sorted(pages) == ["bug_fix", "coordinates", "description", "edit", "edit-2", "picture_to_code", "questions"]
    key = item.document.meta.source_id
    for task, draft in pages.items():
        meta = draft.document.meta
        assert set(draft.media) == set(draft.document.media)
        assert SHEET not in draft.media
        assert meta.source_id == source_id("test", f"a.txt#{task}")
        assert (meta.cluster, meta.lineage.parents) == (key, (key,))
        assert meta.lineage.steps[-1].name == "pair_tasks"
        shown = [s.media for s in draft.document.segments if not isinstance(s, Text)]
        assert [drawn.media for drawn in meta.drawn] == shown
        assert any(s.loss for s in draft.document.segments if isinstance(s, Text))
        assert not draft.document.segments[0].loss
        for drawn in meta.drawn:
            if drawn.code < 0:
                assert not drawn.files
                continue
            files = {path: draft.media[name] for path, name in drawn.files.items()}
            drawing = drawer.engine.draw(draft.document.segments[drawn.code].text, files, drawn.settings)
            assert drawer._look(drawing).png == draft.media[drawn.media]
    assert made(item) == pages


def test_a_set_of_documents_is_whole(item, tmp_path):
    finished = [(finish(draft.document, draft.media), draft.media) for draft in made(item).values()]
    write_set(
        tmp_path, sorted(finished, key=lambda one: one[0].id), Manifest(corpus="blocks", domain="blocks", recipe="")
    )
    report = verify(tmp_path)
    assert (report.problems, report.records) == ([], 7)


def test_the_code_of_a_task_is_learnt_where_it_is_the_answer(item):
    change = sheet_of(item).changes
    for seed in range(8):
        pages = made(item, seed=seed)

        def learnt(task, pages=pages):
            return {s.text for s in pages[task].document.segments if isinstance(s, Text) and s.loss}

        assert CODE in learnt("picture_to_code")
        assert CODE in learnt("bug_fix")
        assert change[2].code not in learnt("bug_fix")
        assert change[0].code in learnt("edit") or f"{change[0].instruction}\n" in learnt("edit")
        assert CODE not in learnt("edit") | learnt("questions") | learnt("description")


def test_a_report_that_does_not_suffice_never_stands_without_the_picture_that_was_meant(item):
    def forms(enough):
        sheet = sheet_of(item)
        changes = tuple(msgspec.structs.replace(change, enough=enough) for change in sheet.changes)
        changed = msgspec.json.encode(msgspec.structs.replace(sheet, changes=changes))
        draft = msgspec.structs.replace(item, media={**item.media, SHEET: changed})
        for seed in range(24):
            page = made(draft, seed=seed)["bug_fix"]
            segments = page.document.segments
            mended = next(n for n, one in enumerate(segments) if isinstance(one, Text) and one.text == CODE)
            shown = {page.media[one.media] for one in segments[:mended] if not isinstance(one, Text)}
            meant = {item.media[one.media] for one in item.document.segments if not isinstance(one, Text)}
            yield meant <= shown

    assert set(forms(True)) == {True, False}
    assert set(forms(False)) == {True}


def test_what_is_seen_of_a_clip_is_told_of_its_start(item):
    words = load_wording()
    moving = of_clips(words)
    facts = sheet_of(item).facts
    for seed in range(12):
        text = describe(facts, 100, 100, moving, Dice(seed), code="", shown=True, alone=False)
        assert re.search(r"3 rectangles( in it)? at the start\.", text)
        for one in Asker(facts, 100, 100, moving, Dice(seed), alone=False).questions(50):
            told = one.about in ("count", "count_color", "color", "which_color", "text")
            assert one.text.endswith(" at the start?" if "?" in one.text else " at the start.") == told, one.text
    assert not any("at the start" in text for text in (*words.description.counts, *words.questions.count))


def test_a_task_taken_out_changes_no_other(item):
    pages = made(item)
    fewer = made(item, shares=TaskShares(description=0, questions=1, coordinates=1, edit=0))
    assert sorted(pages.keys() - fewer.keys()) == ["description", "edit", "edit-2"]
    assert all(pages[task].document.segments == fewer[task].document.segments for task in fewer)
    two = made(item, most=2)
    assert len(two) == 2
    assert all(pages[task].document.segments == two[task].document.segments for task in two)


def test_facts_are_told_of_the_one_view_that_shows_them_all_or_of_no_single_one(item):
    def pictures(draft):
        pages = made(draft, seed=3)
        return [len(pages[task].document.media) for task in ("questions", "picture_to_code")], pages["questions"]

    shown, page = pictures(item)
    assert shown == [1 + ("f0.bin" in page.media), 3]
    sheet = sheet_of(item)
    hidden = (*sheet.facts.parts[:-1], msgspec.structs.replace(sheet.facts.parts[-1], box=None))
    facts = msgspec.structs.replace(sheet.facts, parts=hidden)
    changed = msgspec.json.encode(msgspec.structs.replace(sheet, facts=facts))
    shown, page = pictures(msgspec.structs.replace(item, media={**item.media, SHEET: changed}))
    assert shown[0] >= 2
    assert "bounding box" not in page.document.text


def test_pictures_without_code_give_words_and_places_only(draw):
    hidden = draw(CODE, shown=False, views=ONE)
    pages = made(hidden)
    assert sorted(pages) == ["coordinates", "description", "questions"]
    assert all(drawn.code == -1 for draft in pages.values() for drawn in draft.document.meta.drawn)
    nothing = msgspec.json.encode(msgspec.structs.replace(sheet_of(hidden), facts=msgspec.json.decode(b'{"what":""}')))
    bare = msgspec.structs.replace(hidden, media={**hidden.media, SHEET: nothing})
    (drop,) = PairTasks.Config(shares=TaskShares(questions=0)).build().process(bare)
    assert (drop.reason, drop.error) == ("no_task", False)


def test_words_of_one_s_own_are_checked_before_any_work(item, tmp_path):
    words = DEFAULT.read_text().replace("Picture to {language}:", "Zeichne in {language}:")
    (tmp_path / "own.yaml").write_text(words.replace('  - "Write the {language} code that draws this.\\n"\n', ""))
    (tmp_path / "wrong.yaml").write_text(words.replace("How many {things}", "How many {thing}"))
    PairTasks.Config(wording="own.yaml").check("pair_tasks", tmp_path)
    with pytest.raises(ConfigError, match=r"questions.count: .*needs \['things'\]"):
        PairTasks.Config(wording="wrong.yaml").check("pair_tasks", tmp_path)
    config = PairTasks.Config(wording="own.yaml").located(tmp_path)
    (tmp_path / "same.yaml").write_text((tmp_path / "own.yaml").read_text())
    stages = [each.build() for each in (config, PairTasks.Config(wording="same.yaml").located(tmp_path))]
    assert stages[0].step == stages[1].step != PairTasks.Config().build().step
    said = {
        o.document.segments[0].text for seed in range(9) for o in made(item, wording=config.wording, seed=seed).values()
    }
    assert any(text.startswith("Zeichne in blocks:") for text in said)
    assert not any(text.startswith("Write the blocks code that") for text in said)


def test_a_session_is_a_chain_of_edits_that_can_be_made_by_hand(item, blocks, drawer):
    rules = SessionRules(addresses=("a.txt",), tokens=5000, least=3000, every=4)
    stage = PairTasks.Config(shares=ALL, session=rules).build()

    def session():
        found = list(stage.process(item))
        refused = [o.detail for o in found if isinstance(o, Drop)]
        made = [o for o in found if isinstance(o, Draft) and o.document.meta.address == "a.txt#session"]
        assert [o.reason for o in found if isinstance(o, Drop)] == ["no_session"] * len(refused)
        assert len(found) > len(refused)  # the item's other documents
        return next(iter(made + refused), None)

    draft = session()
    segments, meta = draft.document.segments, draft.document.meta
    length = stage._sessions.meter.document(draft.document)
    assert 4500 < length <= 5000
    words = stage.wording.session
    code, steps, whole = CODE, 0, 0
    old, new, end = (
        next(word for word in kind if any(isinstance(s, Text) and word in s.text for s in segments))
        for kind in (words.old, words.new, words.end)
    )
    codes = [drawn.code for drawn in meta.drawn]
    assert segments[codes[0]] == Text(text=CODE, loss=False)
    for at, segment in enumerate(segments):
        if at in codes[1:]:
            assert segment == Text(text=code)
            whole += 1
        elif isinstance(segment, Text) and segment.loss:
            for part in segment.text.split(end)[:-1]:
                before, after = part.removeprefix(old).split(new)
                assert code.count(before) == 1
                code = code.replace(before, after)
            steps += 1
    assert len(codes) == whole + 1 == -(-steps // 4) + 1
    for drawn in (meta.drawn[1], meta.drawn[-1]):
        files = {path: draft.media[name] for path, name in drawn.files.items()}
        drawing = engine("blocks").draw(segments[drawn.code].text, files, drawn.settings)
        assert drawer._look(drawing).png == draft.media[drawn.media]
    assert session() == draft
    stage._sessions.rules = msgspec.structs.replace(rules, steps=3)
    assert re.fullmatch(r"the item's .* kept; \d+ of 3,000 tokens after 3 edits; it may have no more", session())
    stage._sessions.rules = SessionRules()
    assert session() is None  # not chosen
    stage.close()


@pytest.mark.parametrize("fault", ["raises", "ends"])
def test_an_editor_that_breaks_off_or_ends_costs_the_session_alone(item, blocks, monkeypatch, fault):
    def edits(self, code, facts, dice):
        yield from BlocksEditor.edits(self, code, facts, dice) if fault == "raises" and code == CODE else ()
        raise IndexError("nothing to choose from")

    ended = type("Ended", (BlocksEditor,), {"edits": edits if fault == "raises" else lambda *_: iter(())})
    monkeypatch.setattr("tests.data.pairs.blocks.Ended", ended, raising=False)
    monkeypatch.setitem(EDITORS, "blocks", "tests.data.pairs.blocks:Ended")
    stage = PairTasks.Config(shares=ALL, session=SessionRules(addresses=("a.txt",), tokens=5000, least=3000)).build()
    found = list(stage.process(item))
    stage.close()
    (drop,) = [o for o in found if isinstance(o, Drop)]
    assert (drop.reason, drop.error) == (("crash", True) if fault == "raises" else ("no_session", False))
    assert "the item's other documents are kept" in drop.detail
    assert fault == "ends" or re.search(r"nothing to choose from \(data/pairs/test_tasks.py:\d+\)", drop.detail)
    pages = {o.document.meta.address.partition("#")[2]: o.document.segments for o in found if isinstance(o, Draft)}
    assert pages == {task: draft.document.segments for task, draft in made(item).items()}


lines = st.lists(st.text("ab", max_size=3), max_size=9).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(before=lines.filter(bool), after=lines)
@example(before="x" * 500, after="x" * 250 + "y" + "x" * 249)
@example(before="a" * 400 + "\n" + "b" * 400, after="a" * 400 + "\n" + "b" * 401)
@example(before="a\nb\nc\nd", after="A\nb\nc\nD")
def test_replacements_can_be_made_in_one_place_only(before, after):
    code = before
    for old, new in replacements(before, after) if before != after else ():
        assert code.count(old) == 1
        code = code.replace(old, new)
    assert code == after


def test_parts_far_from_each_other_are_replaced_one_by_one():
    middle = "\n".join(f"line {n}" for n in range(50))
    assert replacements(f"a\n{middle}\nb", f"A\n{middle}\nB") == [("a", "A"), ("b", "B")]


def test_a_clip_s_document_holds_the_clip(item):
    picture = item.document.segments[1]
    clip = Video(media="v0.mp4", width=100, height=100, mime="video/mp4", frames=3, fps=1.0)
    segments = (item.document.segments[0], clip)
    drawn = (msgspec.structs.replace(item.document.meta.drawn[0], media="v0.mp4"),)
    meta = msgspec.structs.replace(item.document.meta, drawn=drawn)
    draft = msgspec.structs.replace(
        item,
        document=msgspec.structs.replace(item.document, segments=segments, meta=meta),
        media={**item.media, "v0.mp4": b"clip"},
    )
    pages = made(draft, shares=TaskShares(description=1, questions=1, coordinates=1, edit=0, bug_fix=0))
    assert sorted(pages) == ["description", "picture_to_code", "questions"]
    assert pages["picture_to_code"].media["v0.mp4"] == b"clip"
    said = "".join(draft.document.text for draft in pages.values())
    assert "clip" in said
    assert "picture" not in said
    assert picture.media not in pages["picture_to_code"].media
