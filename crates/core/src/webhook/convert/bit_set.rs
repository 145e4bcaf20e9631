//! A set of indices.

/// A set of small integers. Values below 64, nearly always all, need no allocation.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct BitSet {
    first: u64,
    more: Vec<u64>,
}

impl BitSet {
    pub(super) const fn new() -> Self {
        Self { first: 0, more: Vec::new() }
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        let word = match (index / 64).checked_sub(1) {
            None => self.first,
            Some(word) => self.more.get(word).copied().unwrap_or_default(),
        };
        word >> (index % 64) & 1 == 1
    }

    /// Inserts the elements of another set.
    pub(super) fn extend_from(&mut self, other: &Self) {
        self.first |= other.first;
        self.more.resize(self.more.len().max(other.more.len()), 0);
        for (word, other) in self.more.iter_mut().zip(&other.more) {
            *word |= other;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first == 0 && self.more.iter().all(|word| *word == 0)
    }

    /// Removes the elements of another set.
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.first &= !other.first;
        for (word, other) in self.more.iter_mut().zip(&other.more) {
            *word &= !other;
        }
        self
    }

    /// Inserts an element if the condition is true.
    pub(super) fn insert_if(&mut self, index: usize, is_so: bool) {
        if is_so {
            self.insert(index);
        }
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
    fn set_holds_only_inserted_bits() {
        let mut bits = BitSet::default();
        let inserted = [0, 63, 64, 127, 128, 1000];
        inserted.into_iter().for_each(|index| bits.insert(index));
        let found: Vec<usize> = (0..1200).filter(|index| bits.contains(*index)).collect();
        assert_eq!(found, inserted);
        let mut both = BitSet::new();
        both.insert_if(3, true);
        both.insert_if(4, false);
        both.extend_from(&bits);
        let found: Vec<usize> = (0..1200).filter(|index| both.contains(*index)).collect();
        assert_eq!(found, [0, 3, 63, 64, 127, 128, 1000]);
        let fewer = both.clone().without(&bits);
        assert_eq!((0..1200).filter(|index| fewer.contains(*index)).collect::<Vec<_>>(), [3]);
        bits.extend_from(&both);
        assert_eq!(bits, both);
    }
}
