#!/bin/sh
# Fills fuzz/corpus from recorded reviews and fixtures. The corpus is not committed.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/review corpus/roundtrip
python3 - <<'PYTHON'
import glob, hashlib, json
def seed(target, value):
    text = json.dumps(value, separators=(",", ":")).encode()
    open(f"corpus/{target}/{hashlib.sha256(text).hexdigest()[:16]}", "wb").write(text)
for file in glob.glob("../tests/data/captures/*.json"):
    for call in json.load(open(file)):
        if call["path"].startswith("/convert"):
            seed("review", call["request"])
            for object in call["request"]["request"]["objects"]:
                seed("roundtrip", object)
for file in glob.glob("../tests/data/fixtures/converted/*.json"):
    object = json.load(open(file))
    seed("roundtrip", object)
    group, version = object["apiVersion"].split("/")
    other = {"v1alpha1": "v1alpha2", "v1alpha2": "v1alpha1"}[version]
    seed("review", {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                    "request": {"uid": "u", "desiredAPIVersion": f"{group}/{other}", "objects": [object]}})
PYTHON
ls corpus/review | wc -l
ls corpus/roundtrip | wc -l
