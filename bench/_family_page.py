"""docs/results from the archives of `bench/family.py`: results.json, one CSV a run, plots, and a page to read."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import _curve_plot
import msgspec
from _family_facts import JUMP, JUMP_SIGMAS, LONG, QUIET, RECENT, RISE, SHORT, SIGMAS, Verdict, smooth
from _family_gathered import Gathered

LOADS = "experts: max / mean load, mean over layers (running median of 25, cut off at 4)"
COLUMNS = ("step", "lr", "loss", "text", "image", "mtp", "grad_norm", "max_logit", "load_mean", "load_worst", "tokens")


def write(folder: Path, gathered: Gathered, facts: Mapping[str, Any], verdicts: Sequence[Verdict], data: str) -> None:
    """All files of docs/results; `data` is the Markdown about the corpora."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: _kept(found) for name, found in facts.items()}
    whole = {
        "calls": gathered.calls,
        "wanted": gathered.kinds(),
        "verdicts": msgspec.to_builtins(list(verdicts)),
        "runs": kept,
    }
    (folder / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (folder / "curves").mkdir(exist_ok=True)
    for name in gathered.known:
        lines = gathered.lines[name]
        (folder / "curves" / f"{name}.csv").write_text(_curve(lines), encoding="utf-8")
    for name, picture in pictures(gathered, facts).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    (folder / "index.md").write_text(page(gathered, facts, verdicts, data), encoding="utf-8")


def _kept(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the CSV files hold step by step."""
    load = found["load"]
    short = None if load is None else {key: value for key, value in load.items() if not key.startswith("by_step")}
    return {**found, "load": short}


def _curve(lines: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        if line["kind"] == "step":
            loss, load = line["loss"], (line["experts"] or {}).get("max_over_mean") or [None]
            mean = None if load == [None] else sum(load) / len(load)
            worst = None if load == [None] else max(load)
            numbers = (line["lr"], *(loss[kind] for kind in ("total", "text", "image", "mtp")), line["grad_norm"])
            rest = (line["max_logit"], mean, worst)
            writer.writerow([line["step"], *map(_short, (*numbers, *rest)), sum(line["tokens"].values())])
    return file.getvalue()


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def pictures(gathered: Gathered, facts: Mapping[str, Any]) -> dict[str, str]:
    """The plots by name."""
    kinds = {name: kind for name, kind in gathered.kinds().items() if name in facts}
    steps = {name: [line for line in lines if line["kind"] == "step"] for name, lines in gathered.lines.items()}
    runs = [name for name, kind in kinds.items() if kind == "run" and steps[name]]
    loads = [name for name, kind in kinds.items() if kind in ("load", "trial") and steps[name]]
    switches = [name for name, kind in kinds.items() if kind == "switch" and steps[name]]

    def column(name: str, *keys: str) -> list[float | None]:
        return [_at(line, keys) for line in steps[name]]

    def held(name: str, place: int) -> list[tuple[float, float]]:
        return [(row[0], row[place]) for row in facts[name]["held_out_curve"] if row[place] is not None]

    half = (len(switches) + 1) // 2
    charts = {
        "runs": {
            "training loss by step (running median of 25)": {n: smooth(column(n, "loss", "total")) for n in runs},
            "text: training loss by step": {n: smooth(column(n, "loss", "text")) for n in runs},
            "code after pictures: training loss by step": {n: smooth(column(n, "loss", "image")) for n in runs},
            "held-out text, nats a token": {n: held(n, 1) for n in runs},
            "what another's picture costs on held-out records, nats a token": {n: held(n, 2) for n in runs},
        },
        "health": {
            "gradient norm before clipping (running median of 25)": {n: smooth(column(n, "grad_norm")) for n in runs},
            "largest attention logit": {n: smooth(column(n, "max_logit")) for n in runs},
            LOADS: {n: smooth(_loads(facts, n, "by_step_mean")) for n in runs},
        },
        "load": {
            "max / mean load by step, mean over layers (cut off at 4)": {
                n: _loads(facts, n, "by_step_mean") for n in loads
            },
            "max / mean load by step, worst layer (cut off at 4)": {
                n: _loads(facts, n, "by_step_worst") for n in loads
            },
        },
        "switches": {
            f"nano, one mechanism exchanged ({part + 1} of 2): training loss by step": {
                n.removeprefix("switch-"): smooth(column(n, "loss", "total"), 5)
                for n in switches[part * half : (part + 1) * half]
            }
            for part in range(2)
        },
    }
    most = dict.fromkeys(charts["load"], 4.0) | {LOADS: 4.0}
    return {
        name: _curve_plot.plot(group, most=most)
        for name, group in charts.items()
        if any(any(g.values()) for g in group.values())
    }


def _loads(facts: Mapping[str, Any], name: str, key: str) -> list[float]:
    load = facts[name]["load"]
    return [] if load is None else load[key]


def _at(line: Mapping[str, Any], keys: Sequence[str]) -> Any:
    value: Any = line
    for key in keys:
        value = None if value is None else value.get(key)
    return value


def page(gathered: Gathered, facts: Mapping[str, Any], verdicts: Sequence[Verdict], data: str) -> str:
    """docs/results/index.md."""
    kinds = {name: kind for name, kind in gathered.kinds().items() if name in facts}
    parts = ["# The family trained: what each promise came to", ""]
    parts += [
        "`results.json` holds all figures, `curves/` each run step by step; `python bench/family.py --check` judges "
        "the figures again. What is *beside* was measured to compare with, and nothing is promised of it.",
        "",
    ]
    parts += ["| promise | found | wanted | |", "|---|---|---|---|"]
    parts += [f"| {v.what} | {v.found} | {v.wanted} | {_mark(v.verdict)} |" for v in verdicts]
    runs = {name: facts[name] for name, kind in kinds.items() if kind == "run"}
    parts += [
        "",
        "## The runs",
        "",
        data.strip(),
        "",
        *_runs(runs),
        "",
        "![losses](runs.svg)",
        "",
        "![health](health.svg)",
    ]
    parts += ["", "### Pictures", "", *_pictures(runs)]
    loads = {name: facts[name] for name, kind in kinds.items() if kind in ("load", "trial")}
    parts += ["", "## Load of the experts", "", *_loads_table(loads), "", "![load](load.svg)"]
    parts += ["", "## Every switch trains", "", *_switches({n: facts[n] for n, k in kinds.items() if k == "switch"})]
    parts += ["", "![switches](switches.svg)", "", "## How it was made", "", *_calls(gathered.calls), *_commands(facts)]
    return "\n".join(parts) + "\n"


def _mark(verdict: str) -> str:
    return f"**{verdict}**" if verdict == "FAIL" else verdict


def _calls(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for call in calls:
        versions = ", ".join(f"{name} {version}" for name, version in call["versions"].items())
        yield f"Made by `{call['command']}` at commit `{call['commit']}` on {call['device']} ({versions})."
        yield ""


def _runs(runs: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(
        "run", "layers × width", "experts", "parameters", "activated", "steps", "tokens", "held-out text",
        "held-out code", "largest logit", "heads clipped", "tokens/s", "MFU", "beside",
    )  # fmt: skip
    for name, f in runs.items():
        speed, held = f["speed"], f["held_out"]
        tokens = sum(f["tokens"].values())
        beside = f["starts"][-1]["beside"] if f["starts"] else None
        cells = (
            f.get("shape", "–"), f.get("experts", "–"), _count(f.get("parameters")), _count(f.get("activated")),
            f"{f['steps']:,} of {f['of']:,}", f"{tokens / 1e6:.1f} M", _number(held["text"]), _number(held["image"]),
            _number(f["max_logit"], "{:.1f}"), f"{f['clipped_heads']:,}",
            _number(speed["tokens_per_second"], "{:,.0f}"), _number(speed["mfu"], "{:.1%}"), _number(beside, "{:.1f}"),
        )  # fmt: skip
        yield f"| `{name}` | " + " | ".join(cells) + " |"
    yield ""
    yield (
        "Losses in nats a token. *beside*: other processes on the same GPU, on average; tokens/s and MFU are what was "
        "left to this one. MFU counts the text path's matrices, recurrence and depth attention of every token, of 989 "
        "TFLOP/s; causal attention between tokens and the vision tower are left out, so it is a lower bound. A spike "
        f"is a step after the warm-up at which the loss, whole or of text, as a median of {SHORT} steps, is more than "
        f"{RISE:g} nats and {SIGMAS:g} deviations of a step above the lowest that a median of {LONG} steps had reached "
        f"in {RECENT} steps; or by itself more than {JUMP:g} nat and {JUMP_SIGMAS:g} deviations above it. "
        "Code after pictures is in the whole loss alone: by itself a step's is that of few drawings or few icons. An "
        f"expert is dead when it got no token in the last {QUIET} steps."
    )
    yield from _families(runs)


def _families(runs: Mapping[str, Any]) -> Iterator[str]:
    """What K3 and its K2 baseline of equal size came to beside each other."""
    pairs = [(name, f"k2-{name}") for name in runs if f"k2-{name}" in runs]
    pairs = [pair for pair in pairs if all(_held(runs[name]) for name in pair)]
    if not pairs:
        return
    yield ""
    told = []
    for ours, theirs in pairs:
        (text, code), (text_2, code_2) = _held(runs[ours]), _held(runs[theirs])
        told.append(f"`{ours}` beside `{theirs}`: text {text - text_2:+.3f}, code after pictures {code - code_2:+.3f}")
    yield (
        f"K3 less its K2 baseline of equal size on held-out records, nats a token: {'; '.join(told)}. One run each and "
        "one seed, of few tokens for their size: what other seeds would give is not known, so neither family is shown "
        "to be better here."
    )


def _held(found: Mapping[str, Any]) -> tuple[float, float] | None:
    held = found["held_out"]
    return None if held["text"] is None or held["image"] is None else (held["text"], held["image"])


def _pictures(runs: Mapping[str, Any]) -> Iterator[str]:
    yield from _head("run", "corpus", "another's picture costs, nats a token (95 %)", "records")
    for name, f in runs.items():
        gaps = {**f["held_out"]["corpora"], "all": f["held_out"]["gap"]}
        for corpus, gap in gaps.items():
            if gap is None or gap["mean"] is None:
                yield f"| `{name}` | {corpus} | not measured | |"
                continue
            between = "" if gap["low"] is None else f" ({gap['low']:.3f} to {gap['high']:.3f})"
            yield f"| `{name}` | {corpus} | {gap['mean']:.3f}{between} | {gap['records']} |"
    yield ""
    yield (
        "Held-out records, each with its own picture and with another record's of equal size. The drawings' code holds "
        "what only the picture tells; an icon's is mostly syntax and long paths of coordinates."
    )


def _loads_table(loads: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(
        "run", "balance", "tokens a step", "steps", "step 1: mean, worst", "step 20", "after step 20: mean of layers",
        "worst layer", "worst of any step", "by layer",
    )  # fmt: skip
    for name, f in loads.items():
        load = f["load"]
        if load is None or load["layers"] is None:
            yield f"| `{name}` | {f.get('balance', '–')} | | {f['steps']} | | | not measured {f['problem']} | | | |"
            continue
        first, then = (f"{load['by_step_mean'][at]:.2f}, {load['by_step_worst'][at]:.2f}" for at in (0, 19))
        layers = ", ".join(f"{value:.2f}" for value in load["layers"])
        yield (
            f"| `{name}` | {f.get('balance', '–')} | {load['tokens']:,} | {load['steps']} | {first} | {then} | "
            f"{load['mean']:.3f} | {load['worst']:.3f} | {load['worst_of_any_step']:.2f} | {layers} |"
        )
    signs = any(f.get("balance") == "sign" for f in loads.values())
    signed = "The K2 baseline's sign step of 0.001 stands beside it, without a bound. " if signs else ""
    yield ""
    yield (
        "Fresh models, 256 experts, top-8; a layer's figure is the busiest expert's tokens over the mean, with the "
        f"bias that the steps before left. {signed}The last layer is that of multi-token prediction."
    )


def _switches(switches: Mapping[str, Any]) -> Iterator[str]:
    yield from _head("switch", "changes to `nano`", "loss", "steps", "seconds a step")
    for name, f in switches.items():
        changes = ", ".join(f"`{change.removeprefix('model.')}`" for change in f["job"]["changes"]) or "–"
        fall = "" if f["first_loss"] is None else f"{f['first_loss']:.2f} → {_number(f['last_loss'])}"
        told = f"{f['steps']}" + (f": {f['problem']}" if f["problem"] else "")
        yield f"| {name.removeprefix('switch-')} | {changes} | {fall} | {told} | {_number(f['speed']['seconds'])} |"


def _commands(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "Each run by itself (`bench/family.py` writes the schedules: `recipes/curricula/results.yaml`, other steps):"
    yield ""
    yield "```"
    for found in facts.values():
        yield found["command"]
    yield "```"


def _head(*cells: str) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"
    yield "|---" * len(cells) + "|"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.1f} M"


def _number(value: float | None, pattern: str = "{:.3f}") -> str:
    return "–" if value is None else pattern.format(value)
