"""Strict configuration: every mistake ends in one ConfigError that names file, line, key, and what was found."""

import enum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import Strict, digest, dump_yaml, from_mapping, load_yaml, located, parse_yaml, to_mapping
from trivium.data.yaml_text import MAX_DEPTH, read_yaml, write_yaml
from trivium.errors import ConfigError, InputError


class Shuffle(Strict, tag="shuffle", tag_field="kind"):
    window: int = 8


class Keep(Strict, tag="keep", tag_field="kind"):
    language: str
    ratios: list[float] = []


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = "exact"


class Optimizer(Strict):
    lr: float = 0.001
    betas: tuple[float, float] = (0.9, 0.95)


class Job(Strict):
    name: str = "job"
    steps: Annotated[int, msgspec.Meta(ge=1)] = 1
    stages: list[Shuffle | Keep] = []
    sources: dict[str, Shuffle | Keep] = {}
    nested: dict[str, dict[str, list[Keep]]] = {}
    optimizer: Optimizer = Optimizer()
    backup: Optimizer | None = None
    order: Literal["random", "sorted"] = "random"
    mode: Mode = Mode.FAST


def wrong(text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, Job, name="job.yaml", overrides=overrides)
    return str(caught.value)


def right(text: str, *overrides: str) -> Job:
    return parse_yaml(text, Job, name="job.yaml", overrides=overrides)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "job.yaml:1: a: no such key 'a'; known: name, steps, stages, sources, nested, optimizer, backup"),
        ("name: x\nstpes: 2\n", "job.yaml:2: stpes: no such key 'stpes'; did you mean 'steps'?"),
        ("optimizer:\n  lr: 0.1\n  beta: [1, 1]\n", "job.yaml:3: optimizer.beta: no such key 'beta'; did you mean"),
        ("steps: many\n", "job.yaml:1: steps: expected `int`, got `str`, found 'many'"),
        ("steps: 0\n", "job.yaml:1: steps: expected `int` >= 1, found 0"),
        ("steps: 1.5\n", "job.yaml:1: steps: expected `int`, got `float`, found 1.5"),
        ("steps: true\n", "job.yaml:1: steps: expected `int`, got `bool`, found True"),
        ("steps:\n", "job.yaml:1: steps: expected `int`, got `null`, found None"),
        ("optimizer: 3\n", "job.yaml:1: optimizer: expected `mapping`, got `int`, found 3"),
        ("optimizer:\n  betas: [0.9]\n", "job.yaml:2: optimizer.betas: expected `list` of length 2, got 1"),
        ("optimizer:\n  betas:\n  - 1\n  - x\n", "job.yaml:4: optimizer.betas.1: expected `float`, got `str`"),
        ("backup:\n  lr: x\n", "job.yaml:2: backup.lr: expected `float`, got `str`, found 'x'"),
        ("backup:\n  lrs: 1\n", "job.yaml:2: backup.lrs: no such key 'lrs'; did you mean 'lr'?"),
        ("order: sort\n", "job.yaml:1: order: invalid enum value 'sort'; did you mean 'sorted'?"),
        ("mode: quick\n", "job.yaml:1: mode: invalid enum value 'quick'; known: fast, exact"),
        ("stages:\n- kind: shufle\n", "job.yaml:2: stages.0.kind: invalid value 'shufle'; did you mean 'shuffle'?"),
        (
            "stages:\n- {kind: keep, language: a, ratios: 0.5}\n",
            "job.yaml:2: stages.0.ratios: expected `list`, got `float`, found 0.5; write [0.5]",
        ),
        ("stages:\n- window: 1\n", "job.yaml:2: stages.0: missing required key `kind`"),
        ("stages:\n- kind: keep\n", "job.yaml:2: stages.0: missing required key `language`"),
        ("stages:\n  kind: keep\n", "job.yaml:1: stages: expected `list`, got `mapping`"),
        ("3\n", "job.yaml: top level: expected `mapping`, got `int`, found 3"),
        ("- a\n", "job.yaml: top level: expected `mapping`, got `list`"),
        ("just text\n", "job.yaml: top level: expected `mapping`, got `str`, found 'just text'"),
        ("1: 2\n", "job.yaml: top level: a key is not of the right kind: expected `str`"),
        ("sources:\n  7: {kind: shuffle}\n", "job.yaml:1: sources: a key is not of the right kind"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(text: str, message: str) -> None:
    assert wrong(text).startswith(message)


@pytest.mark.parametrize(
    ("value", "end"),
    [
        ("16M", "expected `int`, got `str`, found '16M'; write 16_000_000 or 16_777_216"),
        ("1.5 K", "found '1.5 K'; write 1_500 or 1_536"),
        ("0.1k", "found '0.1k'; write 100"),  # 102.4 is no integer
        ("1.0001K", "found '1.0001K'"),
        ("2t", "found '2t'"),
        ("13e9", "expected `int`, got `float`, found 13000000000.0; write 13_000_000_000"),
        ("1.5", "got `float`, found 1.5"),
    ],
)
def test_an_integer_in_short_is_refused_with_its_digits(value: str, end: str) -> None:
    said = wrong(f"steps: {value}")
    assert said.endswith(end)
    if "; write " in end:
        assert parse_yaml(f"steps: {end.split('write ')[1].split(' or ')[0]}", Job, name="job.yaml").steps >= 100


def test_the_nearest_name_is_of_the_struct_at_that_path() -> None:
    # `window` is a key of Shuffle only, `language` of Keep only: neither is offered for the other.
    assert wrong("stages:\n- {kind: keep, language: de, windows: 3}\n") == (
        "job.yaml:2: stages.0.windows: no such key 'windows'; known: kind, language, ratios"
    )
    assert wrong("stages:\n- {kind: shuffle, windows: 3}\n").endswith("did you mean 'window'?")


class Checked(Strict):
    rows: int = 1
    weights: dict[str, float] = {}

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if weight < 0:
                raise ValueError(f"weights.{name} is {weight:g}; give 0 or more")
        if self.rows < 1:
            raise ValueError(f"rows is {self.rows}; give 1 or more")


class Plan(Strict):
    stages: tuple[Checked, ...] = ()
    most: int = 9

    def __post_init__(self) -> None:
        for index, stage in enumerate(self.stages):
            if stage.rows > self.most:
                raise ValueError(f"stages[{index}].rows: {stage.rows} is more than {self.most}")


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("stages:\n- weights: {}\n  rows: 0\n", (), "p.yaml:3: stages.0: rows is 0; give 1 or more"),
        ("stages:\n- rows: 1\n  weights:\n    a: 1\n    b: -1\n", (), "p.yaml:5: stages.0: weights.b is -1; give 0"),
        ("stages:\n- rows: 1\n- rows: 10\n", (), "p.yaml:3: stages.1.rows: 10 is more than 9"),
        ("stages:\n- rows: 1\n", ("stages.0.rows=0",), "--set stages.0.rows=0: stages.0: rows is 0; give 1 or more"),
    ],
)
def test_what_a_struct_itself_refuses_is_found_at_its_line(text: str, overrides: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, Plan, name="p.yaml", overrides=overrides)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("keys", "overrides", "place"),
    [
        (("stages", "long", "rows"), (), "{path}:5: "),
        (("stages", 0, "rows"), (), "{path}:3: "),
        (("stages", "long", "mixture", "web"), (), "{path}:4: "),  # the deepest that stands there
        (("stages", "none"), (), "{path}:1: "),
        (("stages", "long", "rows"), ("stages.1.rows=3",), "--set stages.1.rows=3: "),
        ((), (), ""),
    ],
)
def test_an_error_from_elsewhere_gets_the_line_of_its_keys(
    tmp_path: Path, keys: Any, overrides: Any, place: str
) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("stages:\n- name: short\n  rows: 1\n- name: long\n  rows: 2\n")
    with pytest.raises(ConfigError) as caught, located(path, overrides=overrides):
        raise ConfigError("too long", keys)
    assert str(caught.value) == place.format(path=path) + "too long"


