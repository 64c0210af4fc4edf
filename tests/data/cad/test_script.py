"""The allow-list: what no part needs never runs."""

import pytest

from trivium.data.cad.families import FAMILIES
from trivium.data.cad.families.family import MODES, script
from trivium.data.cad.script import ScriptRefusedError, check
from trivium.data.longcontext.dice import Dice

REFUSED = {
    "syntax": ["Box(1, 2", "\x00", "(" * 300],
    "forbidden_import": ["import os", "from subprocess import run", "import build123d.importers", "from . import part"],
    "forbidden_name": [
        "open('/etc/passwd')",
        "__import__('os')",
        "().__class__",
        "getattr(Box, 'x')",
        "Box(1, 1, 1)._wrapped",
        "async def f(): pass",
    ],
    "external_reference": [
        "import_step('/etc/passwd')",
        "from build123d import export_stl",
        "import build123d as b\nb.importers",
        "import collections\ncollections.sys.modules",
        "Text('words', 10)",
    ],
    "too_complex": ["x = [" + "1," * 30_000 + "]"],
}


@pytest.mark.parametrize(("reason", "code"), [(reason, code) for reason, codes in REFUSED.items() for code in codes])
def test_what_no_part_needs_is_refused(reason: str, code: str) -> None:
    with pytest.raises(ScriptRefusedError) as refused:
        check(code)
    assert refused.value.reason == reason


def test_a_script_keeps_its_text_but_line_ends_and_gives_its_title() -> None:
    checked = check('"""A part.\n\nMore."""\r\nfrom build123d import *  \r\nresult = Box(1, 2, 3)\r\n\r\n')
    assert checked.code == '"""A part.\n\nMore."""\nfrom build123d import *\nresult = Box(1, 2, 3)\n'
    assert checked.title == "A part"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_families_write_scripts_that_pass(family: str) -> None:
    for mode in MODES:
        for number in range(6):
            code = script(FAMILIES[family].draw(Dice(family, number), mode))
            assert check(code).code == code
            assert "·" not in code
            assert max(map(len, code.splitlines())) <= 125
            assert code == script(FAMILIES[family].draw(Dice(family, number), mode))
