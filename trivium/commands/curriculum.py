"""`trivium curriculum`: a schedule judged against corpora that exist or are assumed, drawn, compared and unrolled."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trivium.curriculum import Plan, Schedule
    from trivium.curriculum.change import Difference

SCHEDULE = typer.Argument(metavar="SCHEDULE", help="A schedule's YAML file, such as recipes/curricula/demo.yaml.")
CORPORA = typer.Option(
    "--corpora", metavar="DIR", help="The folder (or address) that the schedule's corpus paths start from."
)
ASSUME = typer.Option(
    "--assume", metavar="FILE", help="Corpora on paper: YAML with documents and lengths, in place of --corpora."
)
SET = typer.Option(
    "--set",
    metavar="KEY=VALUE",
    help="Overrides a value of the schedule, such as stages.8k.rows=64 (a stage by name or place); may stand several "
    "times.",
)
CACHE = typer.Option(
    "--cache",
    metavar="DIR",
    help="A folder for sizes and row indexes, so that the next call is quick. Left out, only sets of more than 262,144 "
    "documents are kept: in ~/.cache/trivium/curriculum, or a temporary folder where that can't be written.",
)
JSON = typer.Option("--json", help="Print the facts as JSON.")

group = typer.Typer(help="Validate, show, draw, compare and unroll a context curriculum.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds this module's commands to the command line."""
    app.add_typer(group, name="curriculum")


