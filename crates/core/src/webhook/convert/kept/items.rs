//! The entries of the items of a list or map: pairs of what tells an item apart, and its entries.

use std::collections::{HashMap, HashSet, VecDeque};

use super::annotation::Kept;
use crate::json::{Json, normal};

/// The entries that items have, by what tells an item apart. Items that look alike get theirs in order.
#[derive(Debug, Default)]
pub(in crate::webhook::convert) struct KeptItems<'a>(HashMap<String, VecDeque<Kept<'a>>>);

impl<'a> KeptItems<'a> {
    /// Reads an `each`. What is no pair is passed over.
    pub(in crate::webhook::convert) fn read(each: Option<&Json<'a>>) -> Self {
        let pair = |mut pair: Json<'a>| {
            let elements = pair.open_array()?;
            let entries = std::mem::take(elements.pop()?.open().ok()??);
            Some((normal(&elements.pop()?.to_text()), Kept::read(entries)))
        };
        let mut each = each.cloned();
        let elements = each.as_mut().and_then(Json::open_array).map(std::mem::take);
        let mut items: HashMap<String, VecDeque<Kept<'a>>> = HashMap::new();
        for (identity, kept) in elements.into_iter().flatten().filter_map(pair) {
            items.entry(identity).or_default().push_back(kept);
        }
        Self(items)
    }

    pub(in crate::webhook::convert) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries of the next item that is told apart so.
    pub(in crate::webhook::convert) fn take(&mut self, identity: &Json<'_>) -> Option<Kept<'a>> {
        self.0.get_mut(&normal(&identity.to_text()))?.pop_front()
    }
}

/// Writes an `each`. An item that keeps nothing is in it only where another one looks like it.
pub(in crate::webhook::convert) fn each<'a>(items: Vec<(Json<'a>, Kept<'a>)>) -> Option<Json<'a>> {
    let needed: HashSet<String> = items
        .iter()
        .filter(|(_, kept)| !kept.is_empty())
        .map(|(identity, _)| normal(&identity.to_text()))
        .collect();
    if needed.is_empty() {
        return None;
    }
    let pairs = items.into_iter().filter(|(identity, kept)| {
        !kept.is_empty() || needed.contains(&normal(&identity.to_text()))
    });
    Some(Json::Array(
        pairs.map(|(identity, kept)| Json::Array(vec![identity, kept.into_json()])).collect(),
    ))
}