def test_the_key_of_a_free_mapping_is_named() -> None:
    text = "sources:\n  good: {kind: shuffle}\n  bad:\n    kind: shuffle\n    window: x\n"
    assert wrong(text).startswith("job.yaml:5: sources.bad.window: expected `int`")
    text = "nested:\n  a: {b: []}\n  c:\n    d: []\n    e:\n    - language: de\n      ratio: [1]\n      kind: keep\n"
    assert wrong(text) == "job.yaml:7: nested.c.e.0.ratio: no such key 'ratio'; did you mean 'ratios'?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nsteps: 1\nname: b\n", "job.yaml:3: key 'name' stands twice; keep one"),
        ("optimizer:\n  lr: 1\n  lr: 2\n", "job.yaml:3: key 'lr' stands twice"),
        ("stages:\n- {kind: keep, kind: shuffle}\n", "job.yaml:2: key 'kind' stands twice"),
        ("a: [1\nb: 2\n", "job.yaml:2: not valid YAML: "),
        ("a: *x\n", "job.yaml:1: not valid YAML: found undefined alias"),
        ("a: &x [*x]\n", "job.yaml:1: an alias points into itself"),
        ("a: !!python/object/apply:os.getcwd []\n", "job.yaml:1: not valid YAML: could not determine a constructor"),
        ("? [a]\n: b\n", "job.yaml:1: not valid YAML: found unhashable key"),
        ("name: a\n---\nname: b\n", "job.yaml:2: not valid YAML: "),
        ("name: '\0'\n", "job.yaml: not valid YAML: unacceptable character"),
        ("steps: " + "9" * 5000 + "\n", "job.yaml: a value can't be read: "),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "job.yaml:1: nested deeper than 64 levels"),
        ("[" * 100_000, "job.yaml: nested deeper than 64 levels"),
        ("{" * 100_000, "job.yaml: nested deeper than 64 levels"),
    ],
)
def test_bad_text_is_refused_in_one_line(text: str, message: str) -> None:
    found = wrong(text)
    assert found.startswith(message)
    assert len(found) < 300
    assert "\n" not in found


