"""`trivium curriculum`: a schedule judged against the corpora that exist, drawn, and unrolled into rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trivium.curriculum import Plan

SCHEDULE = typer.Argument(metavar="SCHEDULE", help="A schedule's YAML file, such as recipes/curricula/demo.yaml.")
CORPORA = typer.Option("--corpora", metavar="DIR", help="The folder that the schedule's corpus paths start from.")
SET = typer.Option("--set", metavar="KEY=VALUE", help="Overrides a value of the schedule; may stand several times.")
JSON = typer.Option("--json", help="Print the facts as JSON.")

group = typer.Typer(help="Validate, show, draw and unroll a context curriculum.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.add_typer(group, name="curriculum")


@group.command()
def check(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[Path, CORPORA],
    overrides: Annotated[list[str] | None, SET] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Validates SCHEDULE against the corpora: tokens, epochs, row fill, steps and learning rate by stage.

    Exit codes: 0 it can run (warnings may stand), 1 sets that may not be mixed or are damaged, 2 a wrong schedule.
    """
    from trivium.console import emit_json
    from trivium.curriculum.report import report

    facts = report(_plan(schedule, corpora, overrides))
    if as_json:
        emit_json(facts)
    else:
        from trivium.commands import curriculum_tables

        curriculum_tables.print_report(facts)


@group.command()
def show(
    schedule: Annotated[Path, SCHEDULE],
    overrides: Annotated[list[str] | None, SET] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Prints SCHEDULE resolved: every default spelled out, mixtures as shares."""
    from trivium.console import emit_json
    from trivium.curriculum import Schedule
    from trivium.data.config import dump_yaml, load_yaml, to_mapping

    resolved = load_yaml(schedule, Schedule, overrides=overrides or ()).resolved()
    if as_json:
        emit_json(to_mapping(resolved))
    else:
        typer.echo(dump_yaml(resolved), nl=False)


@group.command()
def plot(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[Path, CORPORA],
    out: Annotated[Path, typer.Option("--out", help="Where to write: .png, .svg or .html (self-contained).")],
    overrides: Annotated[list[str] | None, SET] = None,
) -> None:
    """Draws context, mixture, learning rate and row fill over the steps."""
    from trivium.console import note
    from trivium.pipelines.curriculum_plot import write_plot

    write_plot(_plan(schedule, corpora, overrides), out, title=schedule.stem)
    note(f"wrote {out}")


@group.command()
def rows(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[Path, CORPORA],
    stage: Annotated[str, typer.Option("--stage", help="A stage's name.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="Rows to print.")] = 20,
    overrides: Annotated[list[str] | None, SET] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Lists which documents form which rows, from the first step of a stage on."""
    from itertools import islice, takewhile

    from trivium.commands import curriculum_tables
    from trivium.console import emit_json
    from trivium.errors import UsageError

    plan = _plan(schedule, corpora, overrides)
    try:
        number = plan.schedule.stage_index(stage)
    except ValueError as error:
        raise UsageError(f"--stage: {error}") from None
    steps = takewhile(lambda step: step.stage == number, (step for step, _ in plan.rows(plan.start(number))))
    found = list(islice(((step.step, row) for step in steps for row in step.rows), limit))
    lines = curriculum_tables.row_facts(plan, found)
    if as_json:
        emit_json(lines)
    else:
        curriculum_tables.print_rows(stage, lines)


def _plan(schedule: Path, corpora: Path, overrides: list[str] | None) -> "Plan":
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from trivium.console import err
    from trivium.curriculum import Plan, Schedule, catalogues_of, open_corpora
    from trivium.data.config import load_yaml

    rules = load_yaml(schedule, Schedule, overrides=overrides or ())
    catalogues = catalogues_of(open_corpora(corpora, rules))
    columns = (TextColumn("packing"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("packing", total=sum(stage.tokens for stage in rules.stages))
        return Plan.open(rules, catalogues, progress=lambda tokens: bar.update(task, completed=tokens))
