//! The actions of pointsman on a Kubernetes cluster: status, enable, migrate, rotate-ca and disable.
//!
//! Each action is one function. A caller can repeat it at any time, also after a kill, and gets the plan first.
//! `pointsman-core` decides the desired state of the cluster. This crate reads and writes objects.
//!
//! Documents are JSON, as the API server sends them: a typed object would lose fields that this version does not
//! define.

mod admission_documents;
mod annotations;
mod bundle_faults;
mod call_error;
mod cluster;
mod connect;
mod conversion;
mod converting_crds;
mod crd_state;
mod disable;
mod dry_run;
mod enable;
mod error_chain;
mod event_lines;
mod examine;
mod facts;
mod migrate;
mod object_list;
mod outage_retry;
mod ownership;
mod pages;
mod retry_after;
mod retry_budget;
mod rollout;
mod rotate;
mod status;
mod stop_signal;
mod stopwatch;
mod superset;
mod tls_connector;
mod web;

pub use bundle_faults::BundleFault;
pub use call_error::CallError;
pub use cluster::Cluster;
pub use connect::{ConnectError, ConnectOptions, connect};
pub use conversion::Probe;
pub use converting_crds::{UnknownCrd, unknown_crds};
pub use crd_state::CrdState;
pub use disable::{DisableError, DisableEvent, DisableOptions, DisableStep, Disabled, disable};
pub use dry_run::DryRun;
pub use enable::{DesiredCrd, EnableError, EnableEvent, EnableOptions, EnableStep, Enabled, enable};
pub use examine::{
    DocumentOptions, Examined, ExaminedDocuments, RegisteredFinding, RunningServer, examine, examine_documents,
};
pub use facts::{FactEvent, FactState, follow_facts, next_pause, with_one_watch};
pub use migrate::{
    FailedWrite, ForgetOptions, Forgotten, MigrateError, MigrateEvent, MigrateOptions, Migrated, MigrationStrategy,
    RewrittenObjects, forget, migrate,
};
pub use object_list::live;
pub use ownership::{ObjectConversion, VersionCounts};
pub use rollout::{
    Cleaned, FleetSnapshot, RolloutClock, RolloutError, RolloutEvent, RolloutOptions, SnapshotOptions, SurveyOptions,
    change_rollout, clean_rollout, forward_again, get_rollout, list_rollouts, run_rollout, run_rollouts,
    running_versions, set_in_rollout, set_next, start_rollout, survey_rollout, unfreezable, unknown_zone,
};
pub use rotate::{RotateError, RotateEvent, RotateOptions, RotateStep, Rotated, Trusting, rotate};
pub use status::{
    AdminPorts, CertificateEnd, EndpointStatus, ErrorReports, KindStatus, ObjectCounts, ReportedError, ReportedErrors,
    StatusFinding, StatusOptions, status,
};
