//! JSON in the tests: numbers keep their text, members are accessed by name. Shares no code with the tested code.

pub(crate) use pointsman_core::laws::{Segment as Step, Value, difference, shown, way};

pub(crate) type Way = Vec<Step>;

pub(crate) fn text(text: &str) -> Value {
    Value::text(text)
}

/// Values written in a test.
pub(crate) trait Written {
    fn parse(text: &str) -> Value;
    /// Reads YAML, or plain JSON whose numbers are ordinary.
    fn yaml(text: &str) -> Value;
}

impl Written for Value {
    fn parse(text: &str) -> Value {
        Self::read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn yaml(text: &str) -> Value {
        Self::literal(&serde_saphyr::from_str(text).unwrap())
    }
}
