//! Rolls: a fleet of objects goes from one controller version to another, wave by wave, behind a budget and gates, and
//! can go back.
//!
//! [`plan()`] decides: from the Roll, its status, what is seen of the fleet and what time it is, it says what is to be
//! written, in which order. Nothing is remembered here: where to go on is always worked out from what is seen, so that
//! whoever runs a roll can be killed at any point.

mod advancing;
mod answers;
mod bad_roll;
mod beginning;
mod beside;
mod beside_standing;
mod beside_steps;
mod call_times;
mod checks;
mod chosen;
mod compiler;
mod deciding;
mod facts;
mod failing;
mod field_managers;
mod fleet_object;
mod fleet_roll;
mod fleet_view;
mod forecast;
mod former;
mod freeze;
mod gate_telling;
mod gating;
mod held;
mod holding;
mod job_name;
mod job_write;
mod json_patch;
mod kind_pair;
mod leading;
mod legs;
mod managed;
mod mark;
mod moment;
mod moving;
mod near;
mod next_move;
mod noted;
mod ordered_version;
mod other_cluster;
mod owner_references;
mod patch;
mod place;
mod plan;
mod planner;
mod prometheus_answer;
mod questions;
mod read;
mod readable;
mod releasing;
mod requests;
mod rights;
mod roll_pace;
mod roll_write;
mod running_range;
mod running_versions;
mod seen_field;
mod shared_metadata;
mod short_hash;
mod spec;
mod staged;
mod stages_of;
mod standing;
mod states;
mod status;
mod step_telling;
mod stepping;
mod steps_digest;
mod storing;
mod telling;
mod traveller;
mod travelling;
mod turning;
mod version_range;
mod waited;
mod wave;
mod wave_gate;
mod web_answer;
mod web_checks;
mod web_questions;
mod window;

pub use answers::{Became, RollAnswers};
pub use bad_roll::BadRoll;
pub use beginning::{
    asks_for_crd, asks_for_others, roll_questions, shut_now, start_refusals, stays_over, web_questions,
};
pub use beside::{Counterpart, ObjectCall, ObjectWrite, Propagation, Replacement, Successor, not_left_behind};
pub use facts::{Remembered, RollFacts};
pub use field_managers::ManagerRecord;
pub use fleet_object::{FleetObject, OF_WAVE};
pub use fleet_roll::{Direction, FleetRoll};
pub use forecast::{Forecast, forecast};
pub use former::{formers, made_question, unmarked};
pub(crate) use freeze::Freeze;
pub use freeze::Frozen;
pub use gate_telling::{ToldGate, told_gates};
pub use job_write::JobWrite;
pub use json_patch::{is_patched, patched_uid};
pub use kind_pair::WantedFact;
pub use managed::ROLL_MANAGER;
pub use moment::{LONGEST_CALL, Moment, rfc3339, wall};
pub use next_move::{NextMove, next_move};
pub use ordered_version::OrderedVersion;
pub use other_cluster::OtherCluster;
pub use owner_references::OwnerReferences;
pub use patch::FleetMove;
pub use plan::{RollPlan, plan};
pub use questions::{RollQuestion, WantedObjects};
pub use read::{answered_roll, read_roll, rolled_kind};
pub use requests::{NoEffect, RollRequest, goes_forward_again};
pub use rights::{RollRights, rights, rights_elsewhere};
pub use roll_pace::{PaceChange, RollPace, TimedCall};
pub use roll_write::RollWrite;
pub use running_versions::{RunningVersions, UnreadVersion, VersionStanding, VersionState, roll_target};
pub use spec::{ROLL, ROLL_CRD};
pub use staged::Staged;
pub use stages_of::{missing_stages, seen_by_stage};
pub use standing::Standing;
pub use status::{
    Halt, LostJob, Reservation, RollCounts, RollEnd, RollFailure, RollPhase, RollStatus, SeenStepJob, StoredBy,
    Unmoved, WaveCounts,
};
pub use step_telling::{ToldStep, told_steps};
pub use steps_digest::steps_not_compared;
pub use travelling::{ahead_questions, step_questions, waiting_questions};
pub use version_range::VersionRange;
pub use wave_gate::WaveSide;
pub use web_answer::WebAnswer;
pub use web_questions::{WebAsks, WebQuestion};
pub use window::LocalTime;
