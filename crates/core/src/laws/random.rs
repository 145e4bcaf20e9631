//! A small pseudo-random number generator (splitmix64): the same seed gives the same case on every machine.

/// The state of a generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x6A09_E667_F3BC_C908)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`. 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.draw() % (end.max(1) as u64)) as usize
    }

    /// True with a probability of `chance` percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// An element of a list. `None` for an empty list.
    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        from.get(self.below(from.len()))
    }

    /// One of some words. Empty if there are none.
    pub fn word(&mut self, from: &[&'static str]) -> &'static str {
        self.pick(from).copied().unwrap_or_default()
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            let other = self.below(end + 1);
            list.swap(end, other);
        }
    }
}
