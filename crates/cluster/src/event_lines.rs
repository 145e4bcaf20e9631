//! An answer that is sent line by line and has no end of its own, such as the events of a watch.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use crate::call_error::CallError;
use crate::error_chain::chain;

/// An answer that is still being sent.
pub(crate) struct EventLines {
    asked: String,
    address: String,
    body: Body,
    /// Bytes of a line at most.
    most: usize,
    /// What has arrived, up to the beginning of a line that has not arrived as a whole.
    arrived: VecDeque<u8>,
    /// How much of that has no end of a line in it.
    searched: usize,
}

impl EventLines {
    pub(crate) fn new(asked: String, address: String, body: Body, most: usize) -> Self {
        Self { asked, address, body, most, arrived: VecDeque::new(), searched: 0 }
    }

    /// The next line; nothing where whoever sends them has ended it. Whoever stops waiting for one loses none.
    ///
    /// # Errors
    /// The connection broke, or what was sent is too long, or no JSON.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, CallError> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| {
                let (asked, address) = (self.asked.clone(), self.address.clone());
                CallError::NoAnswer { asked, address, reason: chain(&error) }
            })?;
            if let Ok(bytes) = frame.into_data() {
                self.arrived.extend(bytes);
            }
        }
    }

    /// A line that has arrived.
    fn line(&mut self) -> Result<Option<Value>, CallError> {
        let end = self.arrived.range(self.searched..).position(|byte| *byte == b'\n').map(|at| self.searched + at);
        if end.unwrap_or(self.arrived.len()) > self.most {
            let (asked, address) = (self.asked.clone(), self.address.clone());
            return Err(CallError::TooLarge { asked, address, most: self.most });
        }
        let Some(end) = end else {
            self.searched = self.arrived.len();
            return Ok(None);
        };
        self.searched = 0;
        let line: Vec<u8> = self.arrived.drain(..=end).collect();
        let (asked, address) = (self.asked.clone(), self.address.clone());
        serde_json::from_slice(&line).map(Some).map_err(|_| CallError::NotJson { asked, address })
    }
}
