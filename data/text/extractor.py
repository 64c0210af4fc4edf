"""The frame of stages that make documents of raw files: what they take, how large it is at most, a guarded child."""

from typing import ClassVar, Protocol, TypeVar

from trivium.data.frames import RawStage
from trivium.data.guard import Guard
from trivium.data.stage import Draft, Drop, Raw, refuse


class Sized(Protocol):
    """Their parameters: `max_bytes` of one file; a larger one is refused as `too_large`."""

    @property
    def max_bytes(self) -> int: ...


E = TypeVar("E", bound=Sized)


class Extractor(RawStage[E]):
    """Raw file → one document or a drop with its reason."""

    excerpt: ClassVar[str] = ""  # of a refused file that can't be shown as text

    def outcome(self, raw: Raw) -> Draft | Drop:
        limit = self.config.max_bytes
        if len(raw.body) > limit:
            detail = f"{len(raw.body):,} bytes, limit {limit:,}"
            return refuse(raw, self.name, "too_large", detail, excerpt=self.excerpt)
        return self.extract(raw)

    def extract(self, raw: Raw) -> Draft | Drop:
        """The document of one file of allowed size."""
        raise NotImplementedError


class GuardedExtractor(Extractor[E]):
    """One whose work is done in a guarded child, which lives as long as the worker."""

    def __init__(self, config: E, guard: Guard) -> None:
        super().__init__(config)
        self.guard = guard

    def open(self) -> None:
        self.guard.start()

    def close(self) -> None:
        self.guard.close()
