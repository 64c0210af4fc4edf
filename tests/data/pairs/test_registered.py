import pytest

from trivium.data.pairs.editor import EDITORS, editor
from trivium.data.pairs.engine import ENGINES, EXECUTING, engine
from trivium.errors import ShardError


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_an_engine_is_made_by_the_name_that_records_give(name):
    made = engine(name)
    assert made.name == name
    changes = editor(name)
    assert (changes is not None) == (name in EDITORS)
    assert changes is None or changes.language


def test_names_of_no_engine_are_refused():
    assert EDITORS.keys() | EXECUTING <= ENGINES.keys()
    assert editor("mesh") is None
    with pytest.raises(ShardError, match="'pencil', which this code does not know"):
        engine("pencil")
