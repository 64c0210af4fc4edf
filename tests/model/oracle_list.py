"""The oracle list: a line a formula, how its error is measured, its bounds, and the tests that hold it besides.

    python tests/model/oracle_list.py docs/oracles.md

measures all of them and writes the page; `test_oracles.py` holds the bounds, the page, and the tests that it names.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from oracle_measures import (
    attnres_depth,
    chessboard,
    clips,
    context,
    experts_loop,
    four_taps,
    frames,
    future,
    heads,
    kda_chunks,
    mean,
    mla_softmax,
    norm_and_gate,
    packed,
    padding,
    quantile_bins,
    situ,
    sizes,
    table,
    totals,
    tower_packed,
    two_phases,
)

Measure = Callable[[torch.dtype], float]
FP64 = 1e-9


@dataclass(frozen=True)
class Oracle:
    """One line. `measure` gives the error at a dtype (None: only its tests speak); `tests` are what else holds it."""

    line: str
    measure: Measure | None
    tests: Sequence[str]
    bf16: float = 0.02
    fp64: float = FP64
    unit: str = ""


def _parts(pair: Callable[[torch.dtype], tuple[float, float]]) -> tuple[Measure, Measure]:
    return lambda dtype: pair(dtype)[0], lambda dtype: pair(dtype)[1]


KERNELS, MODEL, LOADING = "tests/kernels", "tests/model", "tests/pipelines/train/loading"


def _twice(
    line: str, pair: Callable[[torch.dtype], tuple[float, float]], tests: Sequence[str], **more: float
) -> list[Oracle]:
    forwards, backwards = _parts(pair)
    return [Oracle(line, forwards, tests, **more), Oracle(f"{line}: gradients", backwards, tests, **more)]


ORACLES = [
    *_twice("KDA by chunks = the recurrence", kda_chunks, [
        f"{KERNELS}/test_kda.py::test_any_layout_equals_the_recurrence",
        f"{KERNELS}/test_triton_kda.py::test_ragged_documents_equal_the_recurrence",
    ]),
    Oracle("an edit moves no earlier bit, at every offset of a tile", future, [
        f"{KERNELS}/test_kda_causality.py::test_editing_a_token_leaves_earlier_outputs_bit_equal",
        f"{MODEL}/test_causality.py::test_an_edit_leaves_every_earlier_row_bit_for_bit",
    ], 0, 0, "entries"),
    Oracle("packed = each document alone (mixers)", packed, [
        f"{MODEL}/test_packing.py::test_packed_equals_unpacked_forwards_and_backwards",
        f"{MODEL}/test_parity.py::test_decoded_and_packed_as_passed_over_alone",
    ]),
    Oracle("decoded = passed over whole; kernels = reference (whole models)", None, [
        f"{MODEL}/test_parity.py::test_decoded_and_packed_as_passed_over_alone",
        f"{MODEL}/test_parity.py::test_in_bf16_with_routing_forced_no_way_is_worse_than_bf16_is",
        f"{MODEL}/test_parity.py::test_kernels_as_the_reference_in_the_interpreter",
        f"{MODEL}/test_parity.py::test_kernels_as_the_reference_in_bf16_on_a_gpu",
        f"{MODEL}/test_decode.py::test_documents_that_leave_change_nothing_for_the_others",
    ]),
    Oracle("a row in pieces (context parallel) = the row", context, [
        f"{KERNELS}/test_segments.py::test_pieces_and_folds_equal_the_whole_document_both_ways",
        f"{KERNELS}/test_context.py::test_shares_of_a_row_equal_the_row",
    ]),
    *_twice("MLA with fp32 output = dense softmax", mla_softmax, [
        f"{KERNELS}/test_mla.py::test_any_layout_equals_dense_softmax",
    ]),
    *_twice("AttnRes source by source = softmax over depth", attnres_depth, [
        f"{KERNELS}/test_attnres.py::test_outputs_and_gradients_equal_the_definition",
    ]),
    Oracle("AttnRes in two phases = naive", two_phases, [
        f"{KERNELS}/test_attnres.py::test_two_phases_of_decoding_equal_the_definition",
        f"{KERNELS}/test_attnres.py::test_two_phases_equal_one",
    ], fp64=1e-12),
    Oracle("AttnRes of a zero query = the mean", mean, [
        f"{MODEL}/test_attn_res_flow.py::test_at_the_start_every_read_is_the_mean_of_its_sources",
    ]),
    Oracle("the bank of 93 layers in blocks of 12", None, [
        f"{MODEL}/test_attn_res_flow.py::test_k3_reads_nine_sources_at_the_output_and_blocks_sum_their_sublayers",
    ]),
    Oracle("quantile by histogram = exact quantile", quantile_bins, [
        f"{KERNELS}/test_quantile.py::test_the_histogram_is_within_a_bin_of_the_exact_quantile",
    ], 1, 1, "bins"),
    Oracle("balance counts: any sharding, micro-batches, recomputation, evaluation", None, [
        f"{KERNELS}/test_quantile.py::test_counts_of_any_split_add_to_the_whole_bit_for_bit",
        f"{MODEL}/test_balance.py::test_micro_batches_add_up_to_the_whole_step",
        f"{MODEL}/test_balance.py::test_recomputation_counts_once_and_gives_the_same_gradients",
        f"{MODEL}/test_balance.py::test_evaluation_counts_nothing",
    ]),
    *_twice("SiTU-GLU = its formula under autograd", situ, [
        f"{KERNELS}/test_moe.py::test_situ_equals_its_definition_and_is_bounded",
    ]),
    *_twice("experts and their shares = one by one under autograd", experts_loop, [
        f"{KERNELS}/test_moe.py::test_experts_equal_the_loop",
    ]),
    *_twice("output norm with gate = RMSNorm · σ(gate)", norm_and_gate, [
        f"{MODEL}/test_layers.py::test_kda_is_its_recurrence",
    ]),
    *_twice("short convolution = four shifted products", four_taps, [
        f"{KERNELS}/test_short_conv.py::test_any_layout_equals_the_definition",
    ]),
    Oracle("Newton–Schulz a head = a loop over heads", heads, [
        f"{MODEL}/optim/test_newton_schulz.py::test_blocks_in_a_batch_equal_a_loop_over_them",
        f"{MODEL}/optim/test_muon.py::test_each_block_moves_as_if_it_were_alone",
    ], 0.05),
    Oracle("parameter totals of K3, its tower (401 214 464), its projector (46 144 512)", totals, [
        f"{MODEL}/test_sizes.py::test_k3_counts_to_the_unit",
    ], 0, 0, "parameters"),
    Oracle("tower: packed pictures and clips = each alone", tower_packed, [
        "tests/vision/test_moonvit.py::test_packed_equals_one_by_one_forwards_and_backwards",
    ], 0.03),
    Oracle("tower: resized position table = torch's interpolate", table, [
        "tests/vision/test_moonvit.py::test_the_position_table_keeps_its_size_and_resizes_by_half_pixels",
    ]),
    Oracle("tower: mean over a chunk's frames, 2×2 merge", frames, [
        "tests/vision/test_moonvit.py::test_merge_puts_neighbours_side_by_side",
        "tests/vision/test_moonvit.py::test_frames_of_a_chunk_see_each_other_and_pictures_do_not",
    ]),
    Oracle("pictures: sizes", sizes, [
        "tests/data/test_patches.py::test_never_upscales_and_holds_every_limit",
        "tests/vision/test_preprocess.py::test_large_pictures_shrink_to_the_rules",
    ], 0, 0, "pictures"),
    Oracle("pictures: normalised, padded right and below", padding, [
        "tests/vision/test_preprocess.py::test_small_pictures_keep_every_pixel_and_pad_right_and_below",
    ], 1e-6, 1e-6, "absolute"),
    Oracle("pictures: transparency over a chessboard", chessboard, [
        "tests/vision/test_preprocess.py::test_transparency_shows_the_chessboard_at_the_resized_scale",
    ], 0.51, 0.51, "grey levels"),
    Oracle("clips: frames, budgets, chunks of four, timestamps", clips, [
        "tests/data/video/test_plan.py::test_the_released_procedure_is_followed",
        "tests/data/video/test_plan.py::test_timestamps_are_hours_minutes_seconds_and_thousandths",
    ], 0, 0, "clips"),
    Oracle("the loader goes on bit for bit", None, [
        f"{LOADING}/test_skipped.py::test_fifty_steps_after_a_resume_are_bit_equal",
        "tests/curriculum/test_plan.py::test_resume_gives_the_same_rows",
    ]),
]  # fmt: skip

HEAD = """# The oracle list

