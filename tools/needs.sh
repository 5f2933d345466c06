#!/bin/sh
# Says what is missing on this machine to build Penstock, and what to do about it. Silent if nothing is.
#
#     tools/needs.sh [PYTHON]

python=${1:-python3}
missing=0

lacks() {
    missing=1
    printf 'missing: %s\n         %s\n' "$1" "$2" >&2
}

# at_least HAVE WANT: compares two versions of the form 1.88
at_least() {
    printf '%s %s\n' "$1" "$2" | awk '{ split($1, have, "."); split($2, want, ".");
        exit !(have[1] + 0 > want[1] + 0 || (have[1] + 0 == want[1] + 0 && have[2] + 0 >= want[2] + 0)) }'
}

rust_hint='install it from https://rustup.rs, or bring it up to date with: rustup update stable'
for tool in rustc cargo; do
    if ! version=$($tool --version 2>/dev/null); then
        lacks "$tool 1.88 or later" "$rust_hint"
    elif ! at_least "$(printf '%s' "$version" | awk '{print $2}')" 1.88; then
        lacks "$tool 1.88 or later; here is $version" "$rust_hint"
    fi
done

python_hint='install it from your system, such as: sudo apt install python3 python3-venv; or name another: make PYTHON=/path/to/python3'
if ! version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); then
    lacks "Python 3.11 or later ($python does not run)" "$python_hint"
elif ! at_least "$version" 3.11; then
    lacks "Python 3.11 or later; $python is $version" "$python_hint"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    lacks "the modules venv and ensurepip of $python" 'install them, such as: sudo apt install python3-venv'
fi

if ! command -v "${CC:-cc}" >/dev/null 2>&1; then
    lacks "a C compiler (${CC:-cc}), which Rust links with" \
        'install one, such as: sudo apt install build-essential; on macOS: xcode-select --install'
fi

exit $missing
