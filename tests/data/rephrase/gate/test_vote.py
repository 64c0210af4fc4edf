"""A model's vote: asked last, counted by its first word, and never taken for granted."""

import asyncio

import pytest

from trivium.data.rephrase.backend import Failure, Reply, Usage
from trivium.data.rephrase.gate import Pair, Verdict
from trivium.data.rephrase.gate.vote import Vote, vote

PAIR = Pair(source="Water boils at {100} °C.", rewrite="At {100} °C water boils.", language="en", target="en")


class Says:
    """A backend that answers by seed."""

    name = model = "says"

    def __init__(self, *answers: str | None) -> None:
        self.answers, self.usage, self.asked = answers, Usage(), []

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, request):
        self.asked.append(request)
        answer = self.answers[request.seed]
        if answer is None:
            return Failure(reason="timeout", detail="", attempts=1)
        return Reply(text=answer, finish="stop", prompt_tokens=1, completion_tokens=1, model="says")


@pytest.mark.parametrize(
    ("answers", "agree", "reason"),
    [
        (["Yes, it does."], 1, ""),
        (["**No**: a number differs."], 1, "voted_down"),
        (["yes", "no", "yes"], 2, ""),
        (["yes", "no", "no"], 2, "voted_down"),
        ([None, "perhaps"], 1, "no_vote"),
    ],
)
def test_a_vote_is_counted_by_first_words(answers, agree, reason):
    config = Vote(ask=len(answers), agree=agree)
    backend = Says(*answers)
    accepted = Verdict(accepted=True, reason="", detail="", scores={}, findings=())
    verdict = asyncio.run(vote(PAIR, accepted, config, backend, condenses=False))
    assert (verdict.accepted, verdict.reason) == (not reason, reason)
    assert PAIR.source in backend.asked[0].messages[0].content
    rejected = Verdict(accepted=False, reason="copy", detail="", scores={}, findings=())
    assert asyncio.run(vote(PAIR, rejected, config, backend, condenses=False)) is rejected
    assert len(backend.asked) == len(answers)
