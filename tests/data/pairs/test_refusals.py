"""Every reason for which a programmatic corpus refuses an item is explained, and what is said to help exists."""

import ast
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from trivium.data.pairs.refusals import ANY, STAGES, page, refusal, refusals
from trivium.pipelines.corpora.recipe import StageKind

ROOT = Path(__file__).parents[3]
WHERE = ("data/pairs", "data/web", "data/svg", "data/cad", "data/scene", "data/guard")
RAISED = {"GuardError": 0, "SvgRefusedError": 0, "ScriptRefusedError": 0, "_Refused": 0, "refuse": 2, "wanting": 0}
# Of changed versions, which give way to the next; of `trivium shards redraw`; of pages that this code alone asks for.
INNER = {"unchanged", "no_engine"}


def reasons():
    """(file, reason) of all that is refused by a reason that stands in the code."""
    for path in (file for folder in WHERE for file in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            given = [node.args[RAISED[name]]] if name in RAISED and len(node.args) > RAISED[name] else []
            given += [word.value for word in node.keywords if word.arg == "reason"]
            for value in (part for one in given for part in ast.walk(one)):
                text = value.value if isinstance(value, ast.Constant) else None
                if isinstance(text, str) and re.fullmatch(r"[a-z][a-z0-9_]*", text):
                    yield path, text


def test_every_reason_has_its_meaning():
    known = {reason for stage in refusals().values() for reason in stage}
    found = {reason: path for path, reason in reasons()}
    assert len(found) > 60
    assert {reason: str(path) for reason, path in found.items() if reason not in known | INNER} == {}
    assert set(refusals()) - {ANY, "read"} <= STAGES


def test_the_page_says_what_the_data_says():
    assert (ROOT / "docs/corpora/refusals.md").read_text() == page(), "run python -m trivium.data.pairs.refusals"


def test_a_stage_has_its_own_word_before_that_of_all():
    assert "policy.text: true" in refusal("svg_sanitize", "text").help
    assert refusal("page_clean-2", "too_deep").help.startswith("raise `rules.max_depth`")
    assert refusal("cad_draw", "timeout") == refusal("page_draw", "timeout") == refusals()[ANY]["timeout"]
    assert refusal("heuristics", "too_long") is None
    assert refusal("read", "empty") is None, "other corpora mean other things by it"
    assert refusal("read", "empty", drawn=True).means == "a file without a byte"
    assert refusal("page_draw", "unheard_of") is None


KINDS = {config.__struct_config__.tag: config for config in get_args(StageKind)}


@pytest.mark.parametrize("stage", sorted(set(refusals()) & set(KINDS)))
def test_a_key_that_is_said_to_help_is_one(stage):
    said = [word for one in refusals()[stage].values() for word in re.findall(r"`([a-z_.]+)(?:: [^`]+)?`", one.help)]
    for keys in said:
        if keys in KINDS or keys in ("skip", "suffixes", "libraries"):  # another stage, or a key of the source
            continue
        held = KINDS[stage]
        for key in keys.split("."):
            fields = {field.encode_name: field.type for field in msgspec.structs.fields(held)}
            assert key in fields, f"{stage} has no {keys}"
            held = fields[key]
