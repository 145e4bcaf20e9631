//! The Common Expression Language of the API server.

use serde_json::Value;

use crate::definition::Path;

/// A string literal, which has the same syntax as in JSON.
pub fn literal(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

/// The name of a property in CEL, if it has one: `-`, `.`, `/` and keywords are escaped (`apiserver
/// pkg/cel/escaping.go`).
pub(in crate::registration) fn property(name: &str) -> Option<String> {
    let sayable = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.bytes().all(sayable) {
        return None;
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    let is_reserved = RESERVED.split(' ').any(|word| word == escaped);
    Some(if is_reserved { format!("__{escaped}__") } else { escaped })
}

/// A field of an object in CEL.
pub(in crate::registration) fn field_of(object: &str, field: &Path) -> Option<String> {
    field.names().iter().try_fold(object.to_owned(), |holder, name| Some(format!("{holder}.{}", property(name)?)))
}

/// An expression for whether an object has a field, including its parents.
pub(in crate::registration) fn there(object: &str, field: &Path) -> Option<String> {
    let ways = (1..=field.len()).map(|depth| {
        let names = field.names().iter().take(depth);
        let way = names.fold(Path::default(), |way, name| way.join(name));
        Some(format!("has({})", field_of(object, &way)?))
    });
    Some(ways.collect::<Option<Vec<_>>>()?.join(" && "))
}

const RESERVED: &str = "while true false null in as break const continue else for function if import let loop package \
                        namespace return var void";
