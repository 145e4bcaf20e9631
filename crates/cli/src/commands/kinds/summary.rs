//! A kind, for programs.

use crate::commands::json::Json;
use crate::commands::kinds_dir::Known;

pub(super) fn json(known: &Known) -> Json {
    let kind = &known.kind;
    let steps = kind.steps().into_iter().map(|step| {
        let operations = step.operations.into_iter().map(Json::string).collect();
        Json::object([
            ("from", Json::string(step.from)),
            ("to", Json::string(step.to)),
            ("operations", Json::Array(operations)),
        ])
    });
    Json::object([
        ("name", Json::string(kind.name())),
        ("group", Json::string(kind.group())),
        ("kind", Json::string(kind.kind())),
        ("plural", Json::string(kind.plural())),
        ("versions", Json::Array(kind.versions().map(Json::string).collect())),
        ("storage", Json::string(kind.storage())),
        ("hashAt", kind.hash_version().map_or(Json::Null, Json::string)),
        ("steps", Json::Array(steps.collect())),
        ("source", Json::string(known.source())),
    ])
}
