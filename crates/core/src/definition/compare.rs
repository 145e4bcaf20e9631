//! What differs between the schemas of two versions and is explained by no operation.
//!
//! A difference nobody thought of is how a conversion loses data: a field inside a list item that the other version
//! prunes, an enum that is narrower, a bound that an old object breaks. So each must have an operation, or be accepted by
//! name with a reason.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_saphyr::Spanned;

use super::document::Accept;
use super::load::{Problems, line};
use super::{Lens, Operation, Path, Schema};

/// A comparison under way.
pub(super) struct Compare<'a> {
    accept: &'a [Spanned<Accept>],
    used: BTreeSet<usize>,
    problems: &'a mut Problems,
    line: u64,
}

/// The operations at one level: whose paths are explained, and where to go on inside.
struct Explained<'a> {
    operations: &'a [Operation],
    /// Older fields that the status block handles.
    requests: &'a [Path],
}

impl Explained<'_> {
    fn older(&self, path: &Path) -> bool {
        self.requests.contains(path)
            || self.operations.iter().flat_map(|o| &o.places.older).any(|place| place.path == *path)
    }

    fn newer(&self, path: &Path) -> bool {
        self.operations.iter().flat_map(|o| &o.places.newer).any(|place| place.path == *path)
    }

    fn inside(&self, path: &Path) -> bool {
        let places =
            self.operations.iter().flat_map(|o| o.places.older.iter().chain(&o.places.newer));
        places
            .map(|place| &place.path)
            .chain(self.requests)
            .any(|other| other != path && other.starts_with(path))
    }
}

impl<'a> Compare<'a> {
    pub(super) fn new(accept: &'a [Spanned<Accept>], problems: &'a mut Problems) -> Self {
        Self { accept, used: BTreeSet::new(), problems, line: 0 }
    }

    /// Compares two schemas and reports what is not explained, and what is accepted for nothing.
    pub(super) fn run(
        &mut self,
        older: &Schema,
        newer: &Schema,
        operations: &[Operation],
        requests: &[Path],
        line: u64,
    ) {
        self.line = line;
        self.level("", older, newer, operations, requests);
        for (index, accept) in self.accept.iter().enumerate() {
            if !self.used.contains(&index) {
                let Accept { path, difference, .. } = &accept.value;
                let message =
                    format!("accept: {path} does not differ in {difference:?}: nothing to accept");
                self.problems.add(self::line(accept), message);
            } else if accept.value.reason.trim().is_empty() {
                self.problems.add(
                    self::line(accept),
                    format!("accept: {}: say why, in `reason`", accept.value.path),
                );
            }
        }
    }

    fn level(
        &mut self,
        prefix: &str,
        older: &Schema,
        newer: &Schema,
        operations: &[Operation],
        requests: &[Path],
    ) {
        let explained = Explained { operations, requests };
        if !(explained.older(&Path::default()) || explained.newer(&Path::default())) {
            self.walk(prefix, &Path::default(), Some(older), Some(newer), &explained);
        }
        for operation in operations {
            self.operation(prefix, operation);
        }
    }

