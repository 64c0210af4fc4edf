"""How far each formula of the model is from a slow, independent form of it; `oracle_list.py` names and bounds them.

An error is ‖found − wanted‖ / ‖wanted‖ where a function says nothing else. The slow form runs in fp64 on the very
numbers that the fast one is given.

T tokens, H heads, K key width, V value width, D width, E experts, L latent width, F expert hidden width.
"""

import functools
import io
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from trivium.data.patches import PictureRules, fit
from trivium.data.records import Video
from trivium.data.video.plan import plan
from trivium.kernels.attnres import attnres, attnres_bank, attnres_join, attnres_reference
from trivium.kernels.gated_norm import gated_norm
from trivium.kernels.kda import fold, kda, kda_reference, kda_segment
from trivium.kernels.mla import mla, mla_reference
from trivium.kernels.moe import BETA_GATE, BETA_UP, experts, experts_reference, route, situ_glu
from trivium.kernels.quantile import BINS, histogram, quantile, quantile_reference
from trivium.kernels.short_conv import short_conv, short_conv_reference
from trivium.model.init import init_weights
from trivium.model.optim.newton_schulz import orthogonalize
from trivium.model.presets import preset
from trivium.model.sizes import Sizes, measure
from trivium.vision.moonvit import PIXELS, MoonViT, merge
from trivium.vision.positions import resized_positions
from trivium.vision.preprocess import load_patches


def drawn(*sizes: Sequence[int], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes]


