//! The client that waits for a response, and may disconnect before.

use std::cell::OnceCell;

/// The client that waits for a response. The webhook checks the connection between objects, steps, items and rules, and
/// stops soon after a disconnect.
///
/// A disconnect is final: many errors during admission only mean that an object cannot be read. An aborted decision
/// must not be taken for a response.
pub(crate) struct Caller<'c> {
    /// `None` if the client waits without limit.
    is_awaited: Option<&'c dyn Fn() -> bool>,
    disconnected: OnceCell<()>,
}

/// The client has disconnected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ClientDisconnected;

impl<'c> Caller<'c> {
    /// A client that waits without limit.
    pub(crate) fn patient() -> Self {
        Self { is_awaited: None, disconnected: OnceCell::new() }
    }

    /// A client that waits while `is_awaited` returns true.
    pub(crate) fn waiting_while(is_awaited: &'c dyn Fn() -> bool) -> Self {
        Self { is_awaited: Some(is_awaited), disconnected: OnceCell::new() }
    }

    /// Checks whether the client still waits.
    pub(crate) fn waits(&self) -> Result<(), ClientDisconnected> {
        self.waited()?;
        if self.is_awaited.is_some_and(|is_awaited| !is_awaited()) {
            self.disconnected.get_or_init(|| ());
        }
        self.waited()
    }

    /// Returns whether all earlier checks succeeded.
    pub(crate) fn waited(&self) -> Result<(), ClientDisconnected> {
        if self.disconnected.get().is_some() { Err(ClientDisconnected) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disconnected_caller_stays_disconnected() {
        let answers = OnceCell::new();
        // The first check fails, all later checks succeed.
        let is_awaited = || answers.set(()).is_err();
        let caller = Caller::waiting_while(&is_awaited);
        assert_eq!(caller.waited(), Ok(()), "nobody has asked");
        assert_eq!(
            (caller.waits(), caller.waits(), caller.waited()),
            (Err(ClientDisconnected), Err(ClientDisconnected), Err(ClientDisconnected))
        );
        assert_eq!(Caller::patient().waits(), Ok(()));
    }
}
