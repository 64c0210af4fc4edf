"""What a log shows of a build, where no bar can be drawn."""

from trivium.commands.build_progress import EVERY, Lines


def test_a_log_hears_of_each_job_when_it_begins_meanwhile_and_when_it_ends(capsys) -> None:
    times = iter((0.0, 1.0, EVERY + 1, EVERY + 2, EVERY + 5))
    lines = Lines(lambda: next(times))
    lines("read", 0, 40, 0)
    assert capsys.readouterr().err == "read …\n"
    lines("read", 2, 40, 0)
    assert capsys.readouterr().err == ""
    lines("read", 39, 40, 3)
    assert capsys.readouterr().err == f"read: 39 of 40, 3 refused, {EVERY + 1:.0f} s\n"
    lines("dedup", 0, None, 0)
    lines("dedup", 5, None, 0)
    lines.end()
    told = capsys.readouterr().err.splitlines()
    assert told == [f"read: 39 of 40, 3 refused, {EVERY + 1:.0f} s, done", "dedup …", "dedup: 5, 3 s, done"]
