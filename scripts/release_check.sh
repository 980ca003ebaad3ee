#!/bin/sh
# Build what a release publishes, and use it as a stranger would: metadata, README, install, commands, uninstall.
#   sh scripts/release_check.sh PYTHON        PYTHON has `build` and `twine` (make release-check)
set -eu
python=$1
rm -rf dist build/release
"$python" -m build --no-isolation --outdir dist .
"$python" -m twine check --strict dist/*
version=$("$python" -c 'import pathlib, re; print(re.search(r"__version__ = \"(.+)\"", pathlib.Path("src/satchel/__init__.py").read_text())[1])')
grep -q "^## $version" CHANGELOG.md || echo "release-check: CHANGELOG.md has no section $version yet" >&2
for package in dist/*.whl dist/*.tar.gz; do
    echo "release-check: $package in a new environment"
    rm -rf build/release
    "$python" -m venv build/release
    sh scripts/build_tools.sh build/release/bin/python
    build/release/bin/python -m pip install --quiet --disable-pip-version-check --no-require-hashes \
        --constraint constraints.txt --no-build-isolation "$package"
    test "$(build/release/bin/satchel --version)" = "satchel, version $version"
    build/release/bin/python -P scripts/smoke.py
    build/release/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes satchel
    test ! -e build/release/bin/satchel
    left=$(find build/release/lib -path '*site-packages/satchel*' | head -n 3)
    test -z "$left" || { echo "release-check: left behind after uninstall: $left" >&2; exit 1; }
done
rm -rf build
echo "release-check: $version can be released"
