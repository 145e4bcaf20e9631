//! Capacity of a text that is written in pieces, with unknown final length.

/// Reserves capacity so that `text` can have `length` bytes. So far `processed` of `sent` input bytes are processed,
/// and the rest is assumed to grow in proportion.
pub(super) fn make_room(text: &mut String, length: usize, [processed, sent]: [usize; 2]) {
    if length <= text.capacity() {
        return;
    }
    // Reserves no more than the estimate, because a reallocation briefly doubles the memory.
    let whole = length as u128 * sent as u128 / processed.max(1) as u128;
    let whole = usize::try_from(whole).unwrap_or(length).clamp(length + length / 8, length.saturating_mul(4));
    text.reserve_exact(whole - text.len());
}