def borders(lengths: Sequence[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


def relative(found: Tensor, wanted: Tensor) -> float:
    found, wanted = found.detach().double(), wanted.detach().double()
    return float((found - wanted).norm() / wanted.norm())


def both(
    fast: Callable[..., Tensor], slow: Callable[..., Tensor], operands: Sequence[Tensor], dtype: torch.dtype
) -> tuple[float, float]:
    """Errors of the output and of the worst gradient of its product with fixed numbers."""
    near = [x.to(dtype).requires_grad_() for x in operands]
    exact = [x.detach().double().requires_grad_() for x in near]
    found, wanted = fast(*near), slow(*exact)
    (weight,) = drawn(wanted.shape, seed=1)
    got = torch.autograd.grad((found.double() * weight).sum(), near)
    due = torch.autograd.grad((wanted * weight).sum(), exact)
    return relative(found, wanted), max(relative(a, b) for a, b in zip(got, due, strict=True))


def _kda_operands(tokens: int) -> list[Tensor]:
    sizes = [(tokens, 2, 16)] * 4 + [(tokens, 2), (2,), (2, 16)]
    x = drawn(*sizes)
    return [*x[:3], x[3] - 1, *x[4:]]


@functools.cache
def kda_chunks(dtype: torch.dtype) -> tuple[float, float]:
    cu = borders([1, 63, 0, 70])
    return both(lambda *x: kda(*x, cu), lambda *x: kda_reference(*x, cu)[0], _kda_operands(134), dtype)


def _mixers(dtype: torch.dtype) -> list[tuple[Callable[..., Tensor], list[Tensor]]]:
    """Each mixer over tokens as f(row operands, cu_seqlens), and those operands for 70 tokens."""
    x = [part.to(dtype) for part in _kda_operands(70)]
    q, k, v, rows, weight = (part.to(dtype) for part in drawn((70, 2, 24), (70, 2, 24), (70, 2, 16), (70, 9), (9, 4)))
    return [
        (lambda *row, cu: kda(*row, x[5], x[6], cu), x[:5]),
        (lambda *row, cu: mla(*row, cu)[0], [q, k, v]),
        (lambda row, cu: short_conv(row, weight, cu), [rows]),
    ]


def future(dtype: torch.dtype) -> float:
    """Bits of earlier rows that an edit moves, over every offset in a tile and around a chunk's end."""
    moved = 0
    for mix, row in _mixers(dtype):
        before = mix(*row, cu=borders([70]))
        for place in (*range(17), 31, 32, 63, 64, 69):
            edited = [part.clone() for part in row]
            for part in edited:
                part[place] += 1
            moved += int((mix(*edited, cu=borders([70]))[:place] != before[:place]).sum())
    return float(moved)


def packed(dtype: torch.dtype) -> float:
    cu = borders([17, 1, 0, 52])
    worst = 0.0
    for mix, row in _mixers(dtype):
        alone = [mix(*(part[a:b] for part in row), cu=borders([b - a])) for a, b in pairwise(cu.tolist()) if b > a]
        worst = max(worst, relative(mix(*row, cu=cu), torch.cat(alone)))
    return worst


def context(dtype: torch.dtype) -> float:
    """Pieces of a document from the folds of [state | transition], with an empty piece, against the whole."""
    x = [part.to(dtype) for part in _kda_operands(70)]
    states, transitions = kda_segment(*x[1:], borders([20, 0, 37, 13]))
    entering, _ = fold(states, transitions)
    found = kda(*x, borders([20, 0, 37, 13]), initial_state=entering)
    return relative(found, kda_reference(*(part.double() for part in x), borders([70]))[0])


@functools.cache
def mla_softmax(dtype: torch.dtype) -> tuple[float, float]:
    cu = borders([1, 30, 0, 39])
    x = drawn((70, 2, 24), (70, 2, 24), (70, 2, 16))
    assert mla(*(part.bfloat16() for part in x), cu)[0].dtype == torch.float32
    return both(lambda *x: mla(*x, cu)[0], lambda *x: mla_reference(*x, cu)[0], x, dtype)


def two_phases(dtype: torch.dtype) -> float:
    bank, own, queries, gammas = (x.to(dtype) for x in drawn((4, 9, 32), (3, 9, 32), (3, 32), (3, 32)))
    mixed, total = attnres_bank([*bank], queries * gammas)
    exact = [x.double() for x in (bank, own)]
    # Queries are parameters, fp32 in training: their product is taken as it is, not rounded on one side alone.
    a = (queries * gammas).double()
    pairs = [
        (attnres_join(own[s], mixed[s], total[s], queries[s] * gammas[s]),
         attnres_reference([*exact[0], exact[1][s]], a[s], torch.ones_like(a[s])))
        for s in range(3)
    ]  # fmt: skip
    return max(relative(found, wanted) for found, wanted in pairs)


@functools.cache
def attnres_depth(dtype: torch.dtype) -> tuple[float, float]:
    def split(x: Tensor, *rest: Tensor) -> Tensor:
        return attnres([*x], *rest)

    return both(split, attnres_reference, drawn((5, 9, 32), (32,), (32,)), dtype)


def mean(dtype: torch.dtype) -> float:
    (stack,) = (x.to(dtype) for x in drawn((5, 9, 32)))
    return relative(attnres([*stack], torch.zeros(32), torch.ones(32)), stack.double().mean(0))


def quantile_bins(dtype: torch.dtype) -> float:
    """Bins between the histogram's quantile and the exact one; the router's scores are never below fp32."""
    logits, skew = drawn((900, 14), (14,))
    scores = torch.sigmoid((logits + 1.2 * skew).to(torch.promote_types(dtype, torch.float32)))
    bias = torch.linspace(-0.3, 0.3, 14, dtype=scores.dtype)
    cutoff = route(torch.logit(scores), bias, 3)[2]
    exact = quantile_reference(scores, cutoff, 3)
    width = float(bias.max() - bias.min() + 2) / BINS
    return float((quantile(histogram(scores, cutoff, bias), bias, 900, 3) - exact).abs().max()) / width


@functools.cache
def situ(dtype: torch.dtype) -> tuple[float, float]:
    def plain(g: Tensor, u: Tensor) -> Tensor:
        return BETA_GATE * torch.tanh(g / BETA_GATE) * torch.sigmoid(g) * BETA_UP * torch.tanh(u / BETA_UP)

    return both(situ_glu, plain, [5 * x for x in drawn((40, 8), (40, 8))], dtype)


@functools.cache
def experts_loop(dtype: torch.dtype) -> tuple[float, float]:
    z, logits, w1, w3, w2 = drawn((30, 12), (30, 6), (6, 10, 12), (6, 10, 12), (6, 12, 10))
    index, probs, _ = route(logits, torch.zeros(6), 2)

    def run(operator: Callable[..., Tensor]) -> Callable[..., Tensor]:
        return lambda z, probs, *weights: operator(z, index, probs, *weights)

    return both(run(experts), run(experts_reference), [z, probs, w1, w3, w2], dtype)


@functools.cache
def norm_and_gate(dtype: torch.dtype) -> tuple[float, float]:
    def plain(x: Tensor, gate: Tensor, weight: Tensor) -> Tensor:
        return torch.sigmoid(gate) * F.rms_norm(x, x.shape[-1:], weight, 1e-5)

    return both(gated_norm, plain, drawn((20, 2, 16), (20, 2, 16), (16,)), dtype)


@functools.cache
def four_taps(dtype: torch.dtype) -> tuple[float, float]:
    cu = borders([1, 3, 0, 30])
    plain = lambda *x: short_conv_reference(*x, cu)[0]  # noqa: E731
    return both(lambda *x: short_conv(*x, cu), plain, drawn((34, 9), (9, 4)), dtype)


def heads(dtype: torch.dtype) -> float:
    """Blocks in one batch against the published iteration, block by block."""

    def plain(x: Tensor) -> Tensor:
        x = x / (x.norm() + 1e-7)
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        return x

    (blocks,) = (x.to(dtype) for x in drawn((6, 8, 14)))
    return relative(orthogonalize(blocks), torch.stack([plain(block.double()) for block in blocks]))


@functools.cache
def _k3() -> Sizes:
    return measure(preset("k3"))


def totals(dtype: torch.dtype) -> float:
    """Parameters too many or too few: all of K3, its tower, its projector, those a token activates."""
    found = _k3().parameters
    counts = (found.total, found.parts["vision"], found.parts["projector"], found.activated)
    published = (2_779_931_837_184, 401_214_464, 46_144_512, 104_189_614_848)
    return float(sum(abs(a - b) for a, b in zip(counts, published, strict=True)))


def _tower() -> MoonViT:
    tower = MoonViT.Config(width=32, layers=2, heads=2, head_dim=16, hidden=64, table=8).build().double()
    init_weights(tower, std=0.2)
    return tower


def tower_packed(dtype: torch.dtype) -> float:
    """Pictures and clips of several sizes in one buffer against each alone in fp64."""
    tower, grids = _tower(), [(1, 4, 6), (1, 2, 2), (3, 2, 4), (1, 4, 6), (4, 2, 2)]
    sizes = [t * h * w for t, h, w in grids]
    (patches,) = (x.to(dtype) for x in drawn((sum(sizes), PIXELS)))
    near = _tower().to(dtype)
    with torch.no_grad():
        exact = tower.load_state_dict({n: p.double() for n, p in near.state_dict().items()}) and tower
        wanted = [exact(x.double(), torch.tensor([g])) for x, g in zip(patches.split(sizes), grids, strict=True)]
        return relative(near(patches, torch.tensor(grids)), torch.cat(wanted))


def table(dtype: torch.dtype) -> float:
    (table,) = (x.to(dtype) for x in drawn((8, 8, 5)))
    worst = 0.0
    for size in ((3, 11), (16, 4), (1, 1), (8, 8)):
        lent = table.double().permute(2, 0, 1)[None]
        wanted = F.interpolate(lent, size=size, mode="bilinear", align_corners=False)[0].flatten(1).T
        worst = max(worst, relative(resized_positions(table, *size), wanted))
    return worst


def frames(dtype: torch.dtype) -> float:
    """Time averaged, then 2×2 neighbours side by side, cell by cell."""
    (x,) = (x.to(dtype) for x in drawn((3 * 4 * 6, 5)))
    mean = x.double().view(3, 4, 6, 5).mean(0)
    cells = [(r, c) for r in range(0, 4, 2) for c in range(0, 6, 2)]
    wanted = [torch.cat([mean[r, c], mean[r, c + 1], mean[r + 1, c], mean[r + 1, c + 1]]) for r, c in cells]
    return relative(merge(x, ((3, 4, 6),)), torch.stack(wanted))


def sizes(dtype: torch.dtype) -> float:
    """Pictures whose size is not the released procedure's (those apart that its padding would take past the limit)."""
    draw, wrong = np.random.default_rng(0), 0
    for width, height in draw.integers(1, 9000, (400, 2)).tolist():
        scale = min(1.0, (65536 / (max(1, width // 14) * max(1, height // 14))) ** 0.5, 7168 / width, 7168 / height)
        new = [min(max(1, int(side * scale)), 7168) for side in (width, height)]
        grid = [-(-side // 28) * 2 for side in new]
        found = fit(width, height, PictureRules())
        same = [found.width, found.height, found.grid_w, found.grid_h, found.tokens] == [
            *new,
            *grid,
            grid[0] * grid[1] // 4,
        ]
        wrong += grid[0] * grid[1] <= 65536 and not same
    return float(wrong)


def clips(dtype: torch.dtype) -> float:
    """Clips whose frames, sizes, chunks or timestamps are not the procedure's."""
    draw, wrong = np.random.default_rng(1), 0
    for frames, rate, width in zip(*(draw.integers(1, top, 60).tolist() for top in (4000, 61, 900)), strict=True):
        clip = Video(media="v0.webm", width=width, height=120, mime="", frames=frames, fps=float(rate))
        found, count = plan(clip, PictureRules()), max(round(frames * min(8, rate) / rate), 1)
        count = min(count, 2560, frames)
        chunks = [min(4, count - at) for at in range(0, count, 4)]
        firsts = [found.places[at] * 1000 // rate for at in range(0, count, 4)]
        clock = [f"{timedelta(seconds=ms // 1000)!s:0>8}.{ms % 1000:03}" for ms in firsts]
        limit = min(655360 // count, 16384)
        same = [t for t, _, _ in found.grids] == chunks and list(found.timestamps) == clock
        wrong += not (same and found.fit == fit(width, 120, PictureRules(patch_limit=limit)))
    return float(wrong)


def _encoded(picture: Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _pixels(payload: bytes) -> np.ndarray:
    """Patches put back, in −1 … 1: [height, width, channel]."""
    found = load_patches(payload, PictureRules())
    _, rows, columns = found.grid
    return (
        found.patches_NC.view(rows, columns, 3, 14, 14)
        .permute(0, 3, 1, 4, 2)
        .reshape(rows * 14, -1, 3)
        .double()
        .numpy()
    )


def padding(dtype: torch.dtype) -> float:
    """Largest difference from (x / 255 − 0.5) / 0.5 inside and −1 to the right and below."""
    pixels = np.random.default_rng(2).integers(0, 256, (37, 61, 3), dtype=np.uint8)
    wanted = np.full((56, 84, 3), -1.0)
    wanted[:37, :61] = (pixels / 255 - 0.5) / 0.5
    return float(np.abs(_pixels(_encoded(Image.fromarray(pixels))) - wanted).max())


def chessboard(dtype: torch.dtype) -> float:
    """Largest difference, in grey levels, of a half transparent picture over squares of 8 pixels, 255 and 180."""
    pixels = np.zeros((56, 56, 4), np.uint8)
    pixels[..., 0], pixels[..., 3] = 200, np.arange(56)[None] * 4
    share = pixels[..., 3:] / 255
    board = np.array([[180 if (y // 8 + x // 8) % 2 else 255 for x in range(56)] for y in range(56)])[..., None]
    wanted = pixels[..., :3] * share + board * (1 - share)
    return float(np.abs((_pixels(_encoded(Image.fromarray(pixels))) + 1) * 127.5 - wanted).max())