def test_an_alias_bomb_is_refused_without_expanding_it() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    assert "more than 200000 values once its aliases are expanded" in wrong(bomb)


def test_an_honest_alias_is_kept_and_its_uses_are_separate() -> None:
    text = "optimizer: &o {lr: 0.5}\nbackup: *o\n"
    job = right(text, "optimizer.lr=0.25")
    assert job.optimizer.lr == 0.25
    assert job.backup == Optimizer(lr=0.5)
    assert right("optimizer: {lr: 0.5}\nbackup: {<<: {lr: 0.125}}\n").backup == Optimizer(lr=0.125)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 1e-3),
        ("-2.5E+3", -2500.0),
        (".5", 0.5),
        ("5.", 5.0),
        (".inf", float("inf")),
        ("1_000", 1000),
        ("0x10", 16),
        ("0o17", 15),
        ("017", 17),
        ("-3", -3),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("1.2.3", "1.2.3"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, value: Any) -> None:
    found, _ = read_yaml(f"x: {text}", "x.yaml")
    assert found == {"x": value}
    assert type(found["x"]) is type(value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(alphabet=st.characters(codec="utf-8")),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=6), children, max_size=4),
    max_leaves=12,
)


@given(value=plain)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert read_yaml(write_yaml(value), "x.yaml")[0] == value


@given(text=st.text(max_size=60) | st.text(alphabet="ab:-[]{}&*!?|>'\"\n 1.#,<%@", max_size=60))
def test_any_text_gives_a_job_or_a_config_error(text: str) -> None:
    try:
        found = right(text)
    except ConfigError as error:
        found = error
    assert isinstance(found, Job) or str(found).startswith("job.yaml")


