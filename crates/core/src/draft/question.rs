//! A question for the reader: two fields of only one version that may be one field.

use super::entry::{Entry, Operation};
use crate::definition::{Path, Sides};

/// Two fields that may be one, without an operation between them.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The enclosing lists and maps, outermost first.
    pub(super) lists: Vec<Sides<Path>>,
    pub(super) paths: Sides<Path>,
    /// Another pair with one of the two fields, which is equally likely.
    pub(super) rival: Option<Sides<Path>>,
}

impl Question {
    /// Writes the question at the `drop` of the older field, if the entries have one.
    pub(super) fn add_to(&self, entries: &mut [Entry]) {
        self.add_inside(&self.lists, entries);
    }

    fn add_inside(&self, lists: &[Sides<Path>], entries: &mut [Entry]) {
        let Some((list, inner)) = lists.split_first() else {
            let drop =
                entries.iter_mut().find(|entry| entry.operation.field_of("drop").as_ref() == Some(&self.paths.older));
            if let Some(entry) = drop {
                entry.question = Some(self.text());
            }
            return;
        };
        for entry in entries {
            if let Operation::Each(lists, inside) = &mut entry.operation
                && lists == list
            {
                self.add_inside(inner, inside);
            }
        }
    }

    fn text(&self) -> String {
        let Sides { older, newer } = &self.paths;
        let or = match &self.rival {
            Some(rival) if rival.older == *older => format!(", or {}", rival.newer),
            Some(rival) => format!(", and so may {}", rival.older),
            None => String::new(),
        };
        format!("{older} may be {newer}{or}: if so, write a `move` instead of `drop` and `add`")
    }
}
