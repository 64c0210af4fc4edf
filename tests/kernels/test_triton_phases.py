"""The two phases of Attention Residuals in Triton: bf16 and fp32 on a GPU, fp32 in the interpreter."""

import json
import os
import subprocess
import sys

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.attnres import attnres_bank, attnres_join, attnres_reference, merge, phase_one
from trivium.kernels.attnres.triton_phases import run_bank, run_join
from trivium.kernels.gated_norm import rms_norm_reference

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
DEVICE = "cuda" if GPU else "cpu"
EPS, NORM_EPS = 1e-5, 1e-3
BF16 = pytest.param(torch.bfloat16, 6e-3, marks=pytest.mark.gpu)  # of the result's rounding
DTYPES = pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 3e-6), BF16])
MODEL = pytest.param(9, 25, 70, 1792, marks=pytest.mark.gpu)
SHAPES = pytest.mark.parametrize(("N", "S", "B", "W"), [(1, 1, 1, 16), (3, 5, 19, 40), (2, 17, 2, 600), MODEL])


def drawn(make, N, S, B, W, dtype):
    """(bank, a running sum a query, queries, gammas, norm) on the device."""
    bank, own = make(N, B, W, dtype=dtype), make(S, B, W, dtype=dtype, scale=3.0)
    vectors = make(S, W, dtype=torch.float32, scale=W**-0.5), make(S, W, dtype=torch.float32, scale=0.1, shift=1)
    return [x.detach().to(DEVICE) for x in (bank, own, *vectors, make(W, dtype=torch.float32, scale=0.1, shift=1))]


def near(found, right, bound):
    assert found.shape == right.shape
    assert (found.double() - right).norm() <= bound * right.norm()


@DTYPES
@SHAPES
def test_a_bank_is_read_as_the_definition_reads_it(make, N, S, B, W, dtype, bound):
    bank, _, queries, gammas, _ = drawn(make, N, S, B, W, dtype)
    mixed, total = run_bank([*bank], queries * gammas, EPS)
    assert mixed.dtype == total.dtype == torch.float32
    a_SW = queries.double() * gammas.double()
    most, weights, weighted = phase_one(bank.double(), a_SW, torch.ones_like(a_SW), EPS)
    near(mixed, weighted / weights.unsqueeze(-1), 3e-6)
    assert (total - (most + weights.log())).abs().max() < 1e-5
    for s in range(S):
        near(mixed[s], attnres_reference(bank.double(), a_SW[s], torch.ones_like(a_SW[s]), EPS), 3e-6)


@DTYPES
@SHAPES
@pytest.mark.parametrize("norm", [False, True])
def test_both_phases_equal_the_definition(make, N, S, B, W, dtype, bound, norm):
    bank, own, queries, gammas, weight = drawn(make, N, S, B, W, dtype)
    a_SW = queries * gammas
    mixed, total = run_bank([*bank], a_SW, EPS)
    precise = phase_one(bank.double(), queries.double(), gammas.double(), EPS)
    for s in {0, S - 1}:
        found = run_join(own[s], mixed[s], total[s], a_SW[s], weight if norm else None, EPS, NORM_EPS)
        read = queries[s].double(), gammas[s].double()
        right = attnres_reference([*bank.double(), own[s].double()], *read, EPS)
        near(right, merge(*(x[s] for x in precise), own[s].double(), *read, EPS), 1e-12)
        assert found.dtype == dtype
        near(found, rms_norm_reference(right, weight.double(), NORM_EPS) if norm else right, bound)


@DTYPES
def test_a_rows_bits_do_not_depend_on_the_others(make, dtype, bound):
    """Rows leave, move and others come: in whole tiles of rows and in parts of one."""
    bank, own, queries, gammas, weight = drawn(make, 2, 2, 37, 40, dtype)
    a_SW = queries * gammas

    def read(rows):
        mixed, total = run_bank([x[rows] for x in bank], a_SW, EPS)
        joined = [run_join(own[s][rows], mixed[s], total[s], a_SW[s], weight, EPS, NORM_EPS) for s in range(2)]
        return mixed, total, torch.stack(joined)

    whole = read(list(range(37)))
    for rows in ([36, 5], [*range(20, 37), 0]):
        for found, right in zip(read(rows), whole, strict=True):
            assert torch.equal(found, right[:, rows])


