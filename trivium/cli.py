"""The command line: parse, call, print. Each command group lives in `trivium.commands`."""

import errno
import os
import re
import sys
from typing import Any

import typer
from typer.core import TyperCommand

from trivium import __version__
from trivium.commands import (
    build,
    curriculum,
    demo,
    doctor,
    inputs,
    model,
    plan,
    quality,
    replay,
    sample,
    shards,
    tokenizer,
    train,
)
from trivium.console import emit_failure, err, printable
from trivium.errors import TriviumError

INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
WrongUsage: Any = typer.BadParameter.__base__  # typer's own class of all errors in what was typed
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


for group in (build, shards, tokenizer, curriculum, train, sample, replay, model, plan, quality, inputs, doctor, demo):
    group.register(app)


class _Command(TyperCommand):
    """A command whose usage line reads `PATH…`, where typer writes `{PATH…}...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [_usage_piece(piece) for piece in super().collect_usage_pieces(ctx)]


def _usage_piece(piece: str) -> str:
    many = piece.endswith("...")
    name = re.sub(r"^\{(.*)\}$", r"\1", piece.removesuffix("..."))
    return name + "…" if many and not name.endswith(("…", "]")) else name


def _dress(of: typer.Typer) -> None:
    for command in of.registered_commands:
        command.cls = _Command
    for group in of.registered_groups:
        if group.typer_instance is not None:
            _dress(group.typer_instance)


_dress(app)


def main() -> None:
    """Runs the command line; a user's mistake becomes one message on standard error and its exit code."""
    try:
        try:
            code = app(
                prog_name="trivium", standalone_mode=False
            )  # typer raises what it would print in a box of its own
        finally:
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not as noise when the interpreter ends
        if code == INTERRUPTED:  # typer turns Ctrl-C into this
            _interrupted()
        sys.exit(code if isinstance(code, int) else 0)
    except WrongUsage as error:
        _fail(_misused(error), error.exit_code)
    except TriviumError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _interrupted()
    except ModuleNotFoundError as error:
        _fail(_absent(error), 1)
    except OSError as error:
        _fail(_refused(error), 1)


def _interrupted() -> None:
    _fail("interrupted; the same command run again goes on or starts anew, nothing half-written is left", INTERRUPTED)


def _misused(error: Any) -> str:
    """What typer says of what was typed, in our form: what is wrong, then where the right way stands."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was shown
        sys.exit(error.exit_code)
    said = error.format_message().strip()
    said = said[:1].lower() + said[1:].rstrip(".").replace(". Did you mean", "; did you mean")
    context = getattr(error, "ctx", None)
    return said if said.endswith("?") or context is None else f"{said}; see `{context.command_path} --help`"


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


def _fail(said: str, code: int) -> None:
    message = printable(said)
    err.print("[bold red]error:[/] ", end="")
    err.print(message, markup=False, highlight=False, soft_wrap=True)
    typed = sys.argv[1:]
    if "--json" in typed[: typed.index("--") if "--" in typed else None]:
        emit_failure(message, code)
    sys.exit(code)
