//! `pointsman webhooks`: the documents of a controller version, their checks, and the removal of a version.

mod addresses;
mod command;
mod comments;
mod doctor;
mod documents;
mod mutations;
mod overlay;
mod policy;
mod retire;

pub(crate) use command::{WebhooksArgs, run};
pub(crate) use doctor::{findings, inspect_all, judge_files};
