"""Held-out pictures, the code behind them, and what the model writes: through the command and by the parts."""

import io
import json

import pytest
from PIL import Image
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.records import Text
from trivium.errors import InputError, UsageError
from trivium.model.sampling import Sampling
from trivium.pipelines.train.pairs import Pair, held_out_pairs, save_pairs
from trivium.pipelines.train.sample import Drawn, Opening

SHORT = Sampling(tokens=4, temperature=0.0)


@pytest.fixture(scope="module")
def pairs(trained, writer):
    return list(held_out_pairs(trained[0], writer, "icons", 3, SHORT))


def run(*arguments):
    return CliRunner().invoke(app, ["sample", *map(str, arguments)])


def test_the_command_writes_pictures_code_and_facts(trained, tmp_path, prepared):
    options = ("--held-out", "icons", "--count", 2, "--max-tokens", 4, "--temperature", 0)
    done = run(trained[0], *options, "--save", tmp_path / "shown", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts == json.loads((tmp_path / "shown" / "pairs.json").read_text())
    assert len({fact["id"] for fact in facts}) == 2
    shards = prepared.sets["icons"]
    by_id = {document.id: (document, media) for document, media in (shards.read(n) for n in range(len(shards)))}
    for fact in facts:
        document, media = by_id[fact["id"]]
        assert (tmp_path / "shown" / fact["picture"]).read_bytes() == media["i0.png"]
        (text,) = [segment.text for segment in document.segments if isinstance(segment, Text)]
        assert fact["truth"] == text.strip()
        assert (tmp_path / "shown" / fact["picture"]).with_suffix(".svg").read_text() == text
        assert (fact["drawn"] is None) == (fact["refused"] is not None)
    table = run(trained[0], *options)
    assert table.exit_code == 0, table.output
    assert facts[0]["truth"].split()[0] in table.stdout


def test_only_records_that_no_stage_trains_on_are_shown(trained, prepared, pairs):
    shards = prepared.sets["icons"]
    held = {str(shards.entries.id[p.record]) for row in prepared.plan.held_out("icons") for p in row.pieces}
    assert len({pair.id for pair in pairs}) == 3
    assert {pair.id for pair in pairs} <= held


def test_each_sample_is_what_the_model_writes_after_that_picture(writer, pairs):
    for pair in pairs:
        assert pair.drawn.text == writer.write(Opening(pictures=[pair.picture]), SHORT).text
        assert pair.drawn.prompt_tokens > 4  # [BOS] and the picture's block


def test_what_the_model_wrote_is_sanitised_and_drawn_at_the_size_of_its_picture(tmp_path):
    shown = io.BytesIO()
    Image.new("RGB", (56, 56), "white").save(shown, "PNG")
    good = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><rect width="8" height="8" fill="#f00"/></svg>'
    written = (good, good.replace("<rect", "<script>alert(1)</script><rect"), "no code")
    given = (
        Pair(str(n), shown.getvalue(), 56, "truth", Drawn(text, 1, 1, True, 0.1)) for n, text in enumerate(written)
    )
    drawn, active, broken = save_pairs(given, tmp_path)
    with Image.open(tmp_path / drawn["drawn"]) as picture:
        assert picture.size == (56, 56)
        assert picture.convert("RGB").getpixel((28, 28)) == (255, 0, 0)
    assert drawn["refused"] is None
    for fact in (active, broken):
        assert fact["drawn"] is None
        assert fact["refused"]
    assert len(list(tmp_path.glob("*.sample.png"))) == 1


def test_refusals_name_their_cure(trained, writer, tmp_path):
    with pytest.raises(UsageError, match="no held-out record of it holds a picture; try another corpus"):
        list(held_out_pairs(trained[0], writer, "help", 1, SHORT))
    with pytest.raises(UsageError, match="the run's corpora are help, icons"):
        list(held_out_pairs(trained[0], writer, "ikons", 1, SHORT))
    checkpoint = next((trained[0] / "checkpoints").glob("step-*"))
    with pytest.raises(InputError, match="needs a run folder, not a single checkpoint"):
        list(held_out_pairs(checkpoint, writer, "icons", 1, SHORT))


@pytest.mark.parametrize("other", [("--prompt", "The "), ("--image", "icon.png")])
def test_held_out_brings_its_own_pictures(trained, other):
    done = run(trained[0], "--held-out", "icons", *other)
    assert isinstance(done.exception, UsageError)
    assert done.exception.exit_code == 2
    assert "leave --prompt, --prompt-file and --image out" in str(done.exception)
