"""The command line: parse, call, print. Each command group lives in `trivium.commands`."""

import errno
import os
import sys

import typer

from trivium import __version__
from trivium.commands import build, curriculum, demo, doctor, inputs, model, shards, tokenizer, train
from trivium.console import err
from trivium.errors import TriviumError

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


for group in (build, shards, tokenizer, curriculum, train, model, inputs, doctor, demo):
    group.register(app)


def main() -> None:
    """Runs the command line; a TriviumError becomes one message on standard error and its exit code."""
    try:
        app()
    except TriviumError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted; the same command run again goes on or starts anew, nothing half-written is left", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        place = f" at {error.filename}" if error.filename else ""
        _fail(f"no room left to write{place} ({error.strerror}); free some space or give another --out", 1)


def _fail(message: str, code: int) -> None:
    err.print("[bold red]error:[/] ", end="")
    err.print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
