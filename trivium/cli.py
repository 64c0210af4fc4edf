"""The command line: parse, call, print. Each command group lives in `trivium.commands`."""

import errno
import os
import sys

import typer

from trivium import __version__
from trivium.commands import build, curriculum, demo, doctor, inputs, model, replay, shards, tokenizer, train
from trivium.console import err
from trivium.errors import TriviumError

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)

app = typer.Typer(
    name="trivium",
    help="From raw files to a trained multimodal base model of the Kimi K3 family.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"trivium {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


for group in (build, shards, tokenizer, curriculum, train, replay, model, inputs, doctor, demo):
    group.register(app)


def main() -> None:
    """Runs the command line; a user's mistake becomes one message on standard error and its exit code."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not as noise when the interpreter ends
    except TriviumError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into this
            _interrupted()
        raise
    except ModuleNotFoundError as error:
        _fail(_absent(error), 1)
    except OSError as error:
        _fail(_refused(error), 1)


def _interrupted() -> None:
    _fail("interrupted; the same command run again goes on or starts anew, nothing half-written is left", INTERRUPTED)


def _absent(error: ModuleNotFoundError) -> str:
    """What to say of a package that is not installed. Raises the error again when it is none that we know."""
    from trivium.needs import cure, extra_of, package_of

    package = package_of(error.name or "")
    extra = extra_of(package)
    if extra is None:
        raise error
    return f"the package {package} is not installed and this command needs it; run: {cure(extra)}"


def _refused(error: OSError) -> str:
    """What to say of a full disk, a place where we may not write, a closed pipe. Raises other errors again."""
    place = f" at {error.filename}" if error.filename else ""
    if error.errno == errno.EPIPE:
        _silence_stdout()
        sys.exit(1)
    if error.errno in _NO_ROOM:
        _silence_stdout()
        return f"no room left to write{place} ({error.strerror}); free some space or give another --out"
    if error.errno in _NOT_ALLOWED:
        return f"not allowed{place} ({error.strerror}); change its permissions or give another place"
    raise error


def _silence_stdout() -> None:
    """What is left in the buffer can't be written; the interpreter would try again and complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    err.print("[bold red]error:[/] ", end="")
    err.print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
