"""A stage's clock: how many tokens stand before each step, in closed form, so that steps are known without any corpus.

Odd: a step's size is in tokens, not rows, and the stage's tokens are divided among its steps without a rest: rows only
follow from how well documents pack. So the number of steps depends on the schedule alone.
"""

from dataclasses import dataclass

from trivium.curriculum.stage import Stage


@dataclass(frozen=True, slots=True)
class Clock:
    """`ramp_steps` steps that grow from `start` to `batch` tokens, then equal ones of at most `batch` tokens.

    A full batch takes `rows` rows of `capacity` tokens.
    """

    tokens: int
    start: int
    batch: int
    rows: int
    capacity: int
    ramp_steps: int
    steps: int

    @classmethod
    def of(cls, stage: Stage) -> "Clock":
        start, ramp_steps, ramped = stage.batch, 0, 0
        if stage.ramp is not None:
            start = stage.ramp.start
            ramp_steps = max(1, 2 * stage.ramp.tokens // (start + stage.batch))
            ramped = _ramped(ramp_steps, start, stage.batch, ramp_steps)
        rest = -(-max(0, stage.tokens - ramped) // stage.batch)
        rows = -(-stage.batch // stage.capacity)
        return cls(stage.tokens, start, stage.batch, rows, stage.capacity, ramp_steps, ramp_steps + rest)

    def before(self, step: int) -> int:
        """Tokens of the stage before its step number `step`, from 0 to `tokens`."""
        if step >= self.steps:
            return self.tokens
        if step <= self.ramp_steps:
            return min(self.tokens, _ramped(step, self.start, self.batch, self.ramp_steps))
        ramped = _ramped(self.ramp_steps, self.start, self.batch, self.ramp_steps)
        return ramped + (self.tokens - ramped) * (step - self.ramp_steps) // (self.steps - self.ramp_steps)

    def batch_of(self, step: int) -> int:
        """Tokens of step number `step` of the stage."""
        return self.before(step + 1) - self.before(step)

    def rows_of(self, step: int) -> int:
        """Rows that the step is meant to have: those of a full batch once a ramp is over."""
        if step >= self.ramp_steps:
            return self.rows
        return max(1, -(-self.batch_of(step) // self.capacity))


def _ramped(step: int, start: int, batch: int, ramp_steps: int) -> int:
    """Tokens of the first `step` steps of a ramp: the sum of a line, rounded down."""
    if not ramp_steps:
        return 0
    return start * step + (batch - start) * step * step // (2 * ramp_steps)


@dataclass(frozen=True, slots=True)
class Windows:
    """A stage's steps divided into `count` windows of nearly equal length; each is packed on its own."""

    steps: int
    count: int

    @classmethod
    def of(cls, clock: Clock, tokens: float, least: float) -> "Windows":
        """Windows of about `tokens` tokens and of whole steps, but none of fewer than `least` tokens."""
        count = min(round(clock.tokens / tokens), int(clock.tokens / least)) if tokens and least else 1
        windows = cls(clock.steps, max(1, min(clock.steps, count)))
        while windows.count > 1 and windows._shortest(clock) < least:
            windows = cls(clock.steps, windows.count - max(1, windows.count // 8))
        return windows

    def _shortest(self, clock: Clock) -> int:
        """Tokens of the first window, or of a later one: steps grow, and differ in number by one at most."""
        steps = self.steps // self.count
        return min(clock.before(steps), clock.before(self.steps) - clock.before(self.steps - steps))

    def first_step(self, window: int) -> int:
        """The stage's step that opens `window`; of window `count`: the number of steps."""
        return window * self.steps // self.count

    def window_of(self, step: int) -> int:
        """The window that holds the stage's step."""
        return ((step + 1) * self.count - 1) // self.steps