    /// What an operation leaves to be compared.
    fn operation(&mut self, prefix: &str, operation: &Operation) {
        let (Some(older), Some(newer)) =
            (operation.places.older.first(), operation.places.newer.first())
        else {
            return;
        };
        let at = name(prefix, &older.path);
        let none = Explained { operations: &[], requests: &[] };
        match &operation.lens {
            Lens::Same => self.pair(&at, &older.schema, &newer.schema, &none),
            Lens::Wrap => match &newer.schema.each {
                Some(item) if newer.schema.kind.as_deref() == Some("array") => {
                    self.pair(
                        &at,
                        &Schema { nullable: item.nullable, ..older.schema.clone() },
                        item,
                        &none,
                    );
                }
                _ => self.problems.add(self.line, format!("wrap: {} must be a list", newer.path)),
            },
            Lens::Blank { .. } => {
                if older.schema.kind != newer.schema.kind {
                    self.differ(
                        &at,
                        "type",
                        &shown(&older.schema.kind),
                        &shown(&newer.schema.kind),
                    );
                }
                self.bounds(&at, &older.schema, &newer.schema);
            }
            Lens::Values { pairs } => {
                // What is left of a closed set of values; a boolean is one too.
                let left = |schema: &Schema, mapped: Vec<String>| -> Option<Vec<Value>> {
                    let boolean = || {
                        (schema.kind.as_deref() == Some("boolean"))
                            .then(|| vec![Value::from(false), Value::from(true)])
                    };
                    let all = schema.options.clone().or_else(boolean)?;
                    Some(
                        all.into_iter()
                            .filter(|option| !mapped.contains(&option.to_string()))
                            .collect(),
                    )
                };
                let rest = Schema {
                    options: left(
                        &older.schema,
                        pairs.iter().map(|pair| pair.older.to_text()).collect(),
                    ),
                    ..older.schema.clone()
                };
                let other = Schema {
                    options: left(
                        &newer.schema,
                        pairs.iter().map(|pair| pair.newer.to_text()).collect(),
                    ),
                    kind: older.schema.kind.clone(),
                    format: older.schema.format.clone(),
                    ..newer.schema.clone()
                };
                self.pair(&at, &rest, &other, &none);
            }
            Lens::Type => {
                let scalar = |schema: &Schema| {
                    !matches!(schema.kind.as_deref(), Some("object" | "array") | None)
                };
                if !scalar(&older.schema) || !scalar(&newer.schema) {
                    self.problems.add(
                        self.line,
                        format!(
                            "type: {at} must be a string, a number or a boolean in both versions"
                        ),
                    );
                }
                if older.schema.nullable != newer.schema.nullable {
                    self.differ(
                        &at,
                        "nullable",
                        &older.schema.nullable.to_string(),
                        &newer.schema.nullable.to_string(),
                    );
                }
            }
            Lens::Each { level, .. } => {
                let (older, newer) = (&older.schema, &newer.schema);
                let shell = |schema: &Schema| Schema { each: None, ..schema.clone() };
                self.pair(&at, &shell(older), &shell(newer), &none);
                if let (Some(older), Some(newer)) = (&older.each, &newer.each) {
                    self.level(&format!("{at}[*]"), older, newer, &level.operations, &[]);
                }
            }
            Lens::IntoMap { .. } | Lens::OneSided | Lens::Split { .. } => {}
        }
    }

    /// Goes through the fields that both, or one of them, have at a place.
    fn walk(
        &mut self,
        prefix: &str,
        path: &Path,
        older: Option<&Schema>,
        newer: Option<&Schema>,
        explained: &Explained<'_>,
    ) {
        let properties = |schema: Option<&Schema>| {
            schema.map(|schema| schema.properties.clone()).unwrap_or_default()
        };
        let (older_properties, newer_properties) = (properties(older), properties(newer));
        let names: BTreeSet<&String> =
            older_properties.keys().chain(newer_properties.keys()).collect();
        for field in names {
            let inner = path.join(field);
            let one = older_properties.get(field).filter(|_| !explained.older(&inner));
            let two = newer_properties.get(field).filter(|_| !explained.newer(&inner));
            let at = name(prefix, &inner);
            match (one, two) {
                (None, None) => {}
                (Some(one), Some(two)) => {
                    let requires = |schema: Option<&Schema>| schema.is_some_and(|schema| schema.required.contains(field));
                    if requires(older) != requires(newer) {
                        self.differ(&at, "required", &requires(older).to_string(), &requires(newer).to_string());
                    }
                    self.shell(&at, one, two);
                    self.walk(prefix, &inner, Some(one), Some(two), explained);
                    self.contents(&at, one, two);
                }
                (one, two) if explained.inside(&inner) => self.walk(prefix, &inner, one, two, explained),
                (Some(_), None) => self.problems.add(
                    self.line,
                    format!("{at}: only the older version has it, and no operation says so: add `{}`, or `rename`/`move` it", advice("drop", &at)),
                ),
                (None, Some(_)) => self.problems.add(
                    self.line,
                    format!("{at}: only the newer version has it, and no operation says so: add `{}`, or `rename`/`move` to it", advice("add", &at)),
                ),
            }
        }
    }

