//! A response sent line by line without a fixed end, such as watch events.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use crate::call_error::CallError;
use crate::error_chain::chain;

/// A response in progress.
pub(crate) struct EventLines {
    operation: String,
    address: String,
    body: Body,
    /// Maximum bytes of a line.
    most: usize,
    /// Received bytes, up to the beginning of an incomplete line.
    arrived: VecDeque<u8>,
    /// The length of a prefix without line end.
    searched: usize,
}

impl EventLines {
    pub(crate) fn new(operation: String, address: String, body: Body, most: usize) -> Self {
        Self { operation, address, body, most, arrived: VecDeque::new(), searched: 0 }
    }

    /// The next line; `None` after the server ended the response. Safe to cancel.
    ///
    /// # Errors
    /// The connection failed, or a line is too long or not JSON.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, CallError> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| {
                let (operation, address) = (self.operation.clone(), self.address.clone());
                CallError::NoAnswer { operation, address, reason: chain(&error) }
            })?;
            if let Ok(bytes) = frame.into_data() {
                self.arrived.extend(bytes);
            }
        }
    }

    /// A complete line, if received.
    fn line(&mut self) -> Result<Option<Value>, CallError> {
        let end = self.arrived.range(self.searched..).position(|byte| *byte == b'\n').map(|at| self.searched + at);
        if end.unwrap_or(self.arrived.len()) > self.most {
            let (operation, address) = (self.operation.clone(), self.address.clone());
            return Err(CallError::TooLarge { operation, address, most: self.most });
        }
        let Some(end) = end else {
            self.searched = self.arrived.len();
            return Ok(None);
        };
        self.searched = 0;
        let line: Vec<u8> = self.arrived.drain(..=end).collect();
        let (operation, address) = (self.operation.clone(), self.address.clone());
        serde_json::from_slice(&line).map(Some).map_err(|_| CallError::NotJson { operation, address })
    }
}
