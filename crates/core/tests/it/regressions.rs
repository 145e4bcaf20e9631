//! Replays earlier findings of manual tests and fuzzers: `fuzz/regressions`.

use std::fs;
use std::path::{Path, PathBuf};

use pointsman_core::definition::Kind;
use pointsman_core::registration::CaBundle;
use pointsman_core::webhook::{Endpoint, Request};

use crate::kinds::WEBHOOK;

fn regressions(door: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(door);
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() > 1, "{door}");
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn regressions_stay_fixed() {
    for (path, body) in regressions("review") {
        for endpoint in [Endpoint::Convert, Endpoint::Mutate, Endpoint::Validate] {
            if let Ok(reply) = WEBHOOK.handle(&Request::new(endpoint, &body)) {
                let message = reply.message.unwrap_or_default();
                assert!(message.len() < 20_000, "{}: {message}", path.display());
            }
        }
    }
    for (path, text) in regressions("object") {
        let text = String::from_utf8(text).unwrap();
        for to in ["v1alpha1", "v1alpha2"] {
            let (one, other) = (WEBHOOK.convert(&text, to), WEBHOOK.convert(&text, to));
            assert_eq!(one.map(|one| one.text), other.map(|other| other.text), "{}", path.display());
        }
    }
    for (path, text) in regressions("write") {
        let text = String::from_utf8(text).unwrap();
        let old =
            r#"{"apiVersion":"materialize.cloud/v1alpha2","kind":"Materialize","metadata":{"name":"a"},"spec":{}}"#;
        for old in [None, Some(old)] {
            let _ = WEBHOOK.patch(&text, old);
            if let Ok((judgement, _)) = WEBHOOK.judge(&text, old) {
                let long = judgement.warnings.iter().find(|warning| warning.chars().count() > 240);
                assert_eq!(long, None, "{}", path.display());
            }
        }
    }
    let crd = WEBHOOK.kinds()[0].crd().to_string();
    for (path, text) in regressions("definition") {
        let text = String::from_utf8(text).unwrap();
        assert!(Kind::load("regression.yaml", &text, &mut |_| Ok(crd.clone())).is_err(), "{}", path.display());
    }
    for (_, pem) in regressions("bundle") {
        let _ = CaBundle::from_pem(&pem);
    }
}
