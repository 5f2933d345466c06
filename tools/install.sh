#!/bin/sh
# Builds Penstock and installs it into a virtual environment. Its dependencies install while the engine compiles.
#
#     tools/install.sh VENV
#
# On a terminal cargo shows a progress bar; elsewhere a line for each crate.
set -eu

python=$1/bin/python
pip="$python -m pip --disable-pip-version-check --quiet"
wheels=${CARGO_TARGET_DIR:-target}/installed
started=$(date +%s)

$pip install "$("$python" tools/extra.py --build)"
# shellcheck disable=SC2046 # one word for each dependency
$pip install $("$python" tools/extra.py --run) &
dependencies=$!
rm -rf "$wheels"
built=0
"$python" -m maturin build --release --locked --out "$wheels" || built=$?
wait "$dependencies"
[ "$built" = 0 ] || exit "$built"
$pip install --no-deps --force-reinstall "$wheels"/*.whl
echo "built and installed in $(($(date +%s) - started)) s"
