#!/bin/sh
# Builds editor.js.gz, which the server embeds, from the exact versions of package-lock.json. Needs npm and the network.
# The same versions give the same bytes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$here/entry.js" "$here/package.json" "$here/package-lock.json" "$here/LICENSE" "$scratch"
cd "$scratch"
npm ci --silent --no-audit --no-fund
node_modules/.bin/esbuild entry.js --bundle --minify --format=iife --global-name=Editor --target=es2022 \
    --banner:js="/* CodeMirror. $(cat LICENSE) */" --legal-comments=none --log-level=warning --outfile=editor.js
gzip -9 -n editor.js
cp editor.js.gz "$here/editor.js.gz"
