#!/bin/sh
# Whether the committed report page is what viewer/ builds. Without Node there is nothing to compare with:
# the page is committed so that nobody needs Node.

cd "$(dirname "$0")/../viewer" || exit 1
page=../python/penstock/report/viewer.html
if ! command -v node >/dev/null 2>&1; then
    echo "report page: skipped, no node"
    exit 0
fi
if [ ! -d node_modules ]; then
    echo "report page: skipped, no viewer/node_modules (npm ci in viewer/ makes them)"
    exit 0
fi
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
npm run --silent check >&2 && npm run --silent test >&2 || exit 1
npm run --silent build -- --outDir "$built" --emptyOutDir false --logLevel warn || exit 1
if cmp -s "$built/viewer.html" "$page"; then
    echo "report page: fresh"
else
    echo "report page: stale; npm run build in viewer/ and commit $page" >&2
    exit 1
fi
