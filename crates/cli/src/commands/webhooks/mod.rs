//! `pointsman webhooks`: what is registered for a controller version, whether it fits, and how a version goes.

mod addressed;
mod command;
mod comments;
mod doctor;
mod overlay;
mod policy;
mod printed;
mod retire;
mod stages;

pub(crate) use command::{WebhooksArgs, run};
pub(crate) use doctor::{findings, inspect_all, judge_files};
