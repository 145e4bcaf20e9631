//! How one short list became another, in as few changes as there can be.

use crate::json::{Json, normal};

/// What became of the next element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ElementChange {
    /// It is the next one of the new list, or became it.
    Paired,
    /// It is gone.
    Gone,
    /// The next one of the new list was not there.
    Added,
}

/// The changes, in the order of the elements. Takes time in proportion to the product of both lengths, and to the
/// texts.
pub(super) fn alignment(old: &[Json<'_>], new: &[Json<'_>]) -> Vec<ElementChange> {
    // Each is compared with all of the other list: what it says is found out once.
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
            changes.push(ElementChange::Gone);
        } else {
            right = right.saturating_sub(1);
            changes.push(ElementChange::Added);
        }
    }
    changes.reverse();
    changes
}

/// For so many elements of the one list and so many of the other, how many changes lead from the one to the other
/// (R. Wagner and M. Fischer, 1974).
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

/// One that became another costs as much as one that went and one that came: so what stays is paired with itself.
fn changed(was: &str, is: &str) -> usize {
    if was == is { 0 } else { 2 }
}
