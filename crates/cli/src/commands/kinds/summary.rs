//! A kind, for programs.

use crate::commands::json_tree::JsonTree;
use crate::commands::kinds_dir::Known;

pub(super) fn json(known: &Known) -> JsonTree {
    let kind = &known.kind;
    let steps = kind.steps().into_iter().map(|step| {
        let operations = step.operations.into_iter().map(JsonTree::string).collect();
        JsonTree::object([
            ("from", JsonTree::string(step.from)),
            ("to", JsonTree::string(step.to)),
            ("operations", JsonTree::Array(operations)),
        ])
    });
    JsonTree::object([
        ("name", JsonTree::string(kind.name())),
        ("group", JsonTree::string(kind.group())),
        ("kind", JsonTree::string(kind.kind())),
        ("plural", JsonTree::string(kind.plural())),
        ("versions", JsonTree::Array(kind.versions().map(JsonTree::string).collect())),
        ("storage", JsonTree::string(kind.storage())),
        ("hashAt", kind.hash_version().map_or(JsonTree::Null, JsonTree::string)),
        ("steps", JsonTree::Array(steps.collect())),
        ("source", JsonTree::string(known.source())),
    ])
}
