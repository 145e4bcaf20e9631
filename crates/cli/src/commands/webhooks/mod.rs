//! `pointsman webhooks`: what is registered for a controller version, whether it fits, and how a version goes.

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
