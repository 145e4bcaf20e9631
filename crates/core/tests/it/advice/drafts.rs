//! Drafts for any CRD load, unless the CRD is invalid or the messages name what the CRD has to change.

use pointsman_core::definition::{Kind, Remedy};
use pointsman_core::draft::{Draft, DraftError};
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, check};
use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_test_support::random_kinds::{Draft as RandomKind, Manner};
use serde_json::Value;

use super::{pairs, seeds, vendors};
use crate::laws::number;

/// The ends of several drafts.
#[derive(Default)]
struct Drafted {
    loaded: usize,
    explained: Vec<String>,
    stuck: Vec<String>,
}

impl Drafted {
    fn add(&mut self, name: &str, crd: &Value) {
        match Draft::of_crd(&crd.to_string(), "things.crd.yaml") {
            Ok(_) => self.loaded += 1,
            // The API server refuses the CRD.
            Err(DraftError::Crd(_) | DraftError::OneVersion { .. }) => {}
            Err(DraftError::Inexpressible(bad)) => {
                let is_explained = bad.problems.iter().all(|problem| problem.remedy == Some(Remedy::Crd));
                let ends = if is_explained { &mut self.explained } else { &mut self.stuck };
                ends.push(format!("{name}: {bad}"));
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }

    #[track_caller]
    fn check(&self, name: &str) {
        let [explained, stuck] = [&self.explained, &self.stuck].map(Vec::len);
        println!("{name}: {} drafts loaded, {explained} explained, {stuck} stuck", self.loaded);
        println!("{}", self.explained.join("\n"));
        assert!(stuck == 0, "{stuck} stuck:\n{}", self.stuck.join("\n\n"));
        assert!(explained * 50 <= self.loaded, "{}", self.explained.join("\n\n"));
    }
}

#[test]
fn drafts_for_random_pairs_load() {
    let mut drafted = Drafted::default();
    for seed in seeds() {
        drafted.add(&format!("seed {seed}"), &pairs::crd(seed));
    }
    drafted.check("random pairs");
}

/// `POINTSMAN_PAIRS` is the number of drafts.
#[test]
fn drafts_for_random_pairs_are_lawful() {
    let words = Dictionary::default();
    let first = number("POINTSMAN_SEED", 0);
    let mut broken = Vec::new();
    for seed in first..first + number("POINTSMAN_PAIRS", 60) {
        let crd = pairs::crd(seed).to_string();
        let Ok(draft) = Draft::of_crd(&crd, "things.crd.yaml") else { continue };
        let kind = Kind::from_crd(&draft.text, &crd).unwrap();
        let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap();
        let mut options =
            CheckOptions { seed, cases: 4, laws: &LAWS, words: &words, has_time: &mut || true, converted: &|| {} };
        if let Err(violation) = check(&webhook, &webhook.kinds()[0], &mut options) {
            broken.push(format!("seed {seed}: {violation}\n{}", draft.text));
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n\n"));
}

#[test]
fn drafts_for_random_kinds_load() {
    let mut drafted = Drafted::default();
    for (seed, manner) in seeds().flat_map(|seed| [(seed, Manner::Sensible), (seed, Manner::Hostile)]) {
        drafted.add(&format!("{manner:?} {seed}"), &RandomKind::random(seed, manner).crd);
    }
    drafted.check("random kinds");
}

#[test]
fn drafts_for_vendor_crds_load() {
    let mut drafted = Drafted::default();
    for name in vendors::names() {
        drafted.add(&name, &vendors::crd(&name));
    }
    drafted.check("vendor CRDs");
}
