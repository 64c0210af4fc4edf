"""docs/tensors.md, made from the rules: `python -m trivium.model.interop.page > docs/tensors.md`."""

from collections.abc import Iterable

from trivium.model.interop.forms import FORMS
from trivium.model.interop.names import (
    BLOCK,
    LAYER,
    MOE,
    MTP,
    PROJECTOR,
    SOURCES,
    TEXT,
    TOWER,
    Placed,
    Rule,
    mtp_prefix,
    placed,
)
from trivium.model.presets import preset

_HEAD = """# Names and shapes of published tensors

`trivium model export` writes weights under these names, and `trivium model import` reads them. The tables are made from
the rules in `model/interop/names.py` by `python -m trivium.model.interop.page`; a test compares.

* Shapes are K3's, and K2's in the last table; N is the layer (from 0), E the expert, B the tower's block.
* A model without a tower has no `language_model.` before its names (K2, Kimi Linear).
* Experts: K3's release stores them packed (MXFP4: `weight_packed`, `weight_scale`). Ours stand under the unquantised
  names that converters give them (`w1`, `w3`, `w2`: gate, up, down). That is our choice; packed files are refused with
  that reason.
* `A_log` has {stored} numbers a layer in K3's release, of which the first {heads} count. Ours are padded with zeros so,
  in `k3` alone; an import refuses padding that is not zero.
* `e_score_correction_bias` is the balance bias; the AttnRes query of layer 0 is there although it decides nothing.
* The release has no MTP layer. Ours stands behind the last layer under DeepSeek-V3's names: our choice. Embedding,
  final norm and head are the model's own and not written a second time; `eh_proj` has the embedding's columns first.
* What a switch takes away is not there (`_res_` tensors under plain residuals, `routed_expert_*` without a latent); a
  low-rank KDA gate stands as Kimi Linear's `g_a_proj` and `g_b_proj`.
* bf16, but for the tensors marked fp32, which the release keeps so (506 tensors, 11,122,432 numbers); `--dtype fp32`
  keeps all in fp32. Optimizer state is not exported.
* K3 without MTP: {total:,} parameters, of them {tower:,} in the tower and {projector:,} in the projector.

Read on 2026-11-29:
"""

_RUN = """## From an export into a run

```
trivium model export RUN exported
trivium model import exported imported
trivium train RUN.yaml --out out/next --set weights=imported
```

`--dtype fp32` at the export keeps every bit. `weights` (all of the model) and `vision_init` (the tower alone, from a
run, a checkpoint, an import or published files) are keys of a run file too; given both, `vision_init` comes second and
the tower is its own. The run says before its first step what it took, and goes on with the same numbers only.

Where the folder has no config.json of an export, `--preset` or `--config RUN.yaml` says which model it is; `--set`
changes what either, or config.json, says (`--set backbone.mtp_layers=0` for weights without an MTP layer).

An import refuses, and then writes nothing:
* tensors that are missing, unknown, of another shape, or neither BF16 nor F32; packed experts; padding that counts
* NaN and infinite numbers, naming the first tensors that hold any (exit code 1; the others end with 2)
* a config.json that contradicts the configuration; pickles; files that are cut, or that disagree with their index

No tokenizer is exported, nor optimizer state: the run folder's `tokenizer.json` is the one that the weights were
trained with. A run compares the vocabulary's size with its corpora and can't see whether the tokens mean the same.
"""

_PEERS = """## Compared with other programs

`pip install -c constraints.txt -e .[interop]` brings transformers 5.24.0 and fla-core 0.6.0, and
`python -m pytest tests/model/interop` then compares (they are not part of `make setup`: some 20 s to install, 10 s to
import). The other programs compute in fp32 inside, so ours run in fp32 too; errors are the largest difference over the
largest number, on a CPU, 2026-11-29. Whole models are read by transformers' own loader, which finds no tensor missing,
unknown or misshaped; its Kimi Linear and DeepSeek-V3 classes are the peers.

| what | with | error |
|---|---|---|
| Kimi Linear and K2, whole, out of our files: layers, logits, gradients | transformers | 2.4e-6, 2.3e-6, 4.8e-6 |
| KDA gate (bounded and not) and recurrence, final state, gradients | FLA's naive forms | 2.6e-6, 4.5e-7, 3.5e-6 |
| K3's KDA layer: convolution, L2 norm, bounded gate, recurrence, gated norm | both, joined | 4.6e-7 |
| K3's gated MLA | transformers' attention and a gate | 2.0e-7 |
| router with bias (the same experts); LatentMoE with SwiGLU, routing free and forced | transformers | 9.4e-8; 3.3e-7 |
| attention residuals, gradients | FLA | 4.7e-7, 1.8e-6 |

What no other program here has (SiTU, quantile balancing, K3's tower) is held by our own references alone. Where the
programs differ: FLA's KDA layer has a low-rank output gate with a bias, K3's is full and has none; transformers' norms
inside MLA keep eps 1e-6 whatever the configuration says.
"""


def page() -> str:
    """The whole page."""
    k3, k2 = preset("k3"), preset("k2")
    table = placed(k3)
    counted = [one for one in table if not one.names[0].startswith(mtp_prefix(k3))]

    def total(prefix: str) -> int:
        return sum(one.numel for one in counted if one.names[0].startswith(prefix))

    head = _HEAD.format(
        stored=k3.backbone.kda.stored_decay_scales,
        heads=k3.backbone.kda.heads,
        total=total(""),
        tower=total("vision_tower."),
        projector=total("mm_projector."),
    )
    layer = "language_model.model.layers.N."
    parts = [
        head + "\n".join(f"* {name}: {where}" for name, where in SOURCES.items()),
        _table("Around the layers", "language_model.", "backbone.", TEXT, table),
        _table("A layer", layer, "backbone.layers.N.", LAYER, table),
        _table("Experts of K3", layer, "backbone.layers.N.", MOE["k3"], table),
        _table("MTP (layer 93)", "language_model.model.layers.93.", "backbone.mtp.", MTP, table),
        _table("Tower", "vision_tower.", "vision.", TOWER, table),
        _table("A block of the tower", "vision_tower.encoder.blocks.B.", "vision.blocks.B.", BLOCK, table),
        _table("Projector", "mm_projector.", "projector.", PROJECTOR, table),
        _table("Experts of K2", "model.layers.N.", "backbone.layers.N.", MOE["k2"], placed(k2)),
        "## Where shapes differ from ours\n\n" + "\n".join(f"* {form}: {text}" for form, text in FORMS.items()),
        _RUN.rstrip(),
        _PEERS.rstrip(),
    ]
    return "\n\n".join(parts) + "\n"


def _table(title: str, prefix: str, ours: str, rules: Iterable[Rule], table: Iterable[Placed]) -> str:
    shapes = {one.rule: one.shape for one in table}
    lines = [f"## {title}", "", f"`{prefix}…`, ours `{ours}…`", "", "| published | shape | ours | form | read in |"]
    lines.append("|---|---|---|---|---|")
    for rule in rules:
        shape = f"{list(shapes[rule])}" if rule in shapes else "(behind a switch)"
        name = rule.published.replace("{expert}", "E")
        form = rule.form + (", fp32" if rule.fp32 else "")
        lines.append(f"| `{name}` | {shape} | `{rule.ours}` | {form} | {rule.read} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
