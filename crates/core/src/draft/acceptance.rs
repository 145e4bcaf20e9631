//! Accepted differences of a drafted step.

use super::review::NOT_REVIEWED;
use serde_json::Value;

use super::flow::flow;

/// A difference that needs no operation.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Acceptance {
    pub(super) path: String,
    pub(super) differences: Vec<String>,
}

impl Acceptance {
    /// Reads a proposal. `None` if the text is no acceptance.
    pub(super) fn proposed(text: &str) -> Option<Self> {
        let value: Value = serde_saphyr::from_str(text).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { path: text("path")?, differences: vec![text("difference")?] })
    }

    /// The acceptance as an entry of a definition.
    pub(super) fn text(&self) -> String {
        let difference = match self.differences.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let (path, reason) = (flow(&Value::from(self.path.as_str())), flow(&Value::from(self.reason())));
        format!("{{path: {path}, difference: {difference}, reason: {reason}}}")
    }

    /// The effect of the difference, for the reader who decides whether it is intended.
    fn reason(&self) -> String {
        let effects: Vec<&str> = self.differences.iter().map(|difference| effect(difference)).collect();
        let mut distinct: Vec<&str> = Vec::new();
        for effect in effects {
            if !distinct.contains(&effect) {
                distinct.push(effect);
            }
        }
        format!("{}; {NOT_REVIEWED}", distinct.join(", "))
    }

    /// Puts the differences of one path into one entry. Many bounds are one entry for the whole step.
    pub(super) fn grouped(acceptances: &[Self]) -> Vec<Self> {
        let mut grouped: Vec<Self> = Vec::new();
        let is_bound = |difference: &String| effect(difference) == BOUNDS;
        let bounds = acceptances.iter().filter(|accept| accept.differences.iter().any(is_bound));
        let merges_bounds = bounds.count() >= MANY_BOUNDS;
        for Self { path, differences } in acceptances {
            let differences: Vec<String> =
                differences.iter().filter(|difference| !merges_bounds || !is_bound(difference)).cloned().collect();
            if differences.is_empty() {
                continue;
            }
            match grouped.iter_mut().find(|other| other.path == *path) {
                Some(other) => other.differences.extend(differences),
                None => grouped.push(Self { path: path.clone(), differences }),
            }
        }
        if merges_bounds {
            grouped.push(Self { path: "**".to_owned(), differences: vec!["bounds".to_owned()] });
        }
        grouped
    }
}

fn effect(difference: &str) -> &'static str {
    match difference {
        "default" => "each version sets its own default",
        "enum" => "values are copied unchanged",
        "format" => "values are copied unchanged",
        "items" => "one version preserves unknown fields",
        "nullable" => "a null value becomes a kept field",
        "required" => "objects without the field can be read, but a change needs a value",
        "type" => "values that one type cannot represent are kept",
        "x-kubernetes-validations" => "writes are validated with the rules of their version",
        "x-kubernetes-list-type" | "x-kubernetes-list-map-keys" => {
            "server-side apply merges the lists of each version by its own keys"
        }
        _ => BOUNDS,
    }
}

/// The effect of a bound, such as `minLength`.
const BOUNDS: &str = "writes are validated with the bounds of their version";

/// With at least this many different bounds, one entry covers the whole step.
const MANY_BOUNDS: usize = 4;
