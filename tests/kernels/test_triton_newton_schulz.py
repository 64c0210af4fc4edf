"""Newton–Schulz's kernels: in bf16 on a GPU, in the interpreter on small fp32 blocks, compiled for Hopper anywhere."""

import json
import os
import subprocess
import sys

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.newton_schulz import MOST_ROWS, STEPS, newton_schulz_reference, orthogonalize, triton_gram
from trivium.kernels.newton_schulz.torch_newton_schulz import by_torch
from trivium.kernels.newton_schulz.triton_gram import by_gram

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE = "cuda" if GPU else "cpu"
TOLERANCE = 8e-3 if GPU else 1e-4
SHAPES = [(1, 1, 1), (0, 8, 9), (1, 16, 16), (3, 5, 70), (5, 17, 130), (2, 24, 33)]
if GPU:
    SHAPES += [(1, 64, 7168), (96, 128, 1024), (7, 128, 7168), (3, 100, 1030), (300, 32, 256), (4, 128, 128)]


@pytest.fixture(autouse=True)
def turns(monkeypatch):
    """Programs of the chain take several blocks each."""
    if not GPU:
        monkeypatch.setattr(triton_gram, "PROGRAMS", 2)


def draw(make, *shape):
    return make(*shape, dtype=torch.float32).detach().to(DEVICE)


def error(found, expected):
    assert found.shape == expected.shape
    assert found.isfinite().all()
    return float(torch.linalg.norm(found.double() - expected) / torch.linalg.norm(expected).clamp(min=1e-30))


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_equal_the_definition(make, shape):
    x = draw(make, *shape)
    kept = x.clone()
    assert error(by_gram(x, STEPS, GPU), newton_schulz_reference(x.double())) < TOLERANCE
    assert torch.equal(x, kept)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")  # NumPy's, interpreted
def test_a_block_whose_norm_fp32_cannot_hold_is_nan_alone(make):
    block = draw(make, 5, 33)
    sizes = 1, 1e25, 2.5e18, 3e17  # of the third each row's square fits, their sum does not
    found = by_gram(torch.stack([block * size for size in sizes]), STEPS, GPU)
    assert found.isnan().flatten(1).all(1).tolist() == [False, True, True, False]
    assert found[0].isfinite().all()


@pytest.mark.parametrize("shape", [SHAPES[3], SHAPES[-1]])
def test_zero_stays_zero_and_each_block_has_its_own_size(make, shape):
    x = torch.stack(
        [torch.zeros(shape[1:], device=DEVICE), *(draw(make, *shape[1:]) * size for size in (1e-3, 1, 1e5))]
    )
    found = by_gram(x, STEPS, GPU)
    assert torch.equal(found[0], torch.zeros_like(found[0]))
    assert error(found, newton_schulz_reference(x.double())) < (3e-2 if GPU else TOLERANCE)


@pytest.mark.parametrize("shape", [(5, 17, 130)] + ([(9, 128, 2000), (300, 100, 513)] if GPU else []))
def test_a_block_does_not_depend_on_its_batch_to_the_bit(make, shape):
    x = draw(make, *shape)
    found = by_gram(x, STEPS, GPU)
    assert torch.equal(found, torch.cat([by_gram(part, STEPS, GPU) for part in x.split([1, len(x) - 1])]))
    sick = x.clone()
    sick[0] = float("nan")
    assert torch.equal(by_gram(sick, STEPS, GPU)[1:], found[1:]), "a neighbour's NaN"


def test_what_lies_between_the_blocks_is_not_read(make):
    """Blocks as a view of a larger tensor full of NaN, wide and turned."""
    for rows, columns in ((5, 70), (70, 5), (24, 33)):
        wide = torch.full((3, rows + 3, columns + 5), float("nan"), device=DEVICE)
        x = wide[:, 1 : rows + 1, 2 : columns + 2]
        x.copy_(draw(make, 3, rows, columns))
        x = x if rows < columns else x.mT
        assert error(by_gram(x, STEPS, GPU), newton_schulz_reference(x.double())) < TOLERANCE


@pytest.mark.parametrize("steps", [1, 2])
def test_other_numbers_of_steps(make, steps):
    x = draw(make, 2, 24, 33)
    assert error(by_gram(x, steps, GPU), newton_schulz_reference(x.double(), steps)) < TOLERANCE