    fn pair(&mut self, at: &str, older: &Schema, newer: &Schema, explained: &Explained<'_>) {
        self.shell(at, older, newer);
        self.walk(at, &Path::default(), Some(older), Some(newer), explained);
        self.contents(at, older, newer);
    }

    fn contents(&mut self, at: &str, older: &Schema, newer: &Schema) {
        let none = Explained { operations: &[], requests: &[] };
        match (&older.each, &newer.each) {
            (Some(one), Some(two)) => self.pair(&format!("{at}[*]"), one, two, &none),
            (None, None) => {}
            (one, _) => {
                let say = |has: bool| if has { "a schema" } else { "none" };
                self.differ(at, "items", say(one.is_some()), say(one.is_none()));
            }
        }
    }

    /// Compares what is said of a value itself.
    fn shell(&mut self, at: &str, older: &Schema, newer: &Schema) {
        let kind = |schema: &Schema| schema.kind.clone();
        if kind(older) != kind(newer) {
            self.differ(at, "type", &shown(&kind(older)), &shown(&kind(newer)));
        }
        if older.format != newer.format {
            self.differ(at, "format", &shown(&older.format), &shown(&newer.format));
        }
        if older.nullable != newer.nullable {
            self.differ(at, "nullable", &older.nullable.to_string(), &newer.nullable.to_string());
        }
        if older.preserve != newer.preserve {
            self.differ(
                at,
                "preserve-unknown-fields",
                &older.preserve.to_string(),
                &newer.preserve.to_string(),
            );
        }
        let options = |schema: &Schema| {
            schema
                .options
                .as_ref()
                .map(|list| list.iter().map(ToString::to_string).collect::<BTreeSet<_>>())
        };
        let (one, two) = (options(older), options(newer));
        if one != two {
            let show = |set: &Option<BTreeSet<String>>| {
                set.as_ref().map_or_else(
                    || "anything".to_owned(),
                    |set| set.iter().cloned().collect::<Vec<_>>().join(" "),
                )
            };
            self.differ(at, "enum", &show(&one), &show(&two));
        }
        self.bounds(at, older, newer);
    }

    fn bounds(&mut self, at: &str, older: &Schema, newer: &Schema) {
        let keys: BTreeSet<&String> = older.bounds.keys().chain(newer.bounds.keys()).collect();
        for key in keys {
            let (one, two) = (older.bounds.get(key), newer.bounds.get(key));
            if one != two {
                let show = |value: Option<&Value>| {
                    value.map_or_else(|| "none".to_owned(), ToString::to_string)
                };
                self.differ(at, key, &show(one), &show(two));
            }
        }
    }

    fn differ(&mut self, at: &str, difference: &str, older: &str, newer: &str) {
        let accepted = self
            .accept
            .iter()
            .position(|accept| accept.value.path == at && accept.value.difference == difference);
        match accepted {
            Some(index) => {
                self.used.insert(index);
            }
            None => self.problems.add(
                self.line,
                format!(
                    "{at}: {difference} differs and no operation explains it (older: {older}; newer: {newer}): \
                     add one, or `accept: {{path: {at}, difference: {difference}, reason: …}}`"
                ),
            ),
        }
    }
}

fn shown(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "none".to_owned())
}

/// How a place is named in messages: list items and map values are `[*]`.
fn name(prefix: &str, path: &Path) -> String {
    match (prefix.is_empty(), path.is_empty()) {
        (true, _) => path.to_string(),
        (false, true) => prefix.to_owned(),
        (false, false) => format!("{prefix}.{path}"),
    }
}

/// The operation that would explain a field, as it is written: inside lists and maps it stands under `each`.
fn advice(operation: &str, at: &str) -> String {
    match at.split_once("[*]") {
        Some((list, inside)) => {
            let inside = inside.strip_prefix('.').unwrap_or(inside);
            let inside = if inside.is_empty() { "." } else { inside };
            format!("each: {{in: {list}, operations: [{{{}}}]}}", advice(operation, inside))
        }
        None => format!("{operation}: {at}"),
    }
}