Each formula beside a slow, independent form of it, and how far the two are apart: ‖found − wanted‖ / ‖wanted‖ where no
unit is named, the bound in parentheses. The slow form runs in fp64 on the very numbers that the fast one is given.
bf16: operands in bf16 on the PyTorch path; the Triton kernels' errors stand in [benchmarks.md](benchmarks.md).
Written by `python tests/model/oracle_list.py docs/oracles.md`; `tests/model/test_oracles.py` holds every bound and
this page.

| oracle | fp64 | bf16 | held by |
|---|---|---|---|
"""


def row(oracle: Oracle, fp64: float | None, bf16: float | None) -> str:
    cells = [oracle.line]
    for error, bound in ((fp64, oracle.fp64), (bf16, oracle.bf16)):
        told = "by its tests" if error is None else f"{error:.1e} (≤ {bound:g})".replace("0.0e+00", "0")
        cells.append(f"{told}{' ' + oracle.unit if oracle.unit and error is not None else ''}")
    cells.append("<br>".join(f"`{test}`" for test in oracle.tests))
    return f"| {' | '.join(cells)} |"


def page() -> str:
    rows = []
    for oracle in ORACLES:
        errors = [oracle.measure(dtype) if oracle.measure else None for dtype in (torch.float64, torch.bfloat16)]
        rows.append(row(oracle, *errors))
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
