//! Who may write what: objects judged by the controller version that manages them, and stamped for it.
//!
//! The version label says who that is. An update that changes it reaches both versions, because the API server matches
//! the selector against the old object or the new one: the version that is left checks that it may be left, the version
//! that is entered checks the way there and the whole object. Nobody has a say about an object that is another
//! version's: in shadow it is judged to be counted. What no version selects (an unknown label, a malformed one, or none
//! where no version takes those) is for the policy that guards the label. A write of the scale says nothing of a label:
//! all judge it by what holds for every version.

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