@pytest.mark.gpu
@pytest.mark.parametrize("condition", [1e2, 1e4])
def test_badly_conditioned_blocks_end_nearer_than_by_the_plain_form(make, condition):
    left, _, right = torch.linalg.svd(make(128, 4096).detach(), full_matrices=False)
    x = (left @ torch.diag(condition ** -torch.linspace(0, 1, 128, dtype=torch.float64)) @ right)[None].cuda()
    exact, rounded = newton_schulz_reference(x), newton_schulz_reference(x.bfloat16().double())
    found = by_gram(x.float(), STEPS, half=True)
    assert error(found, rounded) < 1e-2
    assert error(found, exact) < error(by_torch(x.float(), STEPS), exact)
    assert torch.linalg.svdvals(found.double().cpu()).max() < 1.22


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(3, 100, 301), (2, 200, 301)])
def test_blocks_of_bf16(make, shape):
    """Of the kernels, and of the chain that takes the larger ones."""
    x = draw(make, *shape).bfloat16()
    found = orthogonalize(x)
    assert found.dtype == torch.bfloat16
    assert error(found, newton_schulz_reference(x.double())) < 3e-2


@pytest.mark.gpu
def test_the_operator_takes_this_path_on_a_gpu_for_blocks_that_fit(make):
    x = draw(make, 3, MOST_ROWS, 200)
    found = orthogonalize(x.mT)
    assert found.dtype == torch.float32
    assert torch.equal(found, by_gram(x, STEPS, half=True).mT)
    x = draw(make, 3, MOST_ROWS + 1, 200)
    assert torch.equal(orthogonalize(x), by_torch(x, STEPS))


COMPILED = """
import json
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compile_for
from trivium.kernels.newton_schulz import triton_gram

TYPES = {"x": "*fp32", "parts": "*fp32"}
WHOLE = {"M", "N", "S", "blocks"}


def made(function, constants):
    options = {name: constants.pop(name) for name in ("num_warps", "num_stages")}
    names = function.arg_names
    types = {x: "i32" if x in WHOLE else TYPES.get(x, "*bf16") for x in names}
    signature = {x: "constexpr" if x in constants else types[x] for x in names}
    at = {(i,): constants[x] for i, x in enumerate(names) if x in constants}
    aligned = {(i,): [["tt.divisibility", 16]] for i, x in enumerate(names) if signature[x][0] == "*" or x in "MN"}
    source = ASTSource(function, signature, at, aligned)
    found = compile_for(source, target=GPUTarget("cuda", 90, 32), options=options)
    return {"products": "wgmma.mma_async" in found.asm["ptx"], "shared": found.metadata.shared}


same, run, chained, options = triton_gram.shape(128, True)
for name, function, constants in (
    ("gram", triton_gram.gram, same | run | options),
    ("chain", triton_gram.chain, same | chained | {"STEPS": 5}),
    ("apply", triton_gram.apply, same | run | options),
):
    print(json.dumps({"name": name, **made(function, constants)}))
"""
PROGRAMS = {"gram": 2, "chain": 1, "apply": 1}  # a multiprocessor
KEYS = """
import json
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature
from trivium.kernels.newton_schulz.triton_gram import by_gram

backend, keys, shape = make_backend(GPUTarget("cuda", 90, 32)), {}, None


def look_up(self, *args, grid, warmup, **options):
    bind = create_function_from_signature(self.signature, self.params, backend)
    _, specialisation, options = bind(*args, **options)
    constants = [x for x in specialisation if x[0] == "constexpr"]
    types = [str(a.dtype) for a in args if hasattr(a, "dtype")]
    name = f"{self.__name__} {shape} {[str(c) for c in constants]} {types}"
    keys.setdefault(name, set()).add(str((specialisation, options)))


JITFunction.run = look_up
for shape in ((128, 1024), (20, 33)):
    for blocks in (1, 2, 16, 37, 300):
        by_gram(torch.empty(blocks, *shape), 5, half=True)
print(json.dumps({name: len(found) for name, found in keys.items()}))
"""


def script(text, folder):
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=400, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_they_compile_for_hopper(tmp_path):
    found = {line.pop("name"): line for line in script(COMPILED, tmp_path)}
    assert set(found) == set(PROGRAMS)
    for name, programs in PROGRAMS.items():
        assert found[name]["products"], name
        assert found[name]["shared"] * programs <= 227 * 1024, name


def test_no_kernel_has_a_second_key_for_another_number_of_blocks(tmp_path):
    (keys,) = script(KEYS, tmp_path)
    assert {name.split()[0] for name in keys} == {"gram", "chain", "apply"}
    assert {name for name, count in keys.items() if count > 1} == set()
