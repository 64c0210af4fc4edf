"""Text after a prompt and code after a picture, decoded from the caches of a trained checkpoint.

Odd: only ordinary tokens and the end of the document can come out; media tokens and other specials have no place in
what a model writes, so their logits are never candidates.

B documents, V vocabulary.
"""

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Picture
from torch import Tensor

from trivium.data.config import from_mapping
from trivium.data.patches import PictureRules
from trivium.data.records import Image
from trivium.data.tokenizers import Tokenizer
from trivium.data.tokenizers.layout import image_block
from trivium.errors import CheckpointError, InputError, UsageError
from trivium.model.batch import Sample, collate
from trivium.model.decode import prefill, step
from trivium.model.joint import JointConfig, JointModel
from trivium.pipelines.train.checkpoint import Checkpoint, CheckpointStore, verify
from trivium.pipelines.train.folder import TOKENIZER
from trivium.vision.preprocess import load_patches

SMALL = 50_000_000  # parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How much is written, and how each token is drawn. Raises UsageError for values that make no sense."""

    tokens: int = 200  # at most so many
    temperature: float = 0.8  # 0 takes the likeliest token
    top_p: float = 0.95  # draw from the likeliest tokens of this mass
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tokens < 1 or not self.temperature >= 0 or not 0 < self.top_p <= 1:
            raise UsageError(
                f"tokens {self.tokens}, temperature {self.temperature:g}, top-p {self.top_p:g}: give tokens from 1, "
                "temperature from 0, and top-p above 0 and at most 1"
            )


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was written: `text` without the prompt, tokens read and written, and the seconds that writing took.

    Documents written together share their seconds.
    """

    text: str
    prompt_tokens: int
    tokens: int
    ended: bool  # the model closed the document itself
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Writer:
    """A loaded model with its tokenizer and picture rules."""

    model: JointModel
    tokenizer: Tokenizer
    rules: PictureRules
    step: int

    def settle_threads(self) -> None:
        """One thread for a model whose token is too little work to share; the process is ours."""
        if sum(parameter.numel() for parameter in self.model.parameters()) < SMALL:
            torch.set_num_threads(1)

    def write(self, prompt: str, picture: bytes | None, sampling: Sampling) -> Drawn:
        """Goes on after [BOS], the picture if any, and the prompt. Raises UsageError, InputError."""
        return self.write_together([(prompt, picture)], sampling)[0]

    def write_together(self, openings: Sequence[tuple[str, bytes | None]], sampling: Sampling) -> list[Drawn]:
        """Goes on after each prompt and picture, all in the same steps; each document draws from the seed as if alone.

        Raises UsageError, InputError.
        """
        samples = [self._opening(prompt, picture) for prompt, picture in openings]
        device = self.model.backbone.head.weight.device
        state = prefill(self.model, collate(samples, self.tokenizer.media_pad).to(device))
        allowed_V = self._allowed(state.logits_BV.shape[1]).to(device)
        generators = [torch.Generator().manual_seed(sampling.seed) for _ in samples]
        written: list[list[int]] = [[] for _ in samples]
        eos = self.tokenizer.eos
        began = time.perf_counter()
        for number in range(sampling.tokens):
            if number:
                # An ended document keeps its place in the batch; what follows its end is never looked at.
                step(self.model, [ids[-1] for ids in written], state)
            for ids, logits_V, generator in zip(written, state.logits_BV, generators, strict=True):
                ended = bool(ids) and ids[-1] == eos
                token = pick(logits_V, allowed_V, sampling.temperature, sampling.top_p, generator)
                ids.append(eos if ended else token)
            if all(ids[-1] == eos for ids in written):
                break
        seconds = time.perf_counter() - began
        return [self._drawn(sample, ids, seconds) for sample, ids in zip(samples, written, strict=True)]

    def _drawn(self, opening: Sample, ids: list[int], seconds: float) -> Drawn:
        ended = self.tokenizer.eos in ids
        kept = ids[: ids.index(self.tokenizer.eos)] if ended else ids
        return Drawn(self.tokenizer.decode(kept), len(opening.tokens), len(kept), ended, seconds)

    def _opening(self, prompt: str, picture: bytes | None) -> Sample:
        ids = [self.tokenizer.bos]
        shown = []
        if picture is not None:
            if self.model.config.vision is None:
                raise UsageError("this model has no vision tower; leave --image out")
            seen = load_patches(picture, self.rules)
            width, height = stored_size(picture)
            image = Image(media="i0.png", width=width, height=height, mime="")
            ids += image_block(image, seen.fit, self.tokenizer)
            shown.append(seen)
        ids += self.tokenizer.encode(prompt)
        loss = np.zeros(len(ids), bool)
        return Sample(np.array(ids), loss, [one.grid for one in shown], [one.patches_NC for one in shown])

    def _allowed(self, vocabulary: int) -> Tensor:
        """True for ordinary tokens and [EOS]."""
        allowed_V = torch.zeros(vocabulary, dtype=torch.bool)
        allowed_V[: self.tokenizer.vocab_size] = True
        allowed_V[list(self.tokenizer.specials.values())] = False
        allowed_V[self.tokenizer.eos] = True
        return allowed_V


def stored_size(picture: bytes) -> tuple[int, int]:
    """Width and height in pixels as stored: what the layout writes before a picture's tokens."""
    with Picture.open(io.BytesIO(picture)) as opened:
        return opened.size


