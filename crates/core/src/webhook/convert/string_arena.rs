//! Texts that are read on the way, to be borrowed from like the object itself.

use std::borrow::Cow;
use std::cell::OnceCell;

/// The values of annotations of one object, without their escapes, and its lists that were written anew. There are as
/// many as steps were taken.
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
    /// Keeps a text for as long as all others. One that is read again, on another way, is the one that was kept.
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
