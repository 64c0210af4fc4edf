"""Maps the folders at the root into the package `trivium`; everything else stands in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = ("data", "vision", "model", "kernels", "curriculum", "pipelines")

packages = ["trivium", *(f"trivium.{name}" for name in find_packages("trivium"))]
package_dir = {"trivium": "trivium"}
for folder in FOLDERS:
    package_dir[f"trivium.{folder}"] = folder
    packages += [f"trivium.{folder}", *(f"trivium.{folder}.{name}" for name in find_packages(folder))]

setup(packages=packages, package_dir=package_dir)
