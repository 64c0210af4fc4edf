"""What a log shows of a build, where no bar can be drawn."""

from trivium.commands.build_progress import EVERY, Lines


def test_a_log_hears_of_each_job_when_it_begins_meanwhile_and_when_it_ends(capsys) -> None:
    times = iter((0.0, 1.0, EVERY + 1, EVERY + 2, EVERY + 5))
    lines = Lines(lambda: next(times))
    lines("read", 0, 40, 0, "file")
    assert capsys.readouterr().err == "read …\n"
    lines("read", 2, 40, 0, "file")
    assert capsys.readouterr().err == ""
    lines("read", 39, 40, 3, "file")
    assert capsys.readouterr().err == f"read: 39 of 40 files, 3 records refused, {EVERY + 1:.0f} s\n"
    lines("dedup", 0, None, 0, "record")
    lines("dedup", 5, None, 2, "record")
    lines.end()
    told = capsys.readouterr().err.splitlines()
    ended = f"read: 39 of 40 files, 3 records refused, {EVERY + 1:.0f} s, done"
    assert told == [ended, "dedup …", "dedup: 5 records, 2 refused, 3 s, done"]
