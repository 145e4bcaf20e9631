//! A place in the written object: its CEL expression and its JSON Pointer.

use serde_json::Value;

use crate::definition::{ContainerName, FieldRoot, LISTS, Path};
use crate::json::{Json, pointer_token};
use crate::registration::guards::cel::literal;

/// A place in the object.
#[derive(Clone)]
pub(super) struct CelPlace {
    /// The expression of the value.
    pub(super) value: String,
    /// The expression of the start of the JSON Pointer. Empty for the object itself.
    begin: String,
    /// The literal rest of the pointer.
    rest: String,
}

impl CelPlace {
    /// The object itself.
    pub(super) fn object() -> Self {
        Self { value: "object".to_owned(), begin: String::new(), rest: String::new() }
    }

    /// The object with the fact of a policy.
    pub(super) fn params() -> Self {
        Self { value: "params".to_owned(), begin: String::new(), rest: String::new() }
    }

    /// A place by two expressions, resolved at run time.
    fn found(value: &str, pointer: &str) -> Self {
        Self { value: value.to_owned(), begin: pointer.to_owned(), rest: String::new() }
    }

    /// An element of a list.
    pub(super) fn element(&self, value: &str, index: &str) -> Self {
        let begin = format!("{} + string({index})", self.and("/"));
        Self { value: value.to_owned(), begin, rest: String::new() }
    }

    /// A member of an object.
    pub(super) fn member(&self, name: &str) -> Self {
        let (value, rest) =
            (format!("{}[{}]", self.value, literal(name)), format!("{}/{}", self.rest, pointer_token(name)));
        Self { value, begin: self.begin.clone(), rest }
    }

    /// The expression of the JSON Pointer.
    pub(super) fn pointer(&self) -> String {
        self.and("")
    }

    /// The JSON Pointer of the end of a list.
    pub(super) fn end_pointer(&self) -> String {
        self.and("/-")
    }

    fn and(&self, more: &str) -> String {
        let rest = format!("{}{more}", self.rest);
        match (self.begin.is_empty(), rest.is_empty()) {
            (true, _) => literal(&rest),
            (false, true) => self.begin.clone(),
            (false, false) => format!("{} + {}", self.begin, literal(&rest)),
        }
    }

    /// An expression for whether an object has a member.
    pub(super) fn has(&self, name: &str) -> String {
        format!("{} in {}", literal(name), self.value)
    }

    /// An expression for whether a member is an object or a list.
    pub(super) fn has_a(&self, name: &str, what: &str) -> String {
        format!("{} && type({}) == {what}", self.has(name), self.member(name).value)
    }

    /// The place at a path, and the conditions for its existence.
    pub(super) fn inside(&self, way: &[Box<str>]) -> (Vec<String>, Self) {
        let mut here = self.clone();
        let mut wanted = Vec::new();
        for name in way {
            wanted.push(here.has_a(name, "map"));
            here = here.member(name);
        }
        (wanted, here)
    }
}

/// The patch, a list, at the place of a root. Empty if the object has no such place.
pub(super) fn at_root(root: &FieldRoot, pod: &Path, patch: impl FnOnce(&CelPlace) -> String) -> String {
    let object = CelPlace::object();
    let (wanted, of_pod) = object.inside(pod.names());
    match root {
        FieldRoot::Object => patch(&object),
        FieldRoot::Pod => only_if(&wanted, &patch(&of_pod)),
        FieldRoot::Container(name) => {
            let container = CelPlace::found("found[0][1]", "string(found[0][0])");
            let is_there = ["found.size() > 0".to_owned(), "type(found[0][1]) == map".to_owned()];
            only_if(&wanted, &bind("found", &containers(name, &of_pod), &only_if(&is_there, &patch(&container))))
        }
    }
}

/// The containers that a name may denote, as pointer and value of each. The first takes precedence.
fn containers(name: &ContainerName, pod: &CelPlace) -> String {
    let list = |list: &str| {
        let there = format!("({} ? {} : [])", pod.has_a(list, "list"), pod.member(list).value);
        (pod.member(list), there)
    };
    let called = |of: &str, name: &str| {
        let (place, there) = list(of);
        let is_it = format!("type(it) == map && \"name\" in it && it[\"name\"] == {name}");
        format!("{there}.transformList(i, it, {is_it}, [dyn({}), dyn(it)])", place.element("it", "i").pointer())
    };
    match name {
        ContainerName::Named(name) => LISTS.map(|list| called(list, &literal(name))).join(" + "),
        ContainerName::AsTheObject => {
            let [containers, _] = LISTS;
            let (place, there) = list(containers);
            let only = format!("[[dyn({}), dyn(it)]]", place.element("it", "0").pointer());
            let alone = bind("all", &there, &format!("all.size() != 1 ? [] : [all[0]].map(it, {only})[0]"));
            let named = called(containers, "object[\"metadata\"][\"name\"]");
            let named = format!("\"name\" in object[\"metadata\"] ? {named} : []");
            bind("named", &named, &format!("named.size() > 0 ? named : {alone}"))
        }
    }
}

/// The patch if all conditions hold, else an empty patch.
pub(super) fn only_if(wanted: &[String], patch: &str) -> String {
    if wanted.is_empty() {
        return patch.to_owned();
    }
    format!("({} ? {patch} : [])", wanted.join(" && "))
}

/// Binds a name to a value. CEL has no other construct for that.
pub(super) fn bind(name: &str, value: &str, expression: &str) -> String {
    format!("[{value}].map({name}, {expression})[0]")
}

/// An operation that adds a value, or replaces a member of an object.
pub(super) fn add(pointer: &str, value: &str) -> String {
    format!("JSONPatch{{op: \"add\", path: {pointer}, value: {value}}}")
}

/// An operation that replaces a list element.
pub(super) fn replace(pointer: &str, value: &str) -> String {
    format!("JSONPatch{{op: \"replace\", path: {pointer}, value: {value}}}")
}

/// An operation that removes a value.
pub(super) fn remove(pointer: &str) -> String {
    format!("JSONPatch{{op: \"remove\", path: {pointer}}}")
}

/// A value as a constant. Elements of lists and objects need an explicit dynamic type.
pub(super) fn constant(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(|one| format!("dyn({})", constant(one))).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| format!("{}: dyn({})", literal(name), constant(value));
            format!("{{{}}}", members.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A value of a definition.
pub(super) fn json_value(json: &Json<'static>) -> Value {
    serde_json::from_str(&json.text()).unwrap_or_default()
}

/// Concatenates lists. Splits in halves, because a parser recurses for each element of a chain.
pub(super) fn joined(lists: &[String]) -> String {
    match lists {
        [] => "[]".to_owned(),
        [one] => one.clone(),
        all => {
            let (first, second) = all.split_at(all.len() / 2);
            format!("({} + {})", joined(first), joined(second))
        }
    }
}
