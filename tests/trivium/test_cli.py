"""What a user meets at the edge: exit codes, messages, speed; the real program, in its own process."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trivium.console import emit_json
from trivium.errors import UsageError
from trivium.needs import cure

ROOT = Path(__file__).resolve().parents[2]


def trivium(*arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "trivium", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def python(code: str, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


# The real entry point with one more command, which does what a command of ours might meet.
WITH_COMMAND = """
import sys
from trivium import cli
{imports}
@cli.app.command("act")
def act() -> None:
    {body}
sys.argv = ["trivium", "act"]
cli.main()
"""


def acting(body: str, imports: str = "", **options: object) -> "subprocess.CompletedProcess[str]":
    return python(WITH_COMMAND.format(body=body, imports=imports), **options)


def test_version_and_help() -> None:
    done = trivium("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "trivium 0.1.0\n", "")
    done = trivium("--help")
    assert done.returncode == 0
    for name in ("build", "shards", "tokenizer", "curriculum", "train", "model", "inputs", "doctor", "demo"):
        assert f" {name} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["doctr"], "error: no such command 'doctr'; did you mean 'doctor'?\n"),
        (["inputs", "ftch"], "error: no such command 'ftch'; did you mean 'fetch'?\n"),
        (["doctor", "--jsn"], "error: no such option: --jsn (Possible options: --json); see `trivium doctor --help`\n"),
        (["inputs", "fetch"], "error: missing argument 'names'; see `trivium inputs fetch --help`\n"),
        (["build", "x.yaml"], "error: missing option '--out'; see `trivium build --help`\n"),
        (["curriculum", "check"], "error: missing argument 'SCHEDULE'; see `trivium curriculum check --help`\n"),
        (["curriculum", "rows", "x", "--count", "0"], "error: invalid value for '--count': "),
        (["inputs", "fetch", "gitdoc"], "error: no input is called 'gitdoc'; did you mean 'git-doc'?"),
        (["inputs", "list", "--list", "/nowhere.yaml"], "error: /nowhere.yaml: can't be read"),
    ],
)
def test_wrong_usage_ends_with_2_and_the_nearest_name(arguments: list[str], message: str) -> None:
    done = trivium(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["doctor", "--json", "--no"], 2),
        (["inputs", "list", "--list", "/nowhere.yaml", "--json"], 2),
        (["inputs", "fetch", "gitdoc", "--json"], 2),
    ],
)
def test_an_error_is_one_json_value_too_where_json_was_asked_for(arguments: list[str], code: int) -> None:
    done = trivium(*arguments)
    assert done.returncode == code
    message = done.stderr.removeprefix("error: ").removesuffix("\n")
    assert json.loads(done.stdout) == {"error": {"message": message, "exit_code": code}}


def test_facts_that_were_printed_stay_the_only_json_value() -> None:
    body = "emit_json({'a': 1}); raise TriviumError('late')"
    imports = "from trivium.console import emit_json; from trivium.errors import TriviumError"
    code = WITH_COMMAND.format(body=body, imports=imports).replace('"act"]', '"act", "--", "--json"]')
    code = code.replace("def act() ->", "def act(more: list[str]) ->")
    assert json.loads(python(code).stdout) == {"a": 1}
    code = code.replace('"--", "--json"', '"--json"').replace("more: list[str]", "json: bool = False")
    done = python(code)
    assert json.loads(done.stdout) == {"a": 1}
    assert (done.returncode, done.stderr) == (1, "error: late\n")


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["shards", "ls"], "Usage: trivium shards ls [OPTIONS] PATH… "),
        (["build"], "Usage: trivium build [OPTIONS] RECIPE.yaml [-- BEAM OPTIONS] "),
        (["curriculum", "diff"], "Usage: trivium curriculum diff [OPTIONS] A B "),
    ],
)
def test_a_usage_line_names_arguments_plainly(arguments: list[str], usage: str) -> None:
    assert usage in trivium(*arguments, "--help").stdout


def test_a_message_is_printed_as_it_is() -> None:
    message = "job.yaml:3: stages[0]: [red]found[/] " + "x" * 300
    done = acting(f"raise UsageError({message!r})", "from trivium.errors import UsageError")
    assert done.returncode == UsageError.exit_code == 2
    assert done.stderr == f"error: {message}\n"


@pytest.mark.parametrize("error", ["TriviumError", "InputError", "ShardError", "MissingDependencyError"])
def test_every_error_ends_with_its_own_code(error: str) -> None:
    import trivium.errors

    done = acting(f"raise {error}('what is wrong')", f"from trivium.errors import {error}")
    assert (done.returncode, done.stderr) == (getattr(trivium.errors, error).exit_code, "error: what is wrong\n")


def test_our_own_bug_keeps_its_traceback() -> None:
    done = acting("raise KeyError('bug')")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_file_size_limit_reads_as_a_full_disk(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = acting(
        f"Path({str(tmp_path / 'big')!r}).write_bytes(bytes(5000))", "from pathlib import Path", preexec_fn=limit
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: no room left to write (File too large); free some space")


def test_a_full_standard_output_is_one_message() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "trivium", "inputs", "list", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no room left to write")
    assert done.stderr.count("\n") == 1


def test_a_place_where_writing_is_refused_is_one_message() -> None:
    done = acting("raise PermissionError(13, 'Permission denied', '/somewhere/out')")
    assert done.returncode == 1
    assert done.stderr.startswith("error: not allowed at /somewhere/out (Permission denied); change its permissions")


def test_the_list_of_inputs_breaks_no_word_at_80_columns() -> None:
    facts = json.loads(trivium("inputs", "list", "--json").stdout)["inputs"]
    shown = trivium("inputs", "list", env={**os.environ, "COLUMNS": "80"}).stdout
    assert max(map(len, shown.splitlines()[:-1])) <= 80
    words = set(shown.split())
    for name, spec in facts.items():
        assert {name, *f"{spec['about']} ({spec['license']})".split()} <= words


def test_a_closed_pipe_ends_silently() -> None:
    command = [sys.executable, "-m", "trivium", "inputs", "list", "--json"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_an_absent_package_names_the_command_that_brings_it() -> None:
    block = "import sys; sys.modules['apache_beam'] = None"
    done = acting("import apache_beam", block)
    assert done.returncode == 1
    said = f"error: the package apache-beam is not installed and this command needs it; run: {cure('build')}\n"
    assert done.stderr == said
    done = acting("import av", "import sys; sys.modules['av'] = None")
    assert done.stderr.endswith(f"run: {cure('video')}\n")
    done = acting("import no_such_module_of_ours")
    assert "Traceback" in done.stderr


def test_ctrl_c_is_one_message_and_130() -> None:
    # A shell that starts the tests in its background has them, and what they start, ignore SIGINT.
    heard = "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = WITH_COMMAND.format(imports=heard, body="print('ready', flush=True); time.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=30)
    assert run.returncode == 130
    assert stderr.startswith("error: interrupted;")
    assert stderr.count("\n") == 1


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, trivium.cli; print([m for m in %r if m in sys.modules])"
    heavy = ["torch", "numpy", "apache_beam", "matplotlib", "pandas", "yaml", "PIL", "asyncio", "trivium.pipelines"]
    done = python(code % heavy)
    assert done.stdout == "[]\n"


def test_another_python_is_refused_by_name(tmp_path: Path) -> None:
    code = "import sys; sys.version_info = (3, 10, 1); import runpy; runpy.run_module('trivium', run_name='__main__')"
    done = python(code)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Trivium needs Python 3.11 or 3.12; this is ")


def test_a_bare_python_says_what_is_missing(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-S", "-m", "trivium", "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the package typer is not installed")
    assert f"-m pip install -c {ROOT}/constraints.txt -e {ROOT}\n" in done.stderr


def test_json_is_one_value_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"a": (1, 2.5, None), "ü": "ß"})
    assert json.loads(capsys.readouterr().out) == {"a": [1, 2.5, None], "ü": "ß"}
