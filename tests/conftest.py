"""What every test runs under: one thread a worker, deterministic property tests."""

import os

# Two workers on two cores: more threads would only fight. Set before torch, numpy or tokenizers are imported, and
# inherited by every child process that a test starts.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["WDS_SECURE"] = "1"  # webdataset opens no pipes and runs no pickles
os.environ["COLUMNS"] = "160"  # rich tables don't depend on who looks
os.environ["LANGUAGE"] = "C"  # argparse looks for no translations of itself, which Beam makes it do all the time
if not os.path.exists("/dev/nvidiactl"):
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run on the CPU; read when triton is first imported

import gc  # noqa: E402 (after the environment)
import importlib.util  # noqa: E402
import multiprocessing  # noqa: E402
from pathlib import Path  # noqa: E402
from types import ModuleType  # noqa: E402

import pytest  # noqa: E402

gc.disable()  # while all that the tests need is imported: hundreds of thousands of objects, and none of them goes
# Tests that end processes fork them from one that has imported all this, once: it starts with the first such test.
multiprocessing.set_forkserver_preload(
    [
        "apache_beam.runners.portability.fn_api_runner.fn_runner",
        "torch.utils.tensorboard",
        "trivium.cli",
        "trivium.kernels.kda.context",
        "trivium.kernels.short_conv.context",
        "trivium.pipelines.corpora.driver",
        "trivium.pipelines.corpora.shuffles",
        "trivium.pipelines.corpora.writing",
        "trivium.pipelines.train.runner",
    ]
)

if importlib.util.find_spec("hypothesis"):  # a machine that tests kernels may go without; files of laws are skipped
    from hypothesis import HealthCheck, settings

    # The suite is the same every time: `ci` derives its examples from the test. `explore` looks for new ones.
    _QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]  # a loaded machine is no finding
    settings.register_profile("ci", derandomize=True, deadline=None, database=None, suppress_health_check=_QUIET)
    settings.register_profile("explore", deadline=None, max_examples=2000, suppress_health_check=_QUIET)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """pyproject.toml names a time-out; a machine without pytest-timeout must know the word."""
    if not importlib.util.find_spec("pytest_timeout"):
        parser.addini("timeout", "seconds a test may take; kept by pytest-timeout")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with long tests first, so that no worker begins one when the others are done; else nothing moves."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """The libraries and tests that are loaded now stay; the garbage collector need not look at them again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def damage() -> ModuleType:
    """`tests/damage.py`: ways to harm a real shard."""
    spec = importlib.util.spec_from_file_location("damage", Path(__file__).with_name("damage.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
