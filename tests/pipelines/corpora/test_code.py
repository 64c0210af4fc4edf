"""The code domain end to end, on a small tree of several languages with circles of imports and two licences."""

from pathlib import Path

import msgspec
import pytest

from trivium.data.code.filter import POLICY
from trivium.data.code.language import CodeLanguage
from trivium.data.code.repository import Repository, read_frames
from trivium.data.config import load_yaml
from trivium.data.shards import ShardSet
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.recipe import Recipe, load_recipe
from trivium.pipelines.corpora.shuffles.repository import PartGraph, Task
from trivium.pipelines.corpora.spool import Ref, encode_line, lines_of

MIT = "# SPDX-License-Identifier: MIT\n"
BODY = "\n\ndef {0}(width, height):\n    return width * height + len('{0}')\n"
TREE = {
    "ring/LICENSE": "SPDX-License-Identifier: BSD-3-Clause\n",
    "ring/README.md": "# ring\n\nThree modules in a circle and one outside.\n",
    "ring/ring/a.py": "from ring import b" + BODY.format("a"),
    "ring/ring/b.py": "from . import c" + BODY.format("b"),
    "ring/ring/c.py": "from .a import a\nfrom .util import u" + BODY.format("c"),
    "ring/ring/util.py": BODY.format("u").lstrip(),
    "ring/tests/test_ring.py": "import ring.a" + BODY.format("test"),
    "ring/native/main.c": '#include "zone.h"\n#include <stdio.h>\n\nint main(void) { return zone(); }\n',
    "ring/native/zone.h": "/* what main uses, after it by name */\nint zone(void);\n",
    "ring/vendor/other.py": BODY.format("v").lstrip(),
    "ring/native/copied.c": "// SPDX-License-Identifier: GPL-2.0-only\nint copied(void) { return 1; }\n",
    "web/src/app.ts": "// SPDX-License-Identifier: MIT\nimport {z} from './zz.js';\nexport const app = z + 1;\n",
    "web/src/zz.ts": "// SPDX-License-Identifier: MIT\nexport const z: number = 41;\n",
    "web/src/silent.ts": "export const nobody = 'says what may be done with this';\n",
    "alone/key.py": MIT + "token = 'ghp_" + "a1B2c3D4e5F6" * 3 + "'\n",
    "alone/data.csv": "a,b\n1,2\n",
}
RECIPE = """
version: 1
corpus: code
domain: code
sources:
  - {kind: source_tree, name: trees, path: trees, license: ''}
stages:
  - {kind: code_language}
  - {kind: code_license}
  - {kind: code_filter}
  - {kind: pii, kinds: [secret]}
  - {kind: repository_license}
  - {kind: repository}
"""


@pytest.fixture(scope="module")
def recipe_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    for name, text in TREE.items():
        path = folder / "trees" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "code.yaml").write_text(RECIPE)
    return folder / "code.yaml"


def built(recipe_file: Path, out: Path, *overrides: str, **more) -> dict:
    build(load_recipe(recipe_file, overrides), recipe_file.parent, out, BeamOptions(), **more)
    return read(out)


def read(out: Path) -> dict:
    """Documents by address."""
    shards = ShardSet.open(out)
    documents = [shards.read(number)[0] for number in range(len(shards))]
    return {document.meta.address: document for document in documents}


@pytest.fixture(scope="module")
def out(recipe_file, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "code"
    built(recipe_file, folder)
    return folder


@pytest.fixture(scope="module")
def documents(out) -> dict:
    return read(out)


def paths(document) -> list[str]:
    return [address.partition("/")[2] for address, _ in read_frames(document.text)]


def test_files_of_a_repository_stand_in_the_order_of_their_imports(documents):
    assert sorted(documents) == ["alone#1", "ring#1", "web#1"]
    assert paths(documents["ring#1"]) == [
        "README.md",
        "native/zone.h",
        "native/main.c",
        "ring/util.py",
        "ring/c.py",
        "ring/b.py",
        "ring/a.py",
        "tests/test_ring.py",
    ]
    assert paths(documents["web#1"]) == ["src/zz.ts", "src/app.ts"]


def test_licences_come_from_headers_and_folders_and_keys_are_masked(documents):
    assert documents["ring#1"].meta.license == "BSD-3-Clause"
    assert documents["web#1"].meta.license == "MIT"
    assert "token = '|||SECRET_KEY|||'" in documents["alone#1"].text


def test_nothing_is_lost_every_file_is_in_one_document_or_has_a_reason(out, documents):
    funnel = ShardSet.open(out).manifest.funnel
    assert {(stage.name, reason): count for stage in funnel for reason, count in stage.dropped.items()} == {
        ("code_language", "other_language"): 1,
        ("code_filter", "vendored"): 1,
        ("repository_license", "license_file"): 1,
        ("repository_license", "license_not_allowed"): 1,
        ("repository_license", "no_license"): 1,
    }
    parents = [parent for document in documents.values() for parent in document.meta.lineage.parents]
    assert len(parents) == len(set(parents)) == len(TREE) - 5
    assert (funnel[-1].input, funnel[-1].kept) == (len(parents), len(documents))


def test_parts_keep_the_order_whatever_order_files_arrive_in(recipe_file, documents, tmp_path):
    parts = built(recipe_file, tmp_path / "parts", "stages.5.max_bytes=300", shuffle_seed=7)
    ring = [parts[address] for address in sorted(parts) if address.startswith("ring#")]
    assert len(ring) > 2
    assert [path for part in ring for path in paths(part)] == paths(documents["ring#1"])
    assert all(len(document.text.encode()) <= 300 for document in parts.values())
    assert "".join(part.text for part in ring) == documents["ring#1"].text


def test_files_can_stay_documents_of_their_own(tmp_path):
    refs = [
        Ref(source_id=name, source="s", address=f"r/{name}", id=name, length=1, stored=1, path="p", offset=0, size=1)
        for name in ("a.py", "b.py")
    ]
    (tmp_path / "refs").write_bytes(b"".join(encode_line(ref) + b"\n" for ref in refs))
    graph = PartGraph(Repository(group="file"), "repository", tmp_path, [tmp_path / "refs"], tmp_path / "out")
    run_job("order", graph, BeamOptions().in_process(), logs=tmp_path / "logs")
    tasks = [msgspec.json.decode(line, type=Task) for line in lines_of(tmp_path / "out", "tasks")]
    assert sorted(task.refs[0].address for task in tasks) == [ref.address for ref in refs]
    assert all(task.part is None and len(task.refs) == 1 for task in tasks)


def test_the_recipe_that_users_copy_states_the_thresholds_that_are_the_default():
    recipe = load_yaml(Path(__file__).parents[3] / "recipes/corpora/code.yaml", Recipe)
    stages = {type(stage).__qualname__.partition(".")[0]: stage for stage in recipe.stages}
    assert stages["CodeFilter"].policy == POLICY
    assert stages["CodeLanguage"] == CodeLanguage.Config()
    assert stages["Repository"] == Repository()
