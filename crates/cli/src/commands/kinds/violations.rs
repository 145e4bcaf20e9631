//! A violated law, for people and for programs.

use pointsman_core::laws::{Broken, Value};

use crate::commands::{json_tree::JsonTree, yaml};

/// Additional information about a violation.
pub(super) struct ViolationContext<'t> {
    /// The file of the definition.
    pub(super) file: &'t str,
    /// The place of the original sample.
    pub(super) sample: Option<String>,
    /// The command that reproduces the violation.
    pub(super) again: &'t str,
}

/// Place, law and its text, in one line.
pub(super) fn headline(broken: &Broken, file: &str) -> String {
    let (from, to) = &broken.versions;
    let place = match broken.line {
        0 => file.to_owned(),
        line => format!("{file}:{line}"),
    };
    format!("{place}: a law of conversion is broken, {}, from {from} to {to}: {}", broken.law, broken.text)
}

/// The details below the headline, line by line.
pub(super) fn story(broken: &Broken, context: &ViolationContext<'_>) -> String {
    let (from, to) = &broken.versions;
    let mut out = vec![format!("problem: {}", cut(&broken.message))];
    out.extend(broken.operation.iter().map(|operation| format!("the operation at fault: {operation}")));
    out.extend(context.sample.iter().map(|sample| format!("found with {sample}")));
    let caption = format!("the smallest object that shows the problem, at {from}; converted to {to}");
    for (what, object) in std::iter::once((caption.as_str(), &broken.object)).chain(pages(broken)) {
        out.push(format!("# {what}"));
        out.extend(yaml::write(&readable(object)).lines().map(str::to_owned));
    }
    out.push(format!("to repeat the trial: {}", context.again));
    let change = match broken.line {
        0 => "change the step".to_owned(),
        line => format!("change the operation in line {line} of {}", context.file),
    };
    out.push(format!(
        "next: {change} and check again. If the definition is right, report a bug with this output, the \
             definition and the CRD"
    ));
    out.iter().map(|line| format!("  {line}\n")).collect()
}

fn pages(broken: &Broken) -> impl Iterator<Item = (&str, &Value)> {
    broken.story.iter().map(|(what, object)| (what.as_str(), object))
}

/// The violation, for programs.
pub(super) fn json(broken: &Broken, context: &ViolationContext<'_>) -> JsonTree {
    let (from, to) = &broken.versions;
    let story = pages(broken)
        .map(|(what, object)| JsonTree::object([("what", JsonTree::string(what)), ("object", whole(object))]));
    let story = story.collect();
    let or_null = |text: &Option<String>| text.as_ref().map_or(JsonTree::Null, JsonTree::string);
    JsonTree::object([
        ("law", JsonTree::string(broken.law)),
        ("text", JsonTree::string(broken.text)),
        ("from", JsonTree::string(from)),
        ("to", JsonTree::string(to)),
        ("message", JsonTree::string(&broken.message)),
        ("operation", or_null(&broken.operation)),
        ("line", if broken.line == 0 { JsonTree::Null } else { JsonTree::Number(broken.line.to_string()) }),
        ("seed", JsonTree::Number(broken.seed.to_string())),
        ("sample", or_null(&context.sample)),
        ("object", whole(&broken.object)),
        ("story", JsonTree::Array(story)),
        ("again", JsonTree::string(context.again)),
    ])
}

pub(super) fn whole(object: &Value) -> JsonTree {
    let text = object.to_text();
    JsonTree::from_json(&text).unwrap_or_else(|_| JsonTree::string(text))
}

/// An object with long strings shortened.
fn readable(object: &Value) -> JsonTree {
    let mut object = object.clone();
    for way in object.ways() {
        if let Some(Value::Text(text)) = object.at_mut(&way) {
            *text = cut(text);
        }
    }
    whole(&object)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(READABLE) {
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => text.to_owned(),
    }
}

/// The maximum length of a printed string.
const READABLE: usize = 1_000;
