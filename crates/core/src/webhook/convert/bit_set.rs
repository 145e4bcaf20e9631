//! Which of a number of things something is true of.

/// A set of small numbers. Those below 64, which is nearly always all, take no memory of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct BitSet {
    first: u64,
    more: Vec<u64>,
}

impl BitSet {
    pub(super) fn contains(&self, index: usize) -> bool {
        let word = match (index / 64).checked_sub(1) {
            None => self.first,
            Some(word) => self.more.get(word).copied().unwrap_or_default(),
        };
        word >> (index % 64) & 1 == 1
    }

    pub(super) fn insert(&mut self, index: usize) {
        let bit = 1 << (index % 64);
        let Some(word) = (index / 64).checked_sub(1) else {
            self.first |= bit;
            return;
        };
        if self.more.len() <= word {
            self.more.resize(word + 1, 0);
        }
        if let Some(word) = self.more.get_mut(word) {
            *word |= bit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    #[test]
    fn what_was_inserted_is_there_and_nothing_else() {
        let mut bits = BitSet::default();
        let inserted = [0, 63, 64, 127, 128, 1000];
        inserted.into_iter().for_each(|index| bits.insert(index));
        let found: Vec<usize> = (0..1200).filter(|index| bits.contains(*index)).collect();
        assert_eq!(found, inserted);
    }
}
