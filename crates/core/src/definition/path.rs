//! A path to a field: `spec.a.b`, with `["…"]` around a name that contains a dot.

use std::fmt;

/// The names of a path, outermost first. Empty for an item itself (written `.`).
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Path(Vec<Box<str>>);

impl Path {
    /// Parses a path, or returns the error message.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "." {
            return Ok(Self::default());
        }
        let mut names: Vec<Box<str>> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("[\"") {
                let Some((name, tail)) = quoted_name(quoted) else {
                    return Err(format!("path {text:?}: [\" without \"]"));
                };
                names.push(name.into());
                rest = tail.strip_prefix('.').unwrap_or(tail);
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, tail) = rest.split_at(end);
            if let Some(after) = tail.strip_prefix("[*]") {
                let list = text.strip_suffix(tail).unwrap_or(text).trim_end_matches('.');
                let after = after.trim_start_matches('.');
                let inside = if after.is_empty() { "." } else { after };
                return Err(format!(
                    "path {text:?}: items are reached by `each: {{in: {list}, operations: […]}}`; inside, the path is {inside}"
                ));
            }
            if name.is_empty() {
                return Err(format!("path {text:?}: an empty name"));
            }
            names.push(name.into());
            rest = tail.strip_prefix('.').unwrap_or(tail);
            if tail == "." {
                return Err(format!("path {text:?}: ends with a dot"));
            }
        }
        if names.is_empty() {
            return Err("an empty path".to_owned());
        }
        Ok(Self(names))
    }

    /// The names of the fields, from the root of the object.
    pub fn names(&self) -> &[Box<str>] {
        &self.0
    }

    /// True for the path of the object itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns how many leading names two paths have in common.
    pub fn common(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).take_while(|(one, two)| one == two).count()
    }

    /// The path of a field of this object.
    pub fn join(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.into());
        Self(names)
    }

    /// Splits the path after `count` names.
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        let (one, two) = self.0.split_at(count.min(self.0.len()));
        (Self(one.to_vec()), Self(two.to_vec()))
    }

    /// The path of the enclosing value. `None` for a path without names.
    pub fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, rest)| Self(rest.to_vec()))
    }

    /// The path for messages, with the path of the enclosing value as prefix. Items of lists and maps are `[*]` there.
    pub(crate) fn after(&self, prefix: &str) -> String {
        match (prefix.is_empty(), self.is_empty()) {
            (true, _) => self.to_string(),
            (false, true) => prefix.to_owned(),
            (false, false) => format!("{prefix}.{self}"),
        }
    }

    /// The path of the same field after a move from `from` to `to`.
    pub(crate) fn moved(&self, from: &Self, to: &Self) -> Self {
        let rest = self.0.get(from.0.len()..).unwrap_or_default();
        Self(to.0.iter().chain(rest).cloned().collect())
    }

    /// The same path below another place.
    pub(crate) fn below(&self, other: &Self) -> Self {
        self.moved(&Self::default(), other)
    }

    /// The rest of the path below another path. `None` if no name is left.
    pub(crate) fn strip(&self, other: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(other.0.as_slice())?;
        (!rest.is_empty()).then(|| Self(rest.to_vec()))
    }

    /// Whether `self` is `other` or a place inside it.
    #[must_use]
    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

/// Splits a quoted name at the closing `"]`. A backslash escapes a quote or a backslash.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => {
                let tail = text.get(at + 1..)?.strip_prefix(']')?;
                return Some((name, tail));
            }
            '\\' => name.push(rest.next().map(|(_, c)| c).filter(|c| matches!(c, '"' | '\\'))?),
            c => name.push(c),
        }
    }
    None
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (index, name) in self.0.iter().enumerate() {
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$'));
            match (plain, index) {
                (true, 0) => f.write_str(name)?,
                (true, _) => write!(f, ".{name}")?,
                (false, _) => write!(f, "[{name:?}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_brackets_are_a_name() {
        let path = Path::parse(r#"spec["[*]"].b"#).unwrap();
        assert_eq!(path.names().iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["spec", "[*]", "b"]);
        assert_eq!(Path::parse(&path.to_string()).unwrap(), path);
        assert!(Path::parse("spec.a[*].b").unwrap_err().contains("each: {in: spec.a,"));
    }
}
