"""Text after a prompt and code after a picture, decoded from the caches of a checkpoint or of imported weights.

Odd: only ordinary tokens and the end of the document can come out; media tokens and other specials have no place in
what a model writes, so their logits are never candidates.

B documents, V vocabulary.
"""

import codecs
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trivium.data.config import from_mapping
from trivium.data.patches import CELL, MERGE, PictureRules, fit
from trivium.data.records import Image
from trivium.data.tokenizers import Tokenizer
from trivium.data.tokenizers.layout import image_block
from trivium.errors import CheckpointError, InputError, UsageError
from trivium.model.batch import Sample, collate
from trivium.model.interop import WeightsSource, load_weights
from trivium.model.interop.sources import ABOUT
from trivium.model.joint import JointConfig, JointModel
from trivium.model.sampling import Generation, Sampling
from trivium.pipelines.train.checkpoint import Checkpoint, CheckpointStore, verify
from trivium.pipelines.train.folder import TOKENIZER
from trivium.pipelines.train.loading.decoders import Decoders
from trivium.vision.pixels import Reply
from trivium.vision.preprocess import normalise

SMALL = 50_000_000  # parameters
SVG_HEAD = 4096  # bytes in which an SVG file names itself
PICTURE_SECONDS = 60  # of processor time, for one picture

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opening:
    """What a document begins with: pictures (their files' bytes), then text. `names` are the pictures' in errors."""

    prompt: str = ""
    pictures: Sequence[bytes] = ()
    names: Sequence[str] = ()


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
    stopped: bool = False  # a text to stop at came

    @property
    def reason(self) -> str:
        """Why it ended: the model closed the document (`end`), a text to stop at came, or there were enough tokens."""
        return "end" if self.ended else "stop" if self.stopped else "max_tokens"

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds if self.seconds else 0.0


class Words:
    """Text out of tokens as they come: whole characters only, and nothing that may be the start of a text to stop at.

    `text` is what has come out; `stopped` says that a text to stop at came, which is not in it.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.text, self.stopped = "", False
        self._stops = stops
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def push(self, piece: bytes, *, last: bool = False) -> str:
        """What can be shown now; with `last`, all that is left."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(piece, last)
        places = [place for place in (self._held.find(stop) for stop in self._stops) if place >= 0]
        if places:
            self.stopped, shown = True, min(places)
        else:
            shown = len(self._held) - (0 if last else self._waiting())
        new, self._held = self._held[:shown], self._held[shown:]
        self.text += new
        return new

    def _waiting(self) -> int:
        """Characters at the end with which a text to stop at begins."""
        most = max(map(len, self._stops), default=1) - 1
        starts = (n for n in range(min(most, len(self._held)), 0, -1))
        return next((n for n in starts if any(stop.startswith(self._held[-n:]) for stop in self._stops)), 0)


