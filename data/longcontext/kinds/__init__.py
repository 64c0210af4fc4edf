"""The kinds of tasks, by the names that recipes weigh. A kind gives None where its row has nothing to ask for."""

from collections.abc import Callable

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import Room, Task
from trivium.data.longcontext.kinds.documents import compare, count, find, order
from trivium.data.longcontext.kinds.edits import edits
from trivium.data.longcontext.kinds.needles import chain, needle, needles
from trivium.data.longcontext.kinds.passages import copy, quote
from trivium.data.longcontext.kinds.pictures import code_of_picture, picture_of_code

KINDS: dict[str, Callable[[Room, Dice], Task | None]] = {
    function.__name__: function
    for function in (
        needle,
        needles,
        chain,
        edits,
        find,
        count,
        order,
        compare,
        quote,
        copy,
        code_of_picture,
        picture_of_code,
    )
}
