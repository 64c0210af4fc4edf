"""Members of hot groups that stay in their range: a few travel for them, and the group's best comes back to them.

    range → of each content that it holds more than CROWD times: the best, the first SENT by id, the number of the rest
    group → its best → each range that holds some of its rest → drops

Odd: so the values of a key are bounded by the number of ranges and not by the number of equal documents, and a range's
own worker judges what it holds. What comes out hangs on no border between ranges.
"""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from trivium.pipelines.corpora.blocks import Range, decode_range, read_lines
from trivium.pipelines.corpora.report.meter import MEMBERS
from trivium.pipelines.corpora.shuffles.survivors import Candidate, Group, Rest, Select, Verdict
from trivium.pipelines.corpora.spool import Ref, decode_ref, encode_line

CROWD = 16  # members of one content in a range that all travel
SENT = MEMBERS + 1  # of a crowd beside its best: as many as the report shows, and one that may be the best of all


class _ContentId(msgspec.Struct):
    """The part of a reference that says what it holds."""

    id: str


class _Crowd:
    """One content's members in a range: the best, the first by id, and the names of all."""

    def __init__(self) -> None:
        self.group = Group()
        self.first: list[tuple[str, Ref]] = []

    def add(self, ref: Ref, quality: str) -> None:
        self.group.add(Candidate(ref=ref, key=ref.id), quality)
        self.group.name((ref.source_id, *ref.duplicates))
        if len(self.first) < SENT or ref.source_id < self.first[-1][0]:
            insort(self.first, (ref.source_id, ref), key=lambda one: one[0])
            del self.first[SENT:]

    def candidates(self, part: Range) -> Iterator[Candidate]:
        best = self.group.best
        if best is None:
            return
        others = [ref for key, ref in self.first if key != best.ref.source_id]
        sent = best.ref.source_id, *(ref.source_id for ref in others)
        names = tuple(self.group.duplicates)
        rest = Rest(part=part, count=self.group.size - len(sent), sent=sent, names=names)
        yield msgspec.structs.replace(best, rest=rest)
        yield from (Candidate(ref=ref, key=ref.id) for ref in others)


def candidates(part: Range, quality: str) -> Iterator[Candidate]:
    """The references of a range as candidates of their contents, some of them for many."""
    whose = msgspec.json.Decoder(_ContentId)
    counts = Counter(whose.decode(line).id for line in read_lines(part))
    crowds = {key: _Crowd() for key, count in counts.items() if count > CROWD}
    for line in read_lines(part):
        ref = decode_ref(line)
        if ref.id in crowds:
            crowds[ref.id].add(ref, quality)
        else:
            yield Candidate(ref=ref, key=ref.id)
    for crowd in crowds.values():
        yield from crowd.candidates(part)


class SelectRest(Select):
    """A range and the verdicts on groups that it holds much of → drops of all that did not travel."""

    def process(self, group: tuple[Any, Iterable[bytes]]) -> Iterator[Any]:
        told = {one.best.key: one for one in (msgspec.json.decode(line, type=Verdict) for line in group[1])}
        whose = msgspec.json.Decoder(_ContentId)
        for line in read_lines(decode_range(group[0])):
            verdict = told.get(whose.decode(line).id)
            if verdict is None:
                continue
            ref = decode_ref(line)
            if ref.source_id not in verdict.sent:
                yield encode_line(self.dropped(Candidate(ref=ref, key=ref.id), verdict.best, verdict.size))
