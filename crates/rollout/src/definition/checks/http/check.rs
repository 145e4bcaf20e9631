//! HTTP checks.

use schemars::JsonSchema;
use serde::Deserialize;

use super::template::AddressTemplate;
use crate::definition::checks::check_name::bad_name;

/// A server that must respond with success.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, rename = "HttpCheck")]
pub(in crate::definition::checks) struct HttpCheckSpec {
    /// The name in messages.
    name: String,
    /// An `http://` or `https://` address that must respond with a status of 2xx. Redirects are not followed. In its
    /// path and query, `{from}` and `{to}` stand for the versions of the rollout.
    http: String,
}

/// The compiled check.
#[derive(Clone, Debug)]
pub(crate) struct HttpCheck {
    /// The name of the check, used in messages.
    pub(crate) name: String,
    /// The requested address.
    pub(crate) address: AddressTemplate,
}

impl HttpCheckSpec {
    pub(in crate::definition::checks) fn compile(&self) -> Result<HttpCheck, Vec<String>> {
        let Self { name, http } = self;
        let mut bad: Vec<String> = bad_name(name).into_iter().collect();
        match AddressTemplate::parse(http) {
            Ok(address) if bad.is_empty() => return Ok(HttpCheck { name: name.clone(), address }),
            Ok(_) => {}
            Err(error) => bad.push(format!("{name}: http: {error}")),
        }
        Err(bad)
    }
}
