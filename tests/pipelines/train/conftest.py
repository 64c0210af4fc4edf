"""One tiny real corpus and one trained run a session; tests copy what they change."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the corpus builder beside this file
import corpus

sys.path.insert(0, str(Path(__file__).parent / "loading"))
import damage as damages


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder with run.yaml, schedule.yaml, tokenizer/ and corpora/; read only."""
    root = tmp_path_factory.mktemp("built")
    corpus.build(root)
    return root


@pytest.fixture
def place(built, tmp_path):
    """A copy of it that a test may change."""
    root = tmp_path / "place"
    shutil.copytree(built, root)
    return root


@pytest.fixture
def damage():
    """The helpers that damage shard sets for real."""
    return damages


@pytest.fixture(scope="session")
def prepared(built):
    from trivium.pipelines.train.config import load_run
    from trivium.pipelines.train.prepare import prepare

    return prepare(load_run(built / "run.yaml"), name="run.yaml", cache=None)


@pytest.fixture(scope="session")
def trained(built, tmp_path_factory):
    """The run folder of one short, complete run, and its facts."""
    from trivium.pipelines.train.runner import train

    out = tmp_path_factory.mktemp("trained") / "run"
    said: list[str] = []
    facts = train(built / "run.yaml", out, note=said.append)
    return out, facts, said


@pytest.fixture(scope="session")
def writer(trained):
    """What samples from that run's last checkpoint."""
    from trivium.pipelines.train.sample import load_writer

    writer = load_writer(trained[0])
    yield writer
    writer.close()


def pytest_collection_modifyitems(items):
    """Checkpoints are written by a thread: swapped filters must not make torch's remark an error."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning"))
