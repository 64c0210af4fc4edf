"""The demo's main path as a list of the commands that a user would type; read it top to bottom.

Steps of one wave need nothing of each other and run at the same time.

Odd: every step is a subprocess of the public command line, so what the demo shows is what the README says. A step that
finished is not run again while its command, its inputs and the code are the same (`demo.json` holds their digest), so a
killed demo goes on where it stopped.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

BUCKETS = "256,1024,4096,8192,65536"  # tokens: the four stages of the scaled-down curriculum, and what they cut
VOCABULARY = 512

# corpus: (recipe, files whose change makes the build run again)
CORPORA = {
    "web": ("recipes/corpora/web-docs.yaml", "examples/web"),
    "icons": ("recipes/corpora/svg-icons.yaml", "examples/svg"),
    "drawings": ("recipes/corpora/svg-drawings.yaml", "recipes/corpora/svg-drawings.yaml"),
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command: `arguments` after `trivium`, what it `reads` and `writes` (paths), and a title for people."""

    name: str
    title: str
    arguments: tuple[str, ...]
    reads: tuple[Path, ...]
    writes: Path
    capture: bool = False  # standard output is kept in `writes`
    resumes: Path | None = None  # a folder that the same command goes on with after a kill


def steps(root: Path, out: Path) -> list[tuple[Step, ...]]:
    """The demo's steps, wave by wave. `root` holds recipes/ and examples/, `out` is the demo's folder."""
    tokenizer, schedule = out / "tokenizer.json", root / "recipes/curricula/demo.yaml"
    built = [out / "built" / name for name in CORPORA]
    train = Step(
        name="tokenizer",
        title=f"train a byte-level BPE of {VOCABULARY} ids on the built text",
        arguments=("tokenizer", "train", *map(str, built), "--vocab", str(VOCABULARY), "--out", str(tokenizer)),
        reads=tuple(path / "manifest.json" for path in built),
        writes=tokenizer,
    )
    return [
        tuple(_build(name, root, out) for name in CORPORA),
        (train,),
        tuple(_tokenize(name, tokenizer, out) for name in CORPORA),
        (*_inspect(out), *_schedule(schedule, out)),
        (_train(root / "recipes/runs/nano-demo.yaml", schedule, tokenizer, out),),
        _sample(out / "run", out),
    ]


def _build(name: str, root: Path, out: Path) -> Step:
    recipe, inputs = CORPORA[name]
    built = out / "built" / name
    return Step(
        name=f"build-{name}",
        title=f"build the {name} corpus with Beam",
        arguments=("build", str(root / recipe), "--out", str(built)),
        reads=(root / recipe, root / inputs),
        writes=built / "manifest.json",
    )


def _tokenize(name: str, tokenizer: Path, out: Path) -> Step:
    built, corpus = out / "built" / name, out / "corpora" / name
    return Step(
        name=f"tokenize-{name}",
        title=f"tokenize {name} into length buckets {BUCKETS}",
        arguments=(
            *("shards", "tokenize", str(built), "--tokenizer", str(tokenizer)),
            *("--out", str(corpus), "--buckets", BUCKETS),
        ),
        reads=(built / "manifest.json", tokenizer),
        writes=corpus / "manifest.json",
    )


def _inspect(out: Path) -> tuple[Step, ...]:
    corpora = [str(out / "corpora" / name) for name in CORPORA]
    return (
        Step(
            name="stat",
            title="count what the shards hold",
            arguments=("shards", "stat", *corpora),
            reads=_manifests(out),
            writes=out / "stat.txt",
            capture=True,
        ),
        Step(
            name="gallery",
            title="one page to browse records, lineage and rejects",
            arguments=("shards", "gallery", *corpora, "--out", str(out / "gallery.html")),
            reads=_manifests(out),
            writes=out / "gallery.html",
        ),
    )


def _schedule(schedule: Path, out: Path) -> tuple[Step, ...]:
    arguments = (str(schedule), "--corpora", str(out / "corpora"))
    return (
        Step(
            name="check",
            title="check the four-stage schedule against the corpora",
            arguments=("curriculum", "check", *arguments),
            reads=(schedule, *_manifests(out)),
            writes=out / "curriculum.txt",
            capture=True,
        ),
        Step(
            name="plot",
            title="draw it",
            arguments=("curriculum", "plot", *arguments, "--out", str(out / "curriculum.png")),
            reads=(schedule, *_manifests(out)),
            writes=out / "curriculum.png",
        ),
    )


def _train(run: Path, schedule: Path, tokenizer: Path, out: Path) -> Step:
    folder = out / "run"
    return Step(
        name="train",
        title="train nano jointly on text and pictures through all four stages",
        arguments=(
            *("train", str(run), "--out", str(folder)),
            *("--set", f"corpora={out / 'corpora'}", "--set", f"tokenizer={tokenizer}"),
        ),
        reads=(run, schedule, tokenizer, *_manifests(out)),
        writes=folder / "report.json",
        resumes=folder,
    )


def _sample(folder: Path, out: Path) -> tuple[Step, ...]:
    return (
        Step(
            name="sample-text",
            title="continue a prompt from the cached decode path",
            arguments=(
                *("sample", str(folder), "--prompt", "The following function returns "),
                *("--max-tokens", "96", "--temperature", "0.7", "--seed", "1"),
            ),
            reads=(folder / "report.json",),
            writes=out / "sample-text.txt",
            capture=True,
        ),
        Step(
            name="sample-pictures",
            title="write code for held-out pictures",
            arguments=(
                *("sample", str(folder), "--held-out", "drawings", "--count", "6"),
                *("--max-tokens", "160", "--temperature", "0", "--save", str(out / "pictures")),
            ),
            reads=(folder / "report.json",),
            writes=out / "pictures" / "pairs.json",
        ),
    )


def _manifests(out: Path) -> tuple[Path, ...]:
    return tuple(out / "corpora" / name / "manifest.json" for name in CORPORA)


def fingerprint(step: Step, code: str) -> str:
    """Digest of a step's command, of the bytes it reads and of the code's version."""
    state = hashlib.sha256(repr((step.arguments, code)).encode())
    for path in step.reads:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            state.update(str(file).encode())
            state.update(file.read_bytes())
    return state.hexdigest()[:16]
