//! Label selectors, in the syntax of `kubectl -l`.

use std::collections::BTreeMap;
use std::fmt;

use super::names::{is_label_value, is_qualified_name};

/// A label selector. All its requirements must hold. Without requirements it selects everything.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Selector {
    /// All of them must be met.
    pub requirements: Vec<Requirement>,
    text: String,
}

/// A requirement on one label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Requirement {
    /// The key of the label.
    pub key: String,
    /// The condition on its value.
    pub wants: Wants,
}

/// The condition on a label.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wants {
    /// `key`: the label exists.
    There,
    /// `!key`: the label does not exist.
    NotThere,
    /// One of these values.
    In(Vec<String>),
    /// None of these values, or absent.
    NotIn(Vec<String>),
}

impl Selector {
    /// Parses a selector, or returns the error message.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_as(text, &is_label_value)
    }

    /// Like `parse`, with another check of the values, such as templates.
    ///
    /// # Errors
    /// The text is no selector, or a value does not pass the check.
    pub fn parse_as(text: &str, is_value: &dyn Fn(&str) -> bool) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for part in parts(text)? {
            let requirement = Requirement::parse(part.trim(), is_value);
            requirements.push(requirement.map_err(|error| format!("selector {text:?}: {error}"))?);
        }
        Ok(Self { requirements, text: text.to_owned() })
    }

    /// Replaces the values. The text stays as written if no value changes.
    #[must_use]
    pub fn with_values(&self, other: &dyn Fn(&str) -> String) -> Self {
        let all = |values: &[String]| values.iter().map(|value| other(value)).collect();
        let wants = |wants: &Wants| match wants {
            Wants::In(values) => Wants::In(all(values)),
            Wants::NotIn(values) => Wants::NotIn(all(values)),
            Wants::There | Wants::NotThere => wants.clone(),
        };
        let one = |one: &Requirement| Requirement { key: one.key.clone(), wants: wants(&one.wants) };
        let requirements: Vec<Requirement> = self.requirements.iter().map(one).collect();
        let written = || requirements.iter().map(Requirement::to_string).collect::<Vec<_>>().join(",");
        let text = if requirements == self.requirements { self.text.clone() } else { written() };
        Self { requirements, text }
    }

    /// All values in the selector.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        let values = self.requirements.iter().flat_map(|one| match &one.wants {
            Wants::In(values) | Wants::NotIn(values) => values.as_slice(),
            Wants::There | Wants::NotThere => &[],
        });
        values.map(String::as_str)
    }

    /// True if labels meet every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|Requirement { key, wants }| {
            let value = labels.get(key);
            match wants {
                Wants::There => value.is_some(),
                Wants::NotThere => value.is_none(),
                Wants::In(values) => value.is_some_and(|value| values.contains(value)),
                Wants::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            }
        })
    }

    /// True for a selector without requirements, which selects every object.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether the selector depends on a label.
    pub fn depends_on(&self, label: &str) -> bool {
        self.requirements.iter().any(|requirement| requirement.key == label)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits at commas outside of parentheses.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or_else(|| format!("selector {text:?}: a bracket too many"))?,
            ',' if depth == 0 => {
                parts.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("selector {text:?}: a bracket is not closed"));
    }
    parts.extend(text.get(start..).filter(|_| !text.trim().is_empty()));
    Ok(parts)
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.wants {
            Wants::There => f.write_str(key),
            Wants::NotThere => write!(f, "!{key}"),
            Wants::In(values) => match values.as_slice() {
                [one] => write!(f, "{key}={one}"),
                _ => write!(f, "{key} in ({})", values.join(",")),
            },
            Wants::NotIn(values) => match values.as_slice() {
                [one] => write!(f, "{key}!={one}"),
                _ => write!(f, "{key} notin ({})", values.join(",")),
            },
        }
    }
}

impl Requirement {
    fn parse(text: &str, is_value: &dyn Fn(&str) -> bool) -> Result<Self, String> {
        let (key, wants) = if let Some(key) = text.strip_prefix('!') {
            (key, Wants::NotThere)
        } else if let Some((head, list)) = text.split_once('(') {
            let list = list.strip_suffix(')').ok_or_else(|| format!("{text:?} does not end with a bracket"))?;
            let values: Vec<String> = list.split(',').map(|value| value.trim().to_owned()).collect();
            match head.trim().rsplit_once(char::is_whitespace) {
                Some((key, "in")) => (key, Wants::In(values)),
                Some((key, "notin")) => (key, Wants::NotIn(values)),
                _ => return Err(format!("{text:?} is neither KEY in (…) nor KEY notin (…)")),
            }
        } else if let Some((key, value)) = text.split_once("!=") {
            (key, Wants::NotIn(vec![value.trim().to_owned()]))
        } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
            (key, Wants::In(vec![value.trim().to_owned()]))
        } else {
            (text, Wants::There)
        };
        let key = key.trim();
        if !is_qualified_name(key) {
            return Err(format!("{key:?} is no label key"));
        }
        if let Wants::In(values) | Wants::NotIn(values) = &wants
            && let Some(bad) = values.iter().find(|value| !is_value(value))
        {
            return Err(format!("{bad:?} can be no value of a label"));
        }
        Ok(Self { key: key.to_owned(), wants })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_kubectl_does() {
        let labels: BTreeMap<String, String> =
            [("tier", "small"), ("a.b/c", "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        for (text, selects) in [
            ("", true),
            ("tier", true),
            ("!tier", false),
            ("!frozen", true),
            ("tier=small", true),
            ("tier==large", false),
            ("tier!=large, a.b/c=", true),
            ("other!=x", true),
            ("tier in (large, small)", true),
            ("tier notin (large,small),tier", false),
            ("frozen notin (true)", true),
            ("frozen in (true)", false),
        ] {
            assert_eq!(Selector::parse(text).unwrap().matches(&labels), selects, "{text}");
        }
    }

    #[test]
    fn selector_values_are_replaced_in_place() {
        for (text, wanted) in [
            ("", ""),
            ("a in (x, y)", "a in (x, y)"),
            ("tier, a==v1, b!=v1, c in (v1)", "tier,a=v2,b!=v2,c=v2"),
            ("!tier,a in (x, v1)", "!tier,a in (x,v2)"),
        ] {
            let changed = Selector::parse(text).unwrap().with_values(&|value| value.replace("v1", "v2"));
            assert_eq!(changed.to_string(), wanted);
            assert_eq!(Selector::parse(wanted).unwrap().requirements, changed.requirements, "{wanted}");
        }
    }

    #[test]
    fn invalid_selector_is_refused() {
        for (text, parsed) in [
            ("a,,b", "\"\" is no label key"),
            ("a in (b", "a bracket is not closed"),
            ("a)", "a bracket too many"),
            ("a is (b)", "neither KEY in (…)"),
            ("a=b c", "\"b c\" can be no value"),
            ("a b", "\"a b\" is no label key"),
            (",", "\"\" is no label key"),
        ] {
            let error = Selector::parse(text).unwrap_err();
            assert!(error.contains(parsed), "{text}: {error}");
        }
    }
}
