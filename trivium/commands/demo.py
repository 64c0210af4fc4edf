"""`trivium demo`: the whole path on real files."""

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds `trivium demo`."""

    @app.command()
    def demo(
        out: Annotated[Path, typer.Option(help="Folder for everything that the demo makes.")] = Path("out/demo"),
        fresh: Annotated[bool, typer.Option("--fresh", help="Run every step again.")] = False,
    ) -> None:
        """Real files to a trained model on one CPU: build, tokenize, inspect, schedule, train, sample."""
        from trivium.pipelines.demo.runner import run_demo

        run_demo(out, fresh=fresh)
