//! What a decision costs in memory, counted at the allocator: no more than the server has put aside for it,
//! whatever is in the body.
//!
//! A binary of its own: its bodies take seconds, and it is the law that the server relies on.

// Here clippy's allowances for tests hold in helpers, too.
#![cfg(test)]

mod bodies;

use allocation_counter::measure;
use pointsman_core::definition::Kind;
use pointsman_core::webhook::{Metadata, Webhook, weight};

#[test]
fn a_decision_takes_no_more_than_its_weight() {
    let mut kinds = Kind::embedded().unwrap();
    kinds.extend(["mailboxes", "proxies"].map(load));
    let webhook = Webhook::new(kinds, Metadata::Identity).unwrap();
    let mut over = Vec::new();
    for (name, endpoint, body) in bodies::all() {
        let held = measure(|| drop(webhook.handle(endpoint, body.as_bytes()))).bytes_max;
        let weight = weight(endpoint, body.as_bytes());
        println!("{:3} % of {weight:9}: {name}, {} bytes", held * 100 / weight, body.len());
        if held > weight {
            over.push(format!("{name}: {held} of {weight}"));
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

fn load(name: &str) -> Kind {
    let read =
        |file: &str| std::fs::read_to_string(format!("{}/../../tests/data/kinds/{file}", env!("CARGO_MANIFEST_DIR")));
    let file = format!("{name}.yaml");
    Kind::load(&file, &read(&file).unwrap(), &mut |file| read(file)).unwrap()
}
