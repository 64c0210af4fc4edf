"""One browser for all tests of this folder: it takes seconds to start."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from trivium.data.guard import sandbox
from trivium.data.guard.limits import MIB
from trivium.data.web.browser import Browser
from trivium.data.web.chromium import CHROMIUM
from trivium.data.web.screen import BROWSER_LIMITS


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    pytest.importorskip("playwright", reason="needs the extra `web`")
    if not Path(CHROMIUM).exists() or not sandbox().strong:
        pytest.skip("needs Debian's chromium and namespaces: apt-get install chromium bubblewrap")
    limits = msgspec.structs.replace(BROWSER_LIMITS, wall_seconds=60.0, memory_bytes=900 * MIB)
    with Browser(limits) as found:
        yield found