@pytest.mark.parametrize(
    ("overrides", "check"),
    [
        (["steps=3"], lambda job: job.steps == 3),
        (["optimizer.lr=1e-4"], lambda job: job.optimizer.lr == 1e-4),
        (["optimizer.betas=[0.5, 0.75]"], lambda job: job.optimizer.betas == (0.5, 0.75)),
        (["optimizer.betas.1=0.5"], lambda job: job.optimizer.betas == (0.9, 0.5)),
        (["backup.lr=2"], lambda job: job.backup == Optimizer(lr=2.0)),
        (["stages.0.window=9"], lambda job: job.stages == [Shuffle(window=9)]),
        (["stages.shuffle.window=9"], lambda job: job.stages == [Shuffle(window=9)]),
        (
            ["stages=[{kind: shuffle}, {kind: shuffle}]", "stages.shuffle-2.window=9"],
            lambda job: [stage.window for stage in job.stages] == [Shuffle().window, 9],
        ),
        (["stages=[]"], lambda job: job.stages == []),
        (["name=a=b"], lambda job: job.name == "a=b"),
        (["name='3'"], lambda job: job.name == "3"),
        (["steps=3", "steps=4"], lambda job: job.steps == 4),
        (["sources={a: {kind: shuffle}}", "sources.a.window=2"], lambda job: job.sources["a"] == Shuffle(window=2)),
    ],
)
def test_set_changes_one_place(overrides: list[str], check: Any) -> None:
    text = "stages:\n- {kind: shuffle}\noptimizer: {betas: [0.9, 0.95]}\nbackup:\n"
    assert check(right(text, *overrides))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("steps", "--set 'steps': expected key=value, such as"),
        ("=3", "--set '=3': expected key=value"),
        ("a..b=3", "--set 'a..b=3': expected key=value"),
        (".steps=3", "--set '.steps=3': expected key=value"),
        ("steps=[", "--set steps:1: not valid YAML: "),
        ("steps.x=3", "--set steps.x: steps holds 5, not a mapping"),
        (
            "stages.7.window=3",
            "--set stages.7.window: '7' is not a place in a list of 1, nor a name there (shuffle); count",
        ),
        ("stages.x=3", "--set stages.x: 'x' is not a place in a list of 1"),
        ("stages.-1=3", "--set stages.-1: '-1' is not a place in a list of 1"),
        ("steps=many", "--set steps=many: steps: expected `int`, got `str`, found 'many'"),
        (
            "stages.0.windows=3",
            "--set stages.0.windows=3: stages.0.windows: no such key 'windows'; did you mean 'window'?",
        ),
        ("stpes=3", "--set stpes=3: stpes: no such key 'stpes'; did you mean 'steps'?"),
    ],
)
def test_a_wrong_set_names_itself(override: str, message: str) -> None:
    assert wrong("steps: 5\nstages:\n- kind: shuffle\n", override).startswith(message)


def test_set_on_a_file_that_is_no_mapping() -> None:
    assert wrong("- a\n", "steps=3") == "--set steps: the file's top level is not a mapping"


def test_a_missing_file_a_folder_and_bytes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml: can't be read \(No such file or directory\)"):
        load_yaml(tmp_path / "missing.yaml", Job)
    with pytest.raises(InputError, match=r"can't be read \(Is a directory\)"):
        load_yaml(tmp_path, Job)
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff\n")
    with pytest.raises(ConfigError, match=r"not UTF-8 text \(byte 6\)"):
        load_yaml(tmp_path / "bytes.yaml", Job)


def test_an_empty_file_gives_the_defaults_and_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("# only a comment\n")
    assert load_yaml(path, Job) == Job()
    path.write_bytes(b"\xef\xbb\xbfsteps: 2\n")
    assert load_yaml(path, Job).steps == 2


def test_resolved_form_round_trips_and_spells_out_defaults() -> None:
    job = Job(stages=[Keep(language="no", ratios=[1e-3])], backup=Optimizer(lr=1e-20))
    assert parse_yaml(dump_yaml(job), Job, name="x") == job
    assert to_mapping(job)["optimizer"] == {"lr": 0.001, "betas": (0.9, 0.95)}
    assert from_mapping(to_mapping(job), Job, name="x") == job


def test_digest_depends_on_values_only() -> None:
    assert digest(right("steps: 2\nname: a\n")) == digest(right("name: a\nsteps: 2\noptimizer: {lr: 1e-3}\n"))
    assert digest(Job(steps=2)) != digest(Job(steps=3))
    assert len(digest(Job())) == 16


def test_a_long_wrong_value_is_cut() -> None:
    assert len(wrong(f"steps: {'x' * 10_000}\n")) < 200
