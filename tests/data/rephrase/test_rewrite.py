"""Chunk-wise rewriting: what each request holds, what is stitched, how faults end; styles as versioned data."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from trivium.data.rephrase.backend import Failure, Reply, Request, Usage
from trivium.data.rephrase.rewrite import Decoding, Written, rewrite
from trivium.data.rephrase.style import chosen, known, load_style

TEXT = """# Rivers

The Danube rises in the Black Forest. It reaches the Black Sea after 2,850 km, see `danube.py`.

```python
length = 2850
```

The Volga is longer. It flows into the Caspian Sea, and its length is $l > 3500$ km.
"""
VERSIONS = Path(__file__).with_name("prompts.json")


class Scripted:
    """A backend whose answers a function gives; it keeps what it was asked."""

    name, model = "fake", "scripted"

    def __init__(self, answer: Callable[[Request], Reply | Failure]) -> None:
        self._answer, self.asked, self.usage = answer, [], Usage()

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request: Request) -> Reply | Failure:
        self.asked.append(request)
        return self._answer(request)


def measure(text: str) -> int:
    return -(-len(text) // 4)


def reply(text: str, finish: str = "stop") -> Reply:
    return Reply(text=text, finish=finish, prompt_tokens=10, completion_tokens=3, model="scripted")


def written(backend: Scripted, text: str = TEXT, style: str = "textbook", **decoding) -> Written | Failure:
    made = rewrite(text, load_style(style), "en", backend, Decoding(chunk_tokens=30, **decoding), measure)
    return asyncio.run(made)


def test_each_chunk_sees_the_source_and_what_is_written_so_far() -> None:
    backend = Scripted(lambda request: reply(f" <part>New {len(backend.asked)}.</part>\n"))
    made = written(backend)
    assert isinstance(made, Written)
    assert made.text == "New 1.\n\n```python\nlength = 2850\n```\n\nNew 2."
    assert made.protected == ("`danube.py`", "```python\nlength = 2850\n```", "$l > 3500$")
    assert (made.chunks, made.prompt_tokens, made.completion_tokens) == (2, 20, 6)
    first, second = (request.messages[1].content for request in backend.asked)
    for turn in (first, second):
        assert f"<source>\n{TEXT}\n</source>" in turn
    assert "<written>\n" not in first
    assert "<written>\nNew 1.\n\n```python\nlength = 2850\n```\n</written>" in second
    assert "<part>\nThe Volga is longer." in second
    assert backend.asked[0].prompt == load_style("textbook").name
    assert len({request.seed for request in backend.asked}) == 2
    assert made.seed == backend.asked[0].seed


def test_a_base_model_goes_on_behind_worked_examples() -> None:
    backend = Scripted(lambda request: reply(f" New {len(backend.asked)}."))
    made = written(backend, completion=True)
    assert isinstance(made, Written)
    assert made.text.startswith("New 1.\n\n```python")
    style = load_style("textbook")
    text = backend.asked[1].messages[0].content
    assert text.startswith("Passage:\nThe Danube rises")
    assert text.count(style.label) == 3
    assert text.endswith(f"{style.label}\nNew 1.\n```python\nlength = 2850\n```\n")
    own = text.rpartition("Passage:\n")[2]
    assert own.startswith("# Rivers")
    assert "\n\n" not in own.partition(style.label)[0].rstrip()
    assert backend.asked[1].completion
    assert backend.asked[1].stop


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply("never ends", "length"), "cut_off"),
        (reply(" \n "), "empty"),
        (Failure(reason="timeout", detail="30 s", attempts=3), "timeout"),
    ],
)
def test_a_fault_ends_the_rewrite_with_its_reason(answer: Reply | Failure, reason: str) -> None:
    backend = Scripted(lambda request: reply("fine") if len(backend.asked) == 1 else answer)
    made = written(backend)
    assert isinstance(made, Failure)
    assert made.reason == reason
    assert made.detail.startswith("chunk 3 of 3: "), "it says where"
    assert len(backend.asked) == 2, "nothing is asked behind a fault"


def test_requests_are_a_pure_function_of_text_style_and_seed() -> None:
    def keys(**decoding) -> list[str]:
        backend = Scripted(lambda request: reply("Always the same."))
        written(backend, **decoding)
        return [request.key() for request in backend.asked]

    assert keys() == keys()
    assert not set(keys()) & set(keys(seed=1))


def test_styles_are_drawn_by_hash_and_fit_the_language() -> None:
    styles = [load_style(name) for name in known()]
    drawn = {number: chosen(styles, f"source-{number}", "en", 2, 0) for number in range(200)}
    assert all(len(set(map(id, two))) == 2 for two in drawn.values())
    assert {style.id for two in drawn.values() for style in two} == set(known()) - {"translation"}
    assert drawn[7] == chosen(styles[::-1], "source-7", "en", 2, 0), "no order of the recipe matters"
    assert drawn[7][:1] == chosen(styles, "source-7", "en", 1, 0), "fewer are the first of more"
    assert drawn[7] != chosen(styles, "source-7", "en", 2, 1) or drawn[8] != chosen(styles, "source-8", "en", 2, 1)
    assert any(style.id == "translation" for n in range(50) for style in chosen(styles, f"de-{n}", "de", 2, 0))
    assert load_style("translation").writes("de") == "en"
    changed = [msgspec.structs.replace(style, version=style.version + 1) for style in styles]
    assert [style.id for style in chosen(changed, "source-7", "en", 2, 0)] == [style.id for style in drawn[7]]


def test_a_prompt_that_changed_has_a_new_version() -> None:
    """Records and caches name `textbook@1`; its words are fixed for good. A new version is a new line in the file."""
    fixed = json.loads(VERSIONS.read_text())
    for name in known():
        style = load_style(name)
        assert fixed.get(style.name) == style.digest, f"{style.name}: raise its version, then add it to {VERSIONS.name}"
        assert len(style.reason) > 80, "each says why it is there"
        assert style.shots, "a base model needs examples"
