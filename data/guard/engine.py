"""What an engine sees of the machine and what it may do."""

import os

from trivium.data.config import Strict
from trivium.errors import UsageError

FONTS = ("/usr/share/fonts", "/usr/share/fontconfig", "/etc/fonts")
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/ld.so.cache", "/etc/alternatives")
# Never visible whole: homes, secrets, the machine's state. Single folders below them may be (an interpreter in a home).
_NEVER = ("/", "/home", "/root", "/etc", "/proc", "/sys", "/dev", "/run", "/var", "/tmp", "/boot", "/srv", "/mnt")


class Profile(Strict, frozen=True):
    """The walls of one engine. Nothing is there beyond libraries, `read` and the empty folder /scratch.

    `fonts`: the only font folders; what fontconfig finds is what it sees. `proc`: the namespace's own /proc.
    `sockets`: the engine's processes speak to each other. `reserves`: far more address space than memory (V8).
    `fixed_addresses`: memory lies at the same addresses in every run, for engines whose order follows addresses.
    Raises UsageError for a folder that would show a home or secrets.
    """

    name: str = "plain"
    read: tuple[str, ...] = ()
    fonts: tuple[str, ...] = FONTS
    proc: bool = False
    sockets: bool = False
    reserves: bool = False
    fixed_addresses: bool = False
    environment: dict[str, str] = {}

    def __post_init__(self) -> None:
        for place in (*self.read, *self.fonts):
            known = os.path.normpath(place)
            forbidden = {*_NEVER, os.path.expanduser("~")}
            if not os.path.isabs(place) or known in forbidden or any(one.startswith(f"{known}/") for one in forbidden):
                raise UsageError(
                    f"profile {self.name!r} shows {place!r} to untrusted code; "
                    "name the engine's own folder by its absolute path, never a home, /etc or a folder above them"
                )

    @property
    def places(self) -> tuple[str, ...]:
        """All that the engine may read, beside what its interpreter needs."""
        return tuple(dict.fromkeys([*_LIBRARIES, *self.fonts, *self.read]))
