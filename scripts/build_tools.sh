#!/bin/sh
# Install pip and setuptools in the versions of constraints.txt, compared with their hashes.
#   sh scripts/build_tools.sh PYTHON
# The pip of a new environment takes hashes from requirements, and only a later one from constraints as well.
set -eu
cd "$(dirname "$0")/.."
tools=$(mktemp)
trap 'rm -f "$tools"' EXIT
sed -n -e '/^pip==/,/[^\\]$/p' -e '/^setuptools==/,/[^\\]$/p' constraints.txt > "$tools"
"$1" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement "$tools"
