//! The guesses for one step.

use super::level::{Guesses, Level, Surroundings};
use crate::definition::{Schema, Sides};
use crate::draft::entry::Entry;
use crate::draft::question::Question;

/// Guesses the operations between two versions. The questions concern fields for which there is no operation.
pub(in crate::draft) fn step(versions: Sides<&str>, schemas: Sides<&Schema>) -> (Vec<Entry>, Vec<Question>) {
    let Guesses { entries, questions } = Level::guess(schemas, Surroundings { versions, lists: Vec::new() });
    (entries, questions)
}
