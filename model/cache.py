"""What one document leaves behind for its next tokens: the state of a KDA layer, the latent keys of an MLA layer.

T tokens seen so far, H heads, K key width, V value width, C channels H·K, L latent width, R extra key dims.
"""

from dataclasses import dataclass

from torch import Tensor


@dataclass(slots=True)
class KDACache:
    """fp32 state and the last three inputs of each short convolution; empty until the first tokens have passed."""

    state_1HKV: Tensor | None = None
    tails: tuple[Tensor, Tensor, Tensor] | None = None  # q, k, v: [1, 3, C] each


@dataclass(slots=True)
class MLACache:
    """Normalised latents and the shared extra key dims of every token seen: L + R numbers a token."""

    latent_TL: Tensor | None = None
    extra_TR: Tensor | None = None

    @property
    def tokens(self) -> int:
        return 0 if self.latent_TL is None else self.latent_TL.shape[0]


LayerCache = KDACache | MLACache