@dataclass(frozen=True, slots=True)
class Writer:
    """A loaded model with its tokenizer and picture rules. Pictures are strangers': a guarded process decodes them."""

    model: JointModel
    tokenizer: Tokenizer
    rules: PictureRules
    step: int | None  # None: the weights were imported
    context: int | None = None  # tokens of the longest rows that the model was trained with
    decoders: Decoders = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "decoders", Decoders(1, self.rules, PICTURE_SECONDS))

    def close(self) -> None:
        """Ends the decoding process, if one was started."""
        self.decoders.close()

    @property
    def origin(self) -> str:
        """For people."""
        return "imported weights" if self.step is None else f"step {self.step}"

    def settle_threads(self) -> None:
        """One thread for a model whose token is too little work to share; the process is ours."""
        if sum(parameter.numel() for parameter in self.model.parameters()) < SMALL:
            torch.set_num_threads(1)

    def refuse_longer(self, sample: Sample) -> None:
        """Raises UsageError for an opening of more tokens than the model has met in one row."""
        tokens, pads = len(sample.tokens), sum(len(patches) for patches in sample.patches) // MERGE**2
        if self.context is None or tokens <= self.context:
            return
        room = (self.context - (tokens - pads)) // max(1, len(sample.patches))
        side = math.isqrt(max(room, 0)) * CELL
        cure = f"scale each picture down to {side} × {side} pixels or fewer" if pads and side else "shorten the prompt"
        raise UsageError(
            f"the prompt has {tokens:,} tokens ({pads:,} of them for pictures), and the longest context that the run's "
            f"schedule trains with is {self.context:,}; {cure}"
        )

    def write(self, opening: Opening | Sample, sampling: Sampling, say: Callable[[str], None] | None = None) -> Drawn:
        """Goes on after [BOS], the pictures and the prompt; `say` hears the text as it comes.

        Raises UsageError, and InputError for a picture that can't be decoded.
        """
        return self.write_together([opening], [sampling], say)[0]

    def write_together(
        self,
        openings: Sequence[Opening | Sample],
        samplings: Sequence[Sampling],
        say: Callable[[str], None] | None = None,
    ) -> list[Drawn]:
        """Goes on after each opening, all in the same steps; each document draws from its seed as if alone.

        `say` hears the first document's text. Raises UsageError, InputError.
        """
        samples = [self.read(opening) if isinstance(opening, Opening) else opening for opening in openings]
        device = self.model.backbone.head.weight.device
        generation = Generation(
            self.model,
            collate(samples, self.tokenizer.media_pad).to(device),
            samplings,
            allowed_V=self._allowed(self.model.config.backbone.vocab),
            stops=(self.tokenizer.eos,),
        )
        words = [Words(sampling.stop) for sampling in samplings]
        written, ended = [0] * len(samples), [False] * len(samples)
        began = time.perf_counter()
        for tokens in generation:
            for document, token in tokens.items():
                ended[document] = token == self.tokenizer.eos
                written[document] += not ended[document]
                last = ended[document] or written[document] == samplings[document].tokens
                new = words[document].push(b"" if ended[document] else self.tokenizer.pieces[token], last=last)
                if words[document].stopped:
                    generation.end(document)
                if say is not None and document == 0 and new:
                    say(new)
        seconds = time.perf_counter() - began
        return [
            Drawn(one.text, len(sample.tokens), count, end, seconds, one.stopped)
            for one, sample, count, end in zip(words, samples, written, ended, strict=True)
        ]

    def read(self, opening: Opening) -> Sample:
        """[BOS], the pictures as the corpora's rules resize them, and the prompt. Raises UsageError, InputError."""
        ids = [self.tokenizer.bos]
        grids, patches = [], []
        if opening.pictures and self.model.config.vision is None:
            raise UsageError("this model has no vision tower; leave --image out")
        for number, payload in enumerate(opening.pictures):
            place = f"picture {number + 1} of {len(opening.pictures)}"
            seen = self._seen(payload, opening.names[number] if opening.names else place)
            image = Image(media=f"i{number}.png", width=seen.width, height=seen.height, mime="")
            ids += image_block(image, fit(seen.width, seen.height, self.rules), self.tokenizer)
            grids.append((1, seen.rows, seen.columns))
            patches.append(normalise(np.frombuffer(seen.patches, np.uint8).reshape(seen.rows * seen.columns, -1)))
        ids += self.tokenizer.encode(opening.prompt)
        return Sample(np.array(ids), np.zeros(len(ids), bool), grids, patches)

    def _seen(self, payload: bytes, name: str) -> Reply:
        try:
            return self.decoders.picture(payload)
        except InputError as error:
            if b"<svg" in payload[:SVG_HEAD]:
                raise InputError(f"{name}: an SVG; render it first: resvg {name} picture.png") from None
            raise InputError(f"{name}: {error}") from None

    def _allowed(self, vocabulary: int) -> Tensor:
        """True for ordinary tokens and [EOS]."""
        allowed_V = torch.zeros(vocabulary, dtype=torch.bool)
        allowed_V[: self.tokenizer.vocab_size] = True
        allowed_V[list(self.tokenizer.specials.values())] = False
        allowed_V[self.tokenizer.eos] = True
        return allowed_V