def pick(logits_V: Tensor, allowed_V: Tensor, temperature: float, top_p: float, generator: torch.Generator) -> int:
    """One token: the likeliest allowed one at temperature 0, else drawn from the smallest set of mass `top_p`."""
    logits_V = logits_V.float().masked_fill(~allowed_V, -torch.inf).cpu()
    if temperature == 0:
        return int(logits_V.argmax())
    shares_V, order_V = (logits_V.double() / temperature).softmax(-1).sort(descending=True, stable=True)
    before_V = shares_V.cumsum(-1) - shares_V
    kept_V = shares_V.masked_fill(before_V >= top_p, 0.0)  # the likeliest token always stays
    return int(order_V[torch.multinomial(kept_V, 1, generator=generator)])


def load_writer(path: Path, *, tokenizer: Path | None = None, device: str = "cpu") -> Writer:
    """From a run folder (its newest whole checkpoint) or one checkpoint folder.

    Raises InputError when there is neither, CheckpointError when it is damaged.
    """
    found, root = _find(path)
    config = from_mapping(found.manifest.identity["model"], JointConfig, name=str(found.folder))
    file = tokenizer or root / TOKENIZER
    if not file.exists():
        others = sorted(root.glob("*.tiktoken")) + sorted(root.glob("*.model"))
        if not others:
            raise InputError(f"{root}: holds no {TOKENIZER}; give the tokenizer with --tokenizer PATH")
        file = others[0]
    engine = Tokenizer.load(file)
    if engine.digest != found.manifest.identity["tokenizer"]:
        raise InputError(
            f"{file} is tokenizer {engine.digest[:12]}…, and the checkpoint was trained with "
            f"{found.manifest.identity['tokenizer'][:12]}…; give that one with --tokenizer PATH"
        )
    model = config.build(seed=0)
    tensors = {n.removeprefix("model/"): t for n, t in found.tensors().items() if n.startswith("model/")}
    try:
        model.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        raise CheckpointError(f"{found.folder}: its tensors are not this model's ({error})") from None
    rules = from_mapping(found.manifest.identity["pictures"], PictureRules, name=str(found.folder))
    return Writer(model.to(device).eval(), engine, rules, found.step)


def _find(path: Path) -> tuple[Checkpoint, Path]:
    """The checkpoint and the run folder."""
    if (path / "manifest.json").is_file():
        found = verify(path)
        if isinstance(found, str):
            raise CheckpointError(f"{found}; give its run folder to use the checkpoint before it")
        return found, path.parent.parent
    newest = _newest(CheckpointStore(path / "checkpoints", keep=1))
    if newest is None:
        raise InputError(
            f"{path}: neither a run folder with checkpoints nor a checkpoint; give `trivium train`'s --out"
        )
    return newest, path


def _newest(store: CheckpointStore) -> Checkpoint | None:
    """The newest whole one; unlike a run that goes on, sampling sets nothing aside."""
    damaged: list[str] = []
    for number in reversed(store.steps()):
        found = verify(store.path(number))
        if not isinstance(found, str):
            return found
        damaged.append(found)
    if damaged:
        raise CheckpointError(f"no checkpoint is whole: {'; '.join(damaged)}")
    return None


def facts(drawn: Drawn, at: int) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "text": drawn.text,
        "step": at,
        "prompt_tokens": drawn.prompt_tokens,
        "tokens": drawn.tokens,
        "ended": drawn.ended,
        "seconds": drawn.seconds,
        "tokens_per_second": drawn.tokens_per_second,
    }