@group.command()
def check(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[str | None, CORPORA] = None,
    assume: Annotated[Path | None, ASSUME] = None,
    overrides: Annotated[list[str] | None, SET] = None,
    cache: Annotated[Path | None, CACHE] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Proves that the corpora can feed SCHEDULE: tokens, epochs by corpus and bucket, row fill, steps, shortfalls.

    Without corpora, `trivium curriculum show SCHEDULE` checks what the schedule alone can say.

    Exit codes: 0 it can run (warnings may stand), 1 corpora that fall short, that may not be mixed or whose indexes are
    damaged (the tars are read by `trivium shards verify`), 2 a wrong schedule or wrong usage.
    """
    from trivium.console import emit_json
    from trivium.curriculum.report import report

    plan = _plan(schedule, corpora, assume, overrides, cache)
    facts = report(plan)
    if as_json:
        emit_json(facts)
    else:
        from trivium.commands import curriculum_tables

        curriculum_tables.print_report(facts)
    if facts.shortfalls:
        raise typer.Exit(1)


@group.command()
def show(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[str | None, CORPORA] = None,
    assume: Annotated[Path | None, ASSUME] = None,
    overrides: Annotated[list[str] | None, SET] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Prints SCHEDULE resolved: every default spelled out, mixtures as shares, steps and learning rate by stage.

    The table goes to stderr, the YAML to stdout, so that it can be kept. With --corpora or --assume mixtures are
    resolved down to length buckets, as up-sampling and the share of vision make them.
    """
    from trivium.commands import curriculum_tables
    from trivium.console import emit_json
    from trivium.data.config import dump_yaml, to_mapping

    rules = _schedule(schedule, overrides)
    resolved = rules.resolved()
    lines = curriculum_tables.stage_facts(rules)
    weights = None
    if corpora is not None or assume is not None:
        weights = curriculum_tables.weight_facts(_plan(schedule, corpora, assume, overrides, None))
    if as_json:
        extra = {} if weights is None else {"mixture": weights}
        emit_json({**to_mapping(resolved), "resolved": {"stages": lines, **extra}})
        return
    curriculum_tables.print_stages(lines, weights)
    typer.echo(dump_yaml(resolved), nl=False)


@group.command()
def plot(
    schedule: Annotated[Path, SCHEDULE],
    out: Annotated[Path, typer.Option("--out", help="Where to write: .png, .svg or .html (self-contained).")],
    corpora: Annotated[str | None, CORPORA] = None,
    assume: Annotated[Path | None, ASSUME] = None,
    overrides: Annotated[list[str] | None, SET] = None,
    cache: Annotated[Path | None, CACHE] = None,
) -> None:
    """Draws context, batch, learning rate and mixture over the run's tokens.

    The schedule is enough. With --corpora or --assume the mixture is as `vision` moves it, the legend has each
    corpus's epochs, and a page has fill, documents and what `check` remarks on.
    """
    from trivium.console import note
    from trivium.pipelines.curriculum_plot import check_target, write_plot

    check_target(out)
    bare = corpora is None and assume is None
    plan = None if bare else _plan(schedule, corpora, assume, overrides, cache)
    made = write_plot(plan or _schedule(schedule, overrides), out, title=schedule.stem)
    note(f"wrote {out}" + (f" (and made the folder {made})" if made else ""))


@group.command()
def rows(
    schedule: Annotated[Path, SCHEDULE],
    corpora: Annotated[str | None, CORPORA] = None,
    assume: Annotated[Path | None, ASSUME] = None,
    start: Annotated[int | None, typer.Option("--from", "--step", help="The first step; left out: step 0.")] = None,
    stage: Annotated[str | None, typer.Option("--stage", help="Begin at the first step of this stage.")] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Steps to print.")] = 1,
    ranks: Annotated[int, typer.Option("--ranks", min=1, help="Ranks that share each step's rows.")] = 1,
    overrides: Annotated[list[str] | None, SET] = None,
    cache: Annotated[Path | None, CACHE] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Prints what each rank sees in COUNT steps: documents by row, digests of rows and steps, cost by rank.

    Any step is reached at once. Digests do not depend on --ranks; a step's digest covers its rows in their order.
    """
    from itertools import islice

    from trivium.commands import curriculum_tables
    from trivium.console import counted, emit_json
    from trivium.errors import UsageError

    plan = _plan(schedule, corpora, assume, overrides, cache)
    if stage is not None and start is not None:
        raise UsageError(f"--from {start} and --stage {stage} both name the first step; give one of them")
    try:
        first = plan.first_step(plan.schedule.stage_index(stage)) if stage is not None else start or 0
    except ValueError as error:
        raise UsageError(f"--stage: {error}") from None
    if not 0 <= first < plan.steps:
        spans = ", ".join(
            f"{one.rules.name} {one.first_step} to {one.first_step + one.steps - 1}" for one in plan.stages
        )
        raise UsageError(
            f"--from {first}: the run has {counted(plan.steps, 'step')}, 0 to {plan.steps - 1} (stages: {spans}); give "
            "one of them"
        )
    found = [step for step, _ in islice(plan.rows(plan.at(first)), count)]
    facts = [curriculum_tables.step_facts(plan, step, ranks) for step in found]
    if as_json:
        emit_json({"plan": plan.digest, "ranks": ranks, "steps": facts})
    else:
        curriculum_tables.print_steps(facts)


@group.command()
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A schedule's YAML file.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The other one.")],
    step: Annotated[
        int | None,
        typer.Option("--step", min=0, help="Judge whether a run of A that did so many steps may go on as B."),
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Lists what differs between two schedules, what hangs on it, and from which step on.

    A run may go on whatever else differs as long as no `rows` differ behind its step: a new learning rate holds from
    there on, limits are judged before a run, and a corpus may move to another place.

    Exit codes: 0 nothing differs, or with --step: the run may go on; 1 something differs; 2 when --step is given and
    the change reaches behind it.
    """
    from trivium.commands import curriculum_tables
    from trivium.console import emit_json
    from trivium.curriculum.change import change, differences

    old, new = _schedule(a, None), _schedule(b, None)
    found = differences(old, new)
    if as_json:
        emit_json({"differences": found, "allowed": None if step is None else _allowed(found, step)})
    else:
        curriculum_tables.print_differences(found, f"{a} → {b}")
    if step is not None:
        change(old, new, step)
    elif found:
        raise typer.Exit(1)


def _allowed(found: "list[Difference]", step: int) -> bool:
    return not [one for one in found if one.step < step and one.decides == "rows"]


def _schedule(path: Path, overrides: list[str] | None) -> "Schedule":
    from trivium.curriculum import Schedule
    from trivium.data.config import load_yaml

    return load_yaml(path, Schedule, overrides=overrides or ())


def _plan(
    schedule: Path, corpora: str | None, assume: Path | None, overrides: list[str] | None, cache: Path | None
) -> "Plan":
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from trivium.console import progress
    from trivium.curriculum import Plan, catalogues_of, open_corpora
    from trivium.curriculum.assumed import assumed_corpora
    from trivium.data.config import located
    from trivium.errors import UsageError

    if (corpora is None) == (assume is None):
        found = "neither is" if corpora is None else "both are"
        raise UsageError(
            "give the corpora either as --corpora DIR (tokenised shard sets) or as --assume FILE (sizes on paper); "
            f"{found} given. Without corpora, `trivium curriculum show {schedule}` checks the schedule alone"
        )
    rules = _schedule(schedule, overrides)
    with located(schedule, overrides=overrides or ()):
        keep = None if cache is None else cache / "indexes"
        sets = {} if assume else open_corpora(corpora or "", rules, keep=keep)
    catalogues = assumed_corpora(assume, rules) if assume else catalogues_of(sets)
    columns = (TextColumn("reading sizes"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with located(schedule, overrides=overrides or ()), progress(*columns) as bar:
        task = bar.add_task("", total=sum(len(catalogue) for catalogue in catalogues.values()))
        return Plan.open(
            rules, catalogues, cache=cache, limits=False, progress=lambda done: bar.update(task, completed=done)
        )
