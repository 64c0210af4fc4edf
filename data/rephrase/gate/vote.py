"""The vote of a language model, asked last and only about rewrites that every check let pass.

Odd: it is awaited, as backends are, so it is no check of `Gate.judge`; the job of rephrasing awaits it after that.
"""

import re

import msgspec

from trivium.data.config import Strict
from trivium.data.rephrase.backend import Backend, Failure, Message, Request
from trivium.data.rephrase.gate.pair import Finding, Pair, Verdict

PROMPT = "fidelity@1"
NO_VOTE = "no_vote"  # the reason where not one answer came that is yes or no
_QUESTION = """Below are a source and a rewrite of it. Does the rewrite say only what the source says, with the same \
numbers, units, names and denials{but}? Begin your answer with yes or no.

Source:
{source}

Rewrite:
{rewrite}"""
_ANSWER = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class Vote(Strict, kw_only=True):
    """`ask` seeds are asked; at least `agree` of the answers must be yes. No answer is no yes."""

    ask: int = 1  # how often, each with its own seed
    agree: int = 1  # answers that must be yes
    max_tokens: int = 8  # of an answer
    temperature: float = 0.0  # above 0 where it is asked more than once

    def __post_init__(self) -> None:
        if not 1 <= self.agree <= self.ask:
            raise ValueError(f"agree is {self.agree} of {self.ask} answers; give 1 to {self.ask}")


async def vote(pair: Pair, verdict: Verdict, config: Vote, backend: Backend, *, condenses: bool) -> Verdict:
    """The verdict with the model's vote; one that rejects already is given back unasked."""
    if not verdict.accepted:
        return verdict
    but = ", though it may leave things out" if condenses else ""
    text = _QUESTION.format(but=but, source=pair.source, rewrite=pair.rewrite)
    answers: list[str] = []
    for seed in range(config.ask):
        request = Request(
            model=backend.model,
            prompt=PROMPT,
            messages=(Message("user", text),),
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            seed=seed,
        )
        reply = await backend.generate(request)
        found = None if isinstance(reply, Failure) else _ANSWER.match(reply.text)
        answers.append(found[1].lower() if found else "")
    yes = answers.count("yes")
    passed = yes >= config.agree
    reason = "" if passed else "voted_down" if any(answers) else NO_VOTE
    detail = "" if passed else f"{yes} of {config.ask} answers are yes, {config.agree} wanted"
    finding = Finding(check="vote", score=yes / config.ask, passed=passed, reason=reason, detail=detail)
    return msgspec.structs.replace(
        verdict,
        accepted=passed,
        reason=reason,
        detail=detail,
        scores={**verdict.scores, "vote": round(finding.score, 4)},
        findings=(*verdict.findings, finding),
    )
