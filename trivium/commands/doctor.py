"""`trivium doctor`: what is installed, what is missing, the command that mends it."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trivium.examine import Report


def register(app: typer.Typer) -> None:
    """Adds `trivium doctor` to the command line."""
    app.command("doctor")(doctor)


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False) -> None:
    """Shows what is installed and what is missing, each with the command that mends it.

    Exit code 1 when something that Trivium can't do without is missing or broken.
    """
    from trivium.console import emit_json
    from trivium.examine import examine

    report = examine()
    if as_json:
        emit_json(report)
    else:
        _print(report)
    raise typer.Exit(0 if report.ok else 1)


def _print(report: "Report") -> None:
    from rich.table import Table
    from rich.text import Text

    from trivium.console import out

    colours = {"ok": "green", "partly": "yellow", "missing": "yellow", "broken": "red"}
    table = Table("what", "state", "found", "needed for")
    for check in report.checks:
        colour = "red" if check.required and check.state != "ok" else colours[check.state]
        table.add_row(check.name, Text(check.state, style=colour), Text(check.found), check.purpose)
    out.print(table)
    walls = Table("isolation of untrusted work", "holds", "seen")
    for layer in report.isolation:
        walls.add_row(
            layer.name, Text("yes" if layer.holds else "no", style="green" if layer.holds else "yellow"), layer.found
        )
    out.print(walls)
    machine = report.machine
    gpus = ", ".join(machine.gpus) or "no GPU"
    memory, disk = f"{machine.memory_gb:.1f} GB memory", f"{machine.disk_free_gb:.1f} GB free here"
    out.print(f"{machine.cores} cores, {memory}, {disk}, {gpus}", markup=False, highlight=False)
    out.print(f"python: {machine.python}", markup=False, highlight=False, soft_wrap=True)
    for check in report.checks:
        # One that is partly there lacks single packages: those, not the whole extra.
        lacking = [(package.name, package.cure) for package in check.packages if package.cure]
        for name, command in lacking if check.state == "partly" else [(check.name, check.cure)]:
            if command:
                # Never wrapped: a command is there to be copied.
                out.print(f"{name}: {command}", markup=False, highlight=False, soft_wrap=True)
    for layer in report.isolation:
        if layer.cure:
            out.print(f"{layer.name}: {layer.cure}", markup=False, highlight=False, soft_wrap=True)
    if not report.ok:
        out.print("something required is missing or broken; the commands above mend it", style="red")
