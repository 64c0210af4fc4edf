"""Which addresses a list blocks, against a plain reading of the same list; layouts; reasons by list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.config import from_mapping
from trivium.data.records import Document, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.lists import list_digest
from trivium.data.text.urls import Hashes, Matcher, UrlList, Urls, read_address
from trivium.errors import ConfigError, InputError


def write(folder, name: str, text: str):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def raw(address: str) -> Raw:
    return Raw(corpus="c", domain="web", source="s", address=address, license="x", body=b"page", mime="text/html")


def run(stage, address: str):
    (outcome,) = stage.process(raw(address))
    return outcome.reason if isinstance(outcome, Drop) else "kept"


@pytest.fixture
def stage(tmp_path):
    write(tmp_path, "ut1/adult/domains", "bad.example\n*.worse.org\n# note\n\nmünchen.example\n10.1.2.3\n")
    write(tmp_path, "ut1/adult/urls", "http://www.mixed.org/adult/\nsite.net/a/b.html\nq.net/s?x=1\n")
    write(tmp_path, "words", "casino\nXXX\n")
    write(tmp_path, "soft", "free\nwin\nbonus\n")
    lists = (
        UrlList(name="adult", path=str(tmp_path / "ut1"), kind="ut1", except_domains=("good.bad.example",)),
        UrlList(name="hard", path=str(tmp_path / "words"), kind="words"),
        UrlList(name="soft", path=str(tmp_path / "soft"), kind="words", at_least=2),
        UrlList(name="within", path=str(tmp_path / "words"), kind="subwords"),
    )
    made = Urls.Config(lists=lists).build()
    made.open()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("http://bad.example/", "blocked_adult"),
        ("https://WWW.Bad.Example.:8080/x?y", "blocked_adult"),
        ("http://a.b.bad.example/x", "blocked_adult"),
        ("http://notbad.example/", "kept"),
        ("http://bad.example.com/", "kept"),
        ("http://good.bad.example/x", "kept"),
        ("http://x.worse.org/ crawl.warc.gz@1234", "blocked_adult"),
        ("http://münchen.example/", "blocked_adult"),
        ("http://xn--mnchen-3ya.example/", "blocked_adult"),
        ("http://user@10.1.2.3/", "blocked_adult"),
        ("http://mixed.org/adult/page?x=1", "blocked_adult"),
        ("http://mixed.org/adults", "kept"),
        ("http://mixed.org/", "kept"),
        ("http://site.net/a/b.html", "blocked_adult"),
        ("http://q.net/s?x=1", "blocked_adult"),
        ("http://q.net/s?x=2", "kept"),
        ("http://a.org/best-CASINO_here", "blocked_hard"),
        ("http://a.org/best%2Dcasino", "blocked_hard"),
        ("http://a.org/win", "kept"),
        ("http://a.org/win/a-free-thing", "blocked_soft"),
        ("http://megacasinos.org/", "blocked_within"),
        ("docs/bad.example/casino.html", "kept"),
        ("http://[broken", "kept"),
    ],
)
def test_what_is_blocked_and_by_which_list(stage, address, reason):
    assert run(stage, address) == reason


LABELS = st.sampled_from(("a", "b", "ab", "bad"))
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)


@given(st.sets(HOSTS, max_size=5), HOSTS)
def test_a_domain_blocks_all_below_it_and_nothing_else(listed, host):
    address = read_address(f"http://{host}/")
    found = Hashes(iter(listed)).first(address.domains)
    assert bool(found) == any(host == entry or host.endswith(f".{entry}") for entry in listed)
    assert found in listed or not found


def test_lineage_follows_the_lists_content_not_their_place(tmp_path):
    steps = []
    for place, text in (("a", "x.org\n"), ("b", "x.org\n"), ("c", "y.org\n")):
        path = write(tmp_path, f"{place}/domains", text)
        stage = Urls.Config(lists=(UrlList(name="d", path=str(path), kind="domains"),)).build()
        document = Document(segments=(Text(text="t"),), meta=raw("http://z.org").meta(source_sha256=""))
        (kept,) = stage.process(Draft(document=document))
        steps.append(kept.document.meta.lineage.steps[0].parameters)
    assert steps[0] == steps[1] != steps[2]
    assert list_digest(tmp_path / "a") != list_digest(tmp_path / "c")


def test_wrong_lists_are_refused_by_name(tmp_path):
    for wrong in (
        {"lists": []},
        {"lists": [{"name": "A b", "path": "x", "kind": "domains"}]},
        {"lists": [{"name": "a", "path": "x", "kind": "domains", "at_least": 2}]},
        {"lists": [{"name": "a", "path": "x", "kind": "domains"}, {"name": "a", "path": "y", "kind": "urls"}]},
    ):
        with pytest.raises(ConfigError):
            from_mapping({"kind": "urls", **wrong}, Urls.Config, name="r")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="domains"):
        Matcher(UrlList(name="a", path=str(tmp_path / "empty"), kind="ut1"))
    (tmp_path / "latin").write_bytes(b"caf\xe9.org\n")
    with pytest.raises(InputError, match="UTF-8"):
        Matcher(UrlList(name="a", path=str(tmp_path / "latin"), kind="domains"))
