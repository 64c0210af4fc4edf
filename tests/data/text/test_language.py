"""Language identification on real sentences, and what the stage keeps."""

import pytest

from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.language import Identifier, Language, model_path

SENTENCES = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison.",
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím.",
    "ru": "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и совестью.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
}


def draft(text: str) -> Draft:
    raw = Raw(corpus="c", domain="web", source="s", address="a", license="CC0-1.0", body=b"", mime="text/html")
    return Draft(document=Document(segments=(Text(text=text),), meta=raw.meta(source_sha256="")))


@pytest.fixture
def run():
    opened = []

    def run(text: str, **config) -> Draft | Drop:
        stage = Language.Config(**config).build()
        stage.open()
        opened.append(stage)
        (outcome,) = stage.process(draft(text))
        return outcome

    yield run
    for stage in opened:
        stage.close()


def test_the_model_comes_with_a_package():
    assert model_path().stat().st_size < 1_000_000


@pytest.mark.parametrize("code", SENTENCES)
def test_languages_are_told_apart(code):
    found, score = Identifier().best(SENTENCES[code])
    assert found == code
    assert score > 0.8


def test_wanted_languages_stay_with_their_score(run):
    kept = run(SENTENCES["en"], keep=("en", "de")).document.meta
    assert kept.language == "en"
    assert 0.8 < kept.scores["language"] <= 1.0
    assert [step.name for step in kept.lineage.steps] == ["language"]


def test_others_go_with_a_reason(run):
    drop = run(SENTENCES["cs"], keep=("en",))
    assert (drop.reason, drop.error) == ("other_language", False)
    assert drop.detail.startswith("cs ")
    assert drop.excerpt == SENTENCES["cs"]


def test_what_the_model_is_unsure_of_goes(run):
    assert run("x = 1\n\ny", min_score=0.9).reason == "uncertain_language"
    assert run(" \n ", min_score=0.1).reason == "uncertain_language"


def test_only_the_sample_is_looked_at(run):
    text = SENTENCES["en"] + SENTENCES["de"] * 50
    assert run(text, sample=len(SENTENCES["en"])).document.meta.language == "en"
    assert run(text, sample=10_000).document.meta.language == "de"


LONG = " ".join((SENTENCES["en"],) * 5)
MIXED = "\n\n".join((LONG, SENTENCES["cs"], "Menu", "    " + SENTENCES["ru"], SENTENCES["en"], SENTENCES["de"]))


def test_foreign_paragraphs_are_measured_or_go(run):
    plain = run(MIXED, sample=len(LONG), keep=("en",)).document
    assert "foreign" not in plain.meta.scores
    measured = run(MIXED, sample=len(LONG), keep=("en",), paragraphs="measure").document
    share = (len(SENTENCES["cs"]) + len(SENTENCES["de"])) / len(MIXED)
    assert measured.meta.scores["foreign"] == pytest.approx(share, abs=1e-4)
    assert measured.text == MIXED
    kept = run(MIXED, sample=len(LONG), keep=("en",), paragraphs="drop").document
    wanted = (LONG, "Menu", "    " + SENTENCES["ru"], SENTENCES["en"], "")
    assert kept.text == "\n\n".join(wanted)
    (step,) = kept.meta.lineage.steps
    assert step.counts == {"paragraphs": 2, "characters": len(SENTENCES["cs"]) + len(SENTENCES["de"])}
    assert SENTENCES["de"] in run(MIXED, sample=len(LONG), keep=("en", "de"), paragraphs="drop").document.text
    assert SENTENCES["cs"] in run(MIXED, sample=len(LONG), paragraphs="drop", paragraph_characters=500).document.text
    drop = run(MIXED, sample=len(LONG), keep=("en",), paragraphs="measure", max_foreign=0.1)
    assert (drop.reason, drop.scores["foreign"]) == ("mixed_languages", measured.meta.scores["foreign"])
    with pytest.raises(ValueError, match="max_foreign"):
        Language.Config(max_foreign=0.5)


def test_a_language_by_its_name_is_refused():
    with pytest.raises(ValueError, match="'english' is no language code"):
        Language.Config(keep=("en", "english"))
