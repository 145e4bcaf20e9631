//! The smallest set of changes between two short lists.

use crate::json::{Json, normal};

/// The change of the next element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ElementChange {
    /// The element corresponds to the next element of the new list.
    Paired,
    /// The element was removed.
    Removed,
    /// The next element of the new list was added.
    Added,
}

/// Returns the changes in the order of the elements. Takes time proportional to the product of both lengths, and to the
/// size of the texts.
pub(super) fn alignment(old: &[Json<'_>], new: &[Json<'_>]) -> Vec<ElementChange> {
    // Each element is compared with all elements of the other list, so normalize it once.
    let [old, new] = [old, new].map(|all| all.iter().map(|one| normal(&one.text())).collect::<Vec<_>>());
    let costs = costs(&old, &new);
    let cost = |old: usize, new: usize| costs.get(old).and_then(|row| row.get(new)).copied().unwrap_or_default();
    let (mut left, mut right, mut changes) = (old.len(), new.len(), Vec::new());
    while left > 0 || right > 0 {
        let here = cost(left, right);
        let pair = old.get(left.wrapping_sub(1)).zip(new.get(right.wrapping_sub(1)));
        let paired = pair.map(|(was, is)| cost(left - 1, right - 1) + changed(was, is));
        if paired == Some(here) {
            (left, right) = (left - 1, right - 1);
            changes.push(ElementChange::Paired);
        } else if left > 0 && cost(left - 1, right) + 1 == here {
            left -= 1;
            changes.push(ElementChange::Removed);
        } else {
            right = right.saturating_sub(1);
            changes.push(ElementChange::Added);
        }
    }
    changes.reverse();
    changes
}

/// The edit distance for each pair of prefixes (R. Wagner and M. Fischer, 1974).
fn costs(old: &[String], new: &[String]) -> Vec<Vec<usize>> {
    let mut costs: Vec<Vec<usize>> = vec![(0..=new.len()).collect()];
    for (index, was) in old.iter().enumerate() {
        let mut row = vec![index + 1];
        for (pair, is) in costs.last().map_or(&[][..], Vec::as_slice).windows(2).zip(new) {
            if let ([diagonal, above], Some(left)) = (pair, row.last()) {
                row.push((diagonal + changed(was, is)).min(above + 1).min(left + 1));
            }
        }
        costs.push(row);
    }
    costs
}

/// A replacement costs as much as a removal and an addition, so that unchanged elements are paired with themselves.
fn changed(was: &str, is: &str) -> usize {
    if was == is { 0 } else { 2 }
}
