"""How long a text or picture is in tokens: counted with a tokenizer, or estimated from bytes by a stated ratio."""

from collections.abc import Callable
from pathlib import Path

from trivium.data.patches import Fit, PictureRules, fit
from trivium.data.records import Document, Image, Text, Video
from trivium.data.video.plan import plan

_ENDS = 2  # [BOS] and [EOS]


class Meter:
    """Lengths in tokens. `count` counts a text exactly; without it a text has ceil(UTF-8 bytes / `bytes_per_token`)."""

    def __init__(self, bytes_per_token: float, rules: PictureRules, count: Callable[[str], int] | None = None) -> None:
        self.bytes_per_token, self.rules, self.exact = bytes_per_token, rules, count is not None
        self._count = count or self._estimate

    @classmethod
    def load(cls, bytes_per_token: float, rules: PictureRules, tokenizer: Path | None) -> "Meter":
        """A meter that counts with the tokenizer at that path, or estimates. Raises InputError."""
        if tokenizer is None:
            return cls(bytes_per_token, rules)
        from trivium.data.tokenizers import Tokenizer

        engine = Tokenizer.load(tokenizer)
        return cls(bytes_per_token, rules, lambda text: len(engine.encode(text)))

    def _estimate(self, text: str) -> int:
        return int(-(-len(text.encode()) // self.bytes_per_token))

    def text(self, text: str) -> int:
        return self._count(text)

    def fit(self, width: int, height: int) -> Fit:
        return fit(width, height, self.rules)

    def picture(self, width: int, height: int) -> int:
        """Tokens of a whole media block: begin, `image WxH`, content, pads, end."""
        return 3 + self._count(f"image {width}x{height}") + self.fit(width, height).tokens

    def clip(self, clip: Video) -> int:
        """Tokens of a clip's timestamps and media blocks. Raises InputError when its figures can't be right."""
        planned = plan(clip, self.rules)
        times = sum(self._count(time) for time in planned.timestamps)
        return times + len(planned.timestamps) * (3 + self._count("video")) + planned.tokens

    def document(self, document: Document) -> int:
        """Tokens of a document as `tokenize_document` lays it out. Raises InputError as `clip` does."""
        total = _ENDS
        for segment in document.segments:
            if isinstance(segment, Text):
                total += self.text(segment.text)
            elif isinstance(segment, Image):
                total += self.picture(segment.width, segment.height)
            else:
                total += self.clip(segment)
        return total
