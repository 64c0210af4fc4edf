"""Line files of the build's jobs: every line once, whatever is tried again."""

from collections import Counter

from trivium.pipelines.beam import parse_options, run_job
from trivium.pipelines.corpora.linefiles import Commit, WriteLines, lines, write


def bundle(folder, *given):
    """What one bundle sends through the shuffle."""
    worker = WriteLines(str(folder), "refs")
    worker.start_bundle()
    for line in given:
        worker.process(line)
    return [sent.value for sent in worker.finish_bundle()]


def stored(folder):
    return Counter(line for path in folder.glob("refs-*") for line in path.read_bytes().splitlines())


def test_a_retried_bundle_and_a_repeated_commit_write_no_line_twice(tmp_path):
    bundle(tmp_path, b"a", b"b")  # failed after its lines were written: nobody hears of it
    ((name, _),) = bundle(tmp_path, b"a", b"b")
    assert not stored(tmp_path)
    for _ in range(2):
        Commit().process((name, [None]))
    assert stored(tmp_path) == {b"a": 1, b"b": 1}
    assert bundle(tmp_path) == []


def test_lines_go_through_a_job_as_they_are(tmp_path):
    given = [b"x", b"", b"\xff\x00", b"x"]
    (tmp_path / "in").write_bytes(b"\n".join(given) + b"\n")

    def wire(pipeline):
        write(lines(pipeline, [tmp_path / "in"], "given"), tmp_path / "out", "refs")
        write(lines(pipeline, [], "none"), tmp_path / "out", "none")

    run_job("copy", wire, parse_options(["--direct_num_workers=1"]), logs=tmp_path / "logs")
    assert stored(tmp_path / "out") == Counter(given)
    assert not list((tmp_path / "out").glob("*none*"))


def test_each_bundle_is_a_key_of_its_own(tmp_path):
    """Else one worker of a cluster would get the names of all files of a job."""
    sent = [key for _ in range(3) for key, _ in bundle(tmp_path, b"a")]
    assert len(set(sent)) == 3