def test_sources_of_two_dtypes_and_rows_that_lie_apart(make):
    bank, own, queries, _, _ = drawn(make, 3, 2, 4, 40, torch.float32)
    if GPU:  # the interpreter's products of bf16 are wrong
        rounded = [bank[0], bank[1].bfloat16(), bank[2]]
        whole = run_bank([x.float() for x in rounded], queries, EPS)
        for found, right in zip(run_bank(rounded, queries, EPS), whole, strict=True):
            near(found, right.double(), 3e-6)
    apart = [x.T.contiguous().T for x in bank]
    for found, right in zip(run_bank(apart, queries, EPS), run_bank([*bank], queries, EPS), strict=True):
        assert torch.equal(found, right)
    mixed, total = run_bank([*bank], queries, EPS)
    found = run_join(own[0].T.contiguous().T, mixed[0], total[0], queries[0], None, EPS, EPS)
    assert torch.equal(found, run_join(own[0], mixed[0], total[0], queries[0], None, EPS, EPS))


@DTYPES
def test_a_query_that_chooses_takes_its_source_and_nothing_overflows(make, dtype, bound):
    bank, own, *_ = drawn(make, 3, 1, 5, 40, dtype)
    a_SW = torch.full((1, 40), 1e4, device=DEVICE)
    mixed, total = run_bank([*bank], a_SW, EPS)
    right = attnres_reference(bank.double(), a_SW[0].double(), torch.ones_like(a_SW[0]), EPS)
    near(mixed[0], right, 3e-6)
    for sign in (1, -1):
        joined = run_join(sign * own[0].abs(), mixed[0], total[0], a_SW[0], None, EPS, EPS)
        near(joined, own[0].abs().double() if sign == 1 else right, bound)


def test_no_rows_give_no_rows(make):
    bank, own, queries, gammas, weight = drawn(make, 2, 3, 0, 40, torch.float32)
    mixed, total = run_bank([*bank], queries * gammas, EPS)
    assert mixed.shape == (3, 0, 40)
    assert run_join(own[0], mixed[0], total[0], queries[0], weight, EPS, NORM_EPS).shape == (0, 40)


COMPILE = """
import json
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile as compile_for
from trivium.kernels.attnres.triton_phases import MIXED, PIECE, ROWS, STEP, join, mix, products

SHAPE = {"N": 16, "S": 25, "Q": 32, "W": 8192, "P": 16, "P2": 16}
CASES = [(products, {"R": ROWS, "C": STEP, "STEPS": PIECE // STEP}, 4), (mix, {"C": MIXED}, 8),
         (join, {"NORM": True, "R": 1, "C": 8192}, 8)]
TYPES = {"B": "i32", "eps": "fp32", "norm_eps": "fp32", "own": "*bf16", "y": "*bf16", "sources": ("*bf16",) * 16}
for kernel, cut, warps in CASES:
    values = {**SHAPE, **cut}
    names = kernel.arg_names
    signature = {x: "constexpr" if x in values else TYPES.get(x, "*fp32") for x in names}
    constants = {(i,): values[x] for i, x in enumerate(names) if x in values}
    source = ASTSource(kernel, signature, constants, {})
    found = compile_for(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    print(json.dumps([found.metadata.shared, found.asm["ptx"].count("mma.sync")]))
"""


@pytest.mark.slow
def test_bf16_kernels_compile_for_hopper_within_its_shared_memory(tmp_path):
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], capture_output=True, text=True, timeout=400, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 3
    assert all(shared <= 227 * 1024 for shared, _ in found)
    assert found[0][1] > 0


@pytest.mark.gpu
def test_the_operators_take_this_path_on_a_gpu_unless_a_gradient_is_asked_for(make, waits, caplog):
    from trivium.kernels.dispatch import tell_again

    bank, own, queries, gammas, weight = drawn(make, 3, 5, 8, 64, torch.bfloat16)
    a_SW = queries * gammas
    for mode in ("default", "error"):  # the first pass compiles
        with waits(mode):
            mixed, total = attnres_bank([*bank], a_SW, EPS)
            attnres_join(own[0], mixed[0], total[0], a_SW[0], EPS, weight, NORM_EPS)
    tell_again()
    with caplog.at_level("INFO", logger="trivium.kernels.dispatch"):
        attnres_bank([*bank], a_SW, EPS)
        attnres_bank([*bank], a_SW.clone().requires_grad_(), EPS)
    assert ["Triton" in line for line in caplog.messages] == [True, False]
