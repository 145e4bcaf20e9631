//! Whoever waits for a decision, and may be gone before it is made.

use std::cell::OnceCell;

/// Whoever waits for a decision. It is asked between two objects, steps, items and rules, so that no more is done for
/// one that is gone than one of these takes.
///
/// Once gone it is gone: much of what goes wrong while an object is judged means no more than that something cannot be
/// read, so that what was given up half-way must not be taken for an answer later.
pub(crate) struct Caller<'c> {
    /// Nothing where it waits however long it takes.
    is_awaited: Option<&'c dyn Fn() -> bool>,
    gone: OnceCell<()>,
}

/// Nobody waits any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CallerGone;

impl<'c> Caller<'c> {
    /// One that waits however long it takes.
    pub(crate) fn patient() -> Self {
        Self { is_awaited: None, gone: OnceCell::new() }
    }

    /// One that waits for as long as this says so.
    pub(crate) fn waiting_while(is_awaited: &'c dyn Fn() -> bool) -> Self {
        Self { is_awaited: Some(is_awaited), gone: OnceCell::new() }
    }

    /// Asks whether it still waits.
    pub(crate) fn waits(&self) -> Result<(), CallerGone> {
        self.waited()?;
        if self.is_awaited.is_some_and(|is_awaited| !is_awaited()) {
            self.gone.get_or_init(|| ());
        }
        self.waited()
    }

    /// Whether it was there whenever it was asked.
    pub(crate) fn waited(&self) -> Result<(), CallerGone> {
        if self.gone.get().is_some() { Err(CallerGone) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disconnected_caller_stays_disconnected() {
        let answers = OnceCell::new();
        // Not there for the first question, and there for all others.
        let is_awaited = || answers.set(()).is_err();
        let caller = Caller::waiting_while(&is_awaited);
        assert_eq!(caller.waited(), Ok(()), "nobody has asked");
        assert_eq!(
            (caller.waits(), caller.waits(), caller.waited()),
            (Err(CallerGone), Err(CallerGone), Err(CallerGone))
        );
        assert_eq!(Caller::patient().waits(), Ok(()));
    }
}
