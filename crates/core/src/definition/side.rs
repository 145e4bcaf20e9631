//! The two sides of a step: an older version and the next newer one.

/// One of the two versions of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Newer,
    Older,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Newer => Self::Older,
            Self::Older => Self::Newer,
        }
    }
}

/// One value for each side of a step.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Sides<T> {
    pub(crate) older: T,
    pub(crate) newer: T,
}

impl<T> Sides<T> {
    pub(crate) fn of(&self, side: Side) -> &T {
        match side {
            Side::Newer => &self.newer,
            Side::Older => &self.older,
        }
    }

    pub(crate) fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Newer => &mut self.newer,
            Side::Older => &mut self.older,
        }
    }

    pub(crate) fn as_ref(&self) -> Sides<&T> {
        Sides { older: &self.older, newer: &self.newer }
    }

    pub(crate) fn map<U>(self, mut change: impl FnMut(T) -> U) -> Sides<U> {
        Sides { older: change(self.older), newer: change(self.newer) }
    }
}
