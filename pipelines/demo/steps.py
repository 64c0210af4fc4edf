"""The demo's main path as a list of the commands that a user would type; read it top to bottom.

Odd: every step is a subprocess of the public command line, so what the demo shows is what the README says. A step that
finished is not run again while its command, its inputs and the code are the same (`demo.json` holds their digest), so a
killed demo goes on where it stopped.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

BUCKETS = "256,1024,4096,8192"  # tokens: the four stages of the scaled-down curriculum
VOCABULARY = 2048

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


def steps(root: Path, out: Path) -> list[Step]:
    """The demo's steps. `root` is the folder that holds recipes/ and examples/, `out` the demo's folder."""
    built = {name: out / "built" / name for name in CORPORA}
    corpora = {name: out / "corpora" / name for name in CORPORA}
    tokenizer = out / "tokenizer.json"
    run, checkpoint = root / "recipes/runs/nano-demo.yaml", out / "run"
    schedule = root / "recipes/curricula/demo.yaml"
    return [
        *(_build(name, root, built[name]) for name in CORPORA),
        Step(
            name="tokenizer",
            title=f"train a byte-level BPE of {VOCABULARY} ids on the built text",
            arguments=(
                *("tokenizer", "train", *map(str, built.values())),
                *("--vocab", str(VOCABULARY), "--out", str(tokenizer)),
            ),
            reads=tuple(path / "manifest.json" for path in built.values()),
            writes=tokenizer,
        ),
        *(_tokenize(name, built[name], tokenizer, corpora[name]) for name in CORPORA),
        Step(
            name="stat",
            title="count what the shards hold",
            arguments=("shards", "stat", *map(str, corpora.values())),
            reads=tuple(path / "manifest.json" for path in corpora.values()),
            writes=out / "stat.txt",
            capture=True,
        ),
        Step(
            name="gallery",
            title="one page to browse records, lineage and rejects",
            arguments=("shards", "gallery", *map(str, corpora.values()), "--out", str(out / "gallery.html")),
            reads=tuple(path / "manifest.json" for path in corpora.values()),
            writes=out / "gallery.html",
        ),
        Step(
            name="check",
            title="check the four-stage schedule against the corpora",
            arguments=("curriculum", "check", str(schedule), "--corpora", str(out / "corpora")),
            reads=(schedule, *(path / "manifest.json" for path in corpora.values())),
            writes=out / "curriculum.txt",
            capture=True,
        ),
        Step(
            name="plot",
            title="draw it",
            arguments=(
                *("curriculum", "plot", str(schedule), "--corpora", str(out / "corpora")),
                *("--out", str(out / "curriculum.png")),
            ),
            reads=(schedule, *(path / "manifest.json" for path in corpora.values())),
            writes=out / "curriculum.png",
        ),
        Step(
            name="train",
            title="train nano jointly on text and pictures through all four stages",
            arguments=(
                *("train", str(run), "--out", str(checkpoint)),
                *("--set", f"corpora={out / 'corpora'}", "--set", f"tokenizer={tokenizer}"),
            ),
            reads=(run, schedule, tokenizer, *(path / "manifest.json" for path in corpora.values())),
            writes=checkpoint / "report.json",
            resumes=checkpoint,
        ),
        Step(
            name="sample-text",
            title="continue a prompt from the cached decode path",
            arguments=(
                *("sample", str(checkpoint), "--prompt", "The following function returns "),
                *("--tokens", "96", "--temperature", "0.7", "--seed", "1"),
            ),
            reads=(checkpoint / "report.json",),
            writes=out / "sample-text.txt",
            capture=True,
        ),
    ]


def _build(name: str, root: Path, out: Path) -> Step:
    recipe, inputs = CORPORA[name]
    return Step(
        name=f"build-{name}",
        title=f"build the {name} corpus with Beam",
        arguments=("build", str(root / recipe), "--out", str(out)),
        reads=(root / recipe, root / inputs),
        writes=out / "manifest.json",
    )


def _tokenize(name: str, built: Path, tokenizer: Path, out: Path) -> Step:
    return Step(
        name=f"tokenize-{name}",
        title=f"tokenize {name} into length buckets {BUCKETS}",
        arguments=(
            *("shards", "tokenize", str(built), "--tokenizer", str(tokenizer)),
            *("--out", str(out), "--buckets", BUCKETS),
        ),
        reads=(built / "manifest.json", tokenizer),
        writes=out / "manifest.json",
    )


def fingerprint(step: Step, code: str) -> str:
    """Digest of a step's command, of the bytes it reads and of the code's version."""
    state = hashlib.sha256(repr((step.arguments, code)).encode())
    for path in step.reads:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            state.update(str(file).encode())
            state.update(file.read_bytes())
    return state.hexdigest()[:16]
