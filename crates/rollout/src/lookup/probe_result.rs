//! HTTP responses and their evaluation.

/// An HTTP response.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The status code.
    pub code: u16,
    /// The whole body; empty if only the status counts.
    pub body: Vec<u8>,
}

impl ProbeResult {
    /// True if the status is 2xx.
    pub(crate) fn is_fine(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// An error unless the status is 2xx.
    pub(crate) fn fine(&self) -> Result<(), String> {
        if self.is_fine() { Ok(()) } else { Err(self.status()) }
    }

    /// The status as error text.
    pub(crate) fn status(&self) -> String {
        match self.code {
            300..400 => {
                format!("HTTP {}: redirects are not followed: use the address of the target", self.code)
            }
            code => format!("HTTP {code}"),
        }
    }
}
