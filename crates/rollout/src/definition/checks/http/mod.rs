//! Checks by an HTTP request.

pub(super) mod address;
pub(super) mod check;
pub(super) mod quotation;
pub(super) mod template;
