//! `pointsman webhooks`: what is registered for a controller version, whether it fits, and how a version goes.

mod addresses;
mod command;
mod comments;
mod doctor;
mod documents;
mod overlay;
mod policy;
mod retire;
mod mutations;

pub(crate) use command::{WebhooksArgs, run};
pub(crate) use doctor::{findings, inspect_all, judge_files};
