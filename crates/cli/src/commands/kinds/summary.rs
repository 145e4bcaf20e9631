//! A kind, for programs.

use pointsman_core::definition::StepSummary;

use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::{LoadedKind, LoadedMutations};

pub(super) fn json(known: &LoadedKind) -> JsonTree {
    let kind = &known.kind;
    let steps = kind.steps().into_iter().map(step);
    let replaces = kind.becoming().map(|becoming| {
        let [group, plural] = [becoming.source_group(), becoming.source_plural()].map(JsonTree::string);
        let refusals = becoming.refusals().map(JsonTree::string).collect();
        JsonTree::object([
            ("group", group),
            ("kind", JsonTree::string(becoming.source_kind())),
            ("plural", plural),
            ("facts", JsonTree::Array(becoming.facts().map(JsonTree::string).collect())),
            ("refuse", JsonTree::Array(refusals)),
            ("steps", JsonTree::Array(becoming.bridge().steps().into_iter().map(step).collect())),
        ])
    });
    let mut object = JsonTree::object([
        ("name", JsonTree::string(kind.name())),
        ("group", JsonTree::string(kind.group())),
        ("kind", JsonTree::string(kind.kind())),
        ("plural", JsonTree::string(kind.plural())),
        ("versions", JsonTree::Array(kind.versions().map(JsonTree::string).collect())),
        ("storage", JsonTree::string(kind.storage())),
        ("hashAt", kind.hash_version().map_or(JsonTree::Null, JsonTree::string)),
        ("steps", JsonTree::Array(steps.collect())),
        ("source", JsonTree::string(known.source())),
    ]);
    if let Some(replaces) = replaces {
        object.set("replaces", replaces);
    }
    object
}

fn step(step: StepSummary) -> JsonTree {
    let operations = step.operations.into_iter().map(JsonTree::string).collect();
    JsonTree::object([
        ("from", JsonTree::string(step.from)),
        ("to", JsonTree::string(step.to)),
        ("operations", JsonTree::Array(operations)),
    ])
}

/// Mutations, for programs.
pub(super) fn of_mutations(known: &LoadedMutations) -> JsonTree {
    let mutated = &known.mutated;
    let mutations = mutated.describe().into_iter().zip(mutated.mutations()).map(|((_, operations), name)| {
        let operations = operations.into_iter().map(JsonTree::string).collect();
        JsonTree::object([("name", JsonTree::string(name)), ("operations", JsonTree::Array(operations))])
    });
    let facts = mutated.facts().into_iter().map(|fact| JsonTree::string(fact.to_string()));
    JsonTree::object([
        ("name", JsonTree::string(mutated.name())),
        ("group", JsonTree::string(mutated.group())),
        ("kind", JsonTree::string(mutated.kind())),
        ("plural", JsonTree::string(mutated.plural())),
        ("versions", JsonTree::Array(vec![JsonTree::string(mutated.version())])),
        ("mutations", JsonTree::Array(mutations.collect())),
        ("facts", JsonTree::Array(facts.collect())),
        ("source", JsonTree::string(&known.file)),
    ])
}
