//! Room for a text that is written piece by piece while it is not known how long it will be.

/// Makes room in `text` for it to have `length` bytes. So far it says so many of a number of bytes that were sent: what
/// is left will grow as that did.
pub(super) fn make_room(text: &mut String, length: usize, [said, sent]: [usize; 2]) {
    if length <= text.capacity() {
        return;
    }
    // What the others will need if they grow as these did, and no more: while it moves there is all of it twice.
    let whole = length as u128 * sent as u128 / said.max(1) as u128;
    let whole = usize::try_from(whole).unwrap_or(length).clamp(length + length / 8, length.saturating_mul(4));
    text.reserve_exact(whole - text.len());
}
