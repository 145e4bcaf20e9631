//! Storage for texts that are read during conversion, so that they can be borrowed like the object itself.

use std::borrow::Cow;
use std::cell::OnceCell;

/// The unescaped values of annotations of one object, and its rewritten lists. Their number is at most that of the
/// steps.
#[derive(Debug, Default)]
pub(crate) struct StringArena {
    first: OnceCell<Box<Text>>,
}

#[derive(Debug)]
struct Text {
    text: String,
    next: OnceCell<Box<Self>>,
}

impl StringArena {
    /// Stores a text. Returns the stored text if it is already present.
    pub(super) fn keep(&self, text: Cow<'_, str>) -> &str {
        let mut place = &self.first;
        while let Some(one) = place.get() {
            if one.text == text {
                return &one.text;
            }
            place = &one.next;
        }
        &place.get_or_init(|| Box::new(Text { text: text.into_owned(), next: OnceCell::new() })).text
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::StringArena;

    #[test]
    fn stored_strings_stay_valid() {
        let texts = StringArena::default();
        let kept: Vec<&str> = (0..10).map(|at| texts.keep(at.to_string().into())).collect();
        assert_eq!(kept.concat(), "0123456789");
        assert!(ptr::eq(texts.keep("7".into()), kept[7]), "the same text twice takes the room of one");
    }
}
