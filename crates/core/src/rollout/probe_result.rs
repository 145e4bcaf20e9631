//! An answer over HTTP, and whether it says that all is well.

/// An answer over HTTP.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The status.
    pub code: u16,
    /// All of the body; nothing of it where only the status is asked for.
    pub body: Vec<u8>,
}

impl ProbeResult {
    /// Whether the status says so.
    pub(super) fn is_fine(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// What the status says.
    pub(super) fn fine(&self) -> Result<(), String> {
        if self.is_fine() { Ok(()) } else { Err(self.status()) }
    }

    /// The status in words, where it is not fine.
    pub(super) fn status(&self) -> String {
        match self.code {
            300..400 => {
                format!("HTTP {}: redirects are not followed, so name the address that this one leads to", self.code)
            }
            code => format!("HTTP {code}"),
        }
    }
}