def load_writer(
    path: Path, *, tokenizer: Path | None = None, device: str = "cpu", warn: Callable[[str], None] = _LOG.warning
) -> Writer:
    """From a run folder (its newest whole checkpoint), one checkpoint, or a folder of `trivium model import`.

    Raises InputError when it is none of these, CheckpointError when it is damaged, UsageError for an absent device.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError("this machine has no CUDA device; leave --device out")
    if (path / ABOUT).is_file():
        return _imported(path, tokenizer, device)
    found, root = _find(path, warn)
    config = from_mapping(found.manifest.identity["model"], JointConfig, name=str(found.folder))
    engine = Tokenizer.load(_tokenizer(root, tokenizer))
    if engine.digest != found.manifest.identity["tokenizer"]:
        raise InputError(
            f"{_tokenizer(root, tokenizer)} is tokenizer {engine.digest[:12]}…, and the checkpoint was trained with "
            f"{found.manifest.identity['tokenizer'][:12]}…; give that one with --tokenizer PATH"
        )
    model = config.build(seed=0)
    tensors = {n.removeprefix("model/"): t for n, t in found.tensors().items() if n.startswith("model/")}
    try:
        model.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        raise CheckpointError(f"{found.folder}: its tensors are not this model's ({error})") from None
    rules = from_mapping(found.manifest.identity["pictures"], PictureRules, name=str(found.folder))
    context = max(stage["context"] for stage in found.manifest.identity["schedule"]["stages"])
    return Writer(model.to(device).eval(), engine, rules, found.step, context)


def _imported(path: Path, tokenizer: Path | None, device: str) -> Writer:
    """Published weights as we keep them; what a run would tell (steps, longest context) is not known of them.

    Pictures are resized by the rules that `trivium shards tokenize` has when none are given.
    """
    source = WeightsSource(path)
    file = _tokenizer(path, tokenizer)
    engine, config = Tokenizer.load(file), source.config
    if engine.vocab_size != config.backbone.vocab or engine.media_pad != config.media_pad:
        raise InputError(
            f"{file} has {engine.vocab_size:,} ids and pictures at id {engine.media_pad:,}, the model of {path} "
            f"{config.backbone.vocab:,} and {config.media_pad:,}; give the tokenizer that it was trained with by "
            "--tokenizer PATH"
        )
    model = config.build(seed=0)
    load_weights(model, path)
    return Writer(model.to(device).eval(), engine, PictureRules(), None)


def _tokenizer(root: Path, given: Path | None) -> Path:
    """The one given, or the one that lies in the folder. Raises InputError."""
    file = given or root / TOKENIZER
    if file.exists():
        return file
    others = sorted(root.glob("*.tiktoken")) + sorted(root.glob("*.model"))
    if given is not None or not others:
        what = f"{file} does not exist" if given is not None else f"{root}: holds no {TOKENIZER}"
        raise InputError(f"{what}; give the tokenizer with --tokenizer PATH")
    return others[0]


def _find(path: Path, warn: Callable[[str], None]) -> tuple[Checkpoint, Path]:
    """The checkpoint and the run folder."""
    if (path / "manifest.json").is_file():
        found = verify(path)
        if isinstance(found, str):
            raise CheckpointError(f"{found}; give its run folder to use the checkpoint before it")
        return found, path.parent.parent
    newest = _newest(CheckpointStore(path / "checkpoints", keep=1), warn)
    if newest is None:
        if any(path.glob("*.safetensors")) or path.suffix == ".safetensors":
            raise InputError(
                f"{path}: published weights, which are read once: `trivium model import {path} NEW_FOLDER`; then give "
                "that folder"
            )
        raise InputError(
            f"{path}: neither a run folder with checkpoints, nor a checkpoint, nor a folder of `trivium model "
            "import`; give `trivium train`'s --out"
        )
    return newest, path


def _newest(store: CheckpointStore, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest whole one, damaged ones named through `warn`; unlike a run that goes on, sampling sets none aside."""
    damaged: list[str] = []
    for number in reversed(store.steps()):
        found = verify(store.path(number))
        if not isinstance(found, str):
            for why in damaged:
                warn(f"{why}; taking the checkpoint before it, of step {number}")
            return found
        damaged.append(found)
    if damaged:
        raise CheckpointError(f"no checkpoint is whole: {'; '.join(damaged)}")
    return None


def facts(drawn: Drawn, sampling: Sampling, prompt: str) -> dict[str, Any]:
    """What `--json` prints of one sample."""
    return {
        "prompt": prompt,
        "text": drawn.text,
        "seed": sampling.seed,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "prompt_tokens": drawn.prompt_tokens,
        "tokens": drawn.tokens,
        "reason": drawn.reason,
        "ended": drawn.ended,
        "stopped": drawn.stopped,
        "seconds": drawn.seconds,
        "tokens_per_second": drawn.tokens_per_second,
    }
