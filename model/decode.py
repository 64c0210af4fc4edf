"""Decoding from caches: KDA states, convolution tails, latent keys; pictures enter with the first tokens.

Odd: documents that are decoded together lie in rows whose number is a multiple of eight: matrix products on a CPU then
give a row the same bits whatever stands in the others, so documents that end and leave change nothing for the rest.
A document alone keeps one row. AttnRes mixes over depth, token by token: it needs no cache, and a block's queries read
its bank in one pass (arXiv 2603.15031, two phases).

B documents, R rows, S queries of a block, D width, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from trivium.errors import UsageError
from trivium.kernels.attnres import attnres_bank, attnres_join
from trivium.model.backbone import Backbone
from trivium.model.batch import Batch
from trivium.model.cache import LayerCache
from trivium.model.joint import JointModel
from trivium.model.layer import Pass

ROWS = 8  # whole eights give a row equal bits on AVX2 and AVX-512, in fp32 and fp64; other numbers don't


@dataclass(slots=True)
class DecodeState:
    """Documents so far: each one's length in tokens, the logits of its token to come, and the layers' caches.

    The model's weights must stay as they are while a state lives.
    """

    tokens_B: Tensor
    logits_BV: Tensor
    caches: list[LayerCache]
    row_B: Tensor  # where each document lies in the caches
    rows: int
    queries: list[Tensor]  # [S, D] a block; none without attention residuals
    fetch: bool  # experts are fetched token by token; decided once, since the other way rounds otherwise

    @property
    def documents(self) -> int:
        return self.tokens_B.shape[0]

    def keep(self, places: Sequence[int]) -> None:
        """Lets all documents go but those at `places` (rising). The others' logits stay bit for bit on a CPU.

        Rows of documents that left are given back eight at a time. Raises UsageError for places that don't exist.
        """
        if not places or sorted({*places}) != [*places] or not 0 <= places[0] <= places[-1] < self.documents:
            raise UsageError(f"keep {list(places)} of {self.documents} documents; give rising places, at least one")
        kept_B = torch.tensor([*places], device=self.row_B.device)
        self.tokens_B, self.logits_BV = self.tokens_B[kept_B], self.logits_BV[kept_B]
        self.row_B = self.row_B[kept_B]
        rows = _whole(len(places)) if self.rows > 1 else 1
        if rows < self.rows:
            self._take(_filled(self.row_B, rows))

    def _take(self, row_R: Tensor) -> None:
        """Rows of the caches in this order, those of the documents first."""
        for cache in self.caches:
            cache.take(row_R)
        self.rows = row_R.shape[0]
        self.row_B = torch.arange(self.documents, device=row_R.device)


@torch.no_grad()
def prefill(model: JointModel, batch: Batch) -> DecodeState:
    """Reads packed documents (pictures allowed) and keeps what their next tokens need.

    Raises UsageError when one of them is empty.
    """
    backbone, lengths_B = model.backbone, batch.cu_seqlens.diff()
    if not bool((lengths_B > 0).all()):
        raise UsageError(f"document {int(lengths_B.argmin())} of the batch is empty; give each at least one token")
    caches = backbone.new_cache()
    hidden = backbone(model.embed(batch), Pass.over(batch.cu_seqlens, batch.tokens), caches)
    logits_BV = backbone.head(hidden.normed_TD[batch.cu_seqlens[1:] - 1])
    documents = lengths_B.shape[0]
    row_B = torch.arange(documents, device=lengths_B.device)
    rows, moe = _whole(documents) if documents > 1 else 1, backbone.config.moe
    fetch = rows * moe.experts_per_token <= moe.experts
    state = DecodeState(lengths_B, logits_BV, caches, row_B, documents, _queries(backbone), fetch)
    if rows > documents:
        state._take(_filled(row_B, rows))
    return state


@torch.no_grad()
def step(model: JointModel, tokens: Sequence[int], state: DecodeState) -> Tensor:
    """Appends one token to each document, in place, and gives the logits of the next: [B, V].

    Raises UsageError for another number of tokens than documents.
    """
    if len(tokens) != state.documents:
        raise UsageError(f"{len(tokens)} tokens for {state.documents} documents; give one for each")
    device = state.row_B.device
    ids_R = torch.zeros(state.rows, dtype=torch.int64, device=device)
    ids_R[state.row_B] = torch.tensor([*tokens], device=device)
    shared = Pass(torch.arange(state.rows + 1, device=device), decoding=state.fetch)
    normed_RD = _advance(model.backbone, model.backbone.embed(ids_R), shared, state)
    state.tokens_B = state.tokens_B + 1
    state.logits_BV = model.backbone.head(normed_RD)[state.row_B]
    return state.logits_BV


def _whole(documents: int) -> int:
    return -(-documents // ROWS) * ROWS


def _filled(row_B: Tensor, rows: int) -> Tensor:
    """`rows` rows: those of the documents, then the first of them again."""
    return torch.cat([row_B, row_B[:1].expand(rows - row_B.shape[0])])


def _blocks(backbone: Backbone) -> list[range]:
    """The layers of each block of attention residuals."""
    opens = [number for number, layer in enumerate(backbone.layers) if layer.opens_block]
    return [range(*ends) for ends in pairwise([*opens, len(backbone.layers)])]


def _queries(backbone: Backbone) -> list[Tensor]:
    """query ⊙ gamma of every read of each block's bank, in order; the output's is the last block's last."""
    if backbone.config.residual != "attn_res":
        return []
    reads = [[read for n in block for read in (backbone.layers[n].attn_res, backbone.layers[n].mlp_res)]
             for block in _blocks(backbone)]  # fmt: skip
    reads[-1].append(backbone.out_res)
    return [torch.stack([(read.query * read.gamma) for read in block]) for block in reads]


def _advance(backbone: Backbone, x_RD: Tensor, shared: Pass, state: DecodeState) -> Tensor:
    """One token a row through all layers; with attention residuals as `Layer` computes it, in two phases."""
    if not state.queries:
        return backbone(x_RD, shared, state.caches).normed_TD
    eps, bank, sum_RD = backbone.config.norm_eps, [], x_RD
    for block, a_SD in zip(_blocks(backbone), state.queries, strict=True):
        bank.append(sum_RD)
        mixed_SRD, total_SR = attnres_bank(bank, a_SD, eps)
        reads = zip(mixed_SRD, total_SR, a_SD, strict=True)
        for number in block:
            layer = backbone.layers[number]
            mixed_RD, *rest = next(reads)
            opens = number == block[0]
            h_RD = mixed_RD.to(x_RD.dtype) if opens else attnres_join(sum_RD, mixed_RD, *rest, eps)
            a_RD, _ = layer.mix_tokens(layer.input_norm(h_RD), shared, state.caches[number])
            sum_RD = a_RD if opens else sum_RD + a_RD
            m_RD, _ = layer.mix_channels(layer.post_norm(attnres_join(sum_RD, *next(reads), eps)), shared)
            sum_RD = sum_RD + m_RD
    return backbone.norm(attnres_join(sum_RD, *next(reads), eps))
