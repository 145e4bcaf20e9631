//! Admission: validates objects for the controller version that manages them, and sets their metadata.
//!
//! The version label names the controller version. An update of the label reaches both versions, because the API server
//! matches the selector against the old and the new object. The old version checks that the object may leave, and the
//! new version checks the upgrade path and the whole object. Objects of other versions are allowed; in shadow mode they
//! are judged for metrics only. The guard policy covers objects that no version selects: an unknown or malformed label,
//! or none if no version takes those. A write of the scale has no label, so all versions judge it by the rules for
//! every version.

mod compare;
mod complete;
mod conditions;
mod controller;
mod field_path;
mod findings;
mod handover;
mod judgement;
mod kept_entries;
mod label;
mod mistaken_label;
mod mutate;
mod override_reason;
mod ratchet;
mod role;
mod rules;
mod scale;
mod settings;
mod subject;
mod upgrade_path;
mod validate;
mod warnings;
mod write;

pub use controller::{ControllerVersion, NotAVersion};
pub(crate) use field_path::same_field;
pub use judgement::{Flip, Judgement, Verdict};
pub(crate) use mistaken_label::mistaken_label;
pub(super) use mutate::stamp;
pub(super) use role::misdirected;
pub(super) use scale::judge_scale;
pub use scale::unseen_by_scale;
pub use settings::{Enforcement, Settings};
pub(super) use validate::judge;
pub(super) use write::Write;
