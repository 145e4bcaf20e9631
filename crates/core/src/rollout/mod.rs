//! StagedRollouts: move a fleet of objects from one controller version to another, wave by wave, within a budget and
//! behind gates. A rollout can be undone.
//!
//! [`plan()`] decides: from the StagedRollout, its status, the observed fleet and the time, it returns the ordered list
//! of writes. The planner keeps no state: each pass derives the next step from observed objects, so the runner can be
//! killed at any point.

mod advance;
mod annotation_content;
mod bad_rollout;
mod call_times;
mod checks;
mod compiler;
mod complete;
mod conditions;
mod converted_source;
mod decide;
mod facts;
mod failure;
mod field_managers;
mod fleet_object;
mod fleet_rollout;
mod fleet_view;
mod forecast;
mod freeze;
mod gate_description;
mod gates;
mod hold;
mod hold_annotations;
mod http_checks;
mod http_probe;
mod initial_waits;
mod job_name;
mod job_write;
mod json_patch;
mod kinds;
mod lookup_request;
mod lookup_results;
mod managed_fields;
mod message;
mod moment;
mod mutation_state;
mod mutations;
mod next_move;
mod object_move;
mod object_selector;
mod object_state;
mod object_steps;
mod observed_field;
mod ordered_version;
mod other_cluster;
mod owner_references;
mod patch;
mod place;
mod plan;
mod planner;
mod probe_result;
mod progress;
mod prometheus_answer;
mod rate_limiter;
mod read;
mod read_version;
mod requests;
mod rewrite;
mod rights;
mod rollback;
mod rollout_annotation;
mod rollout_write;
mod running_range;
mod running_versions;
mod shared_metadata;
mod short_hash;
mod spec;
mod start;
mod state_label;
mod status;
mod step_context;
mod step_description;
mod step_outcome;
mod step_state;
mod steps;
mod steps_digest;
mod suggestion;
mod version_range;
mod wait_recheck;
mod wave;
mod wave_gate;
mod window;
mod workflow_plan;

pub use bad_rollout::BadRollout;
pub use conditions::Condition;
pub use converted_source::{formers, made_question, unmarked};
pub use facts::{PlanInput, RunnerCache};
pub use field_managers::ManagerRecord;
pub use fleet_object::{FleetObject, OF_WAVE};
pub use fleet_rollout::{Direction, Rollout};
pub use forecast::{Forecast, forecast};
pub(crate) use freeze::Freeze;
pub use freeze::Frozen;
pub use gate_description::{GateDescription, told_gates};
pub use http_probe::{HttpProbe, ProbeKind};
pub use job_write::JobWrite;
pub use json_patch::{is_patched, patched_uid};
pub use kinds::FactLookup;
pub use lookup_request::{LookupRequest, LookupTarget};
pub use lookup_results::{ConversionOutcome, LookupResults};
pub use managed_fields::ROLLOUT_MANAGER;
pub use moment::{ClockReading, LONGEST_CALL, rfc3339, wall};
pub use mutation_state::MutationState;
pub use mutations::{missing_mutations, seen_by_mutation};
pub use next_move::{PriorityDecision, next_move};
pub use object_state::ObjectState;
pub use ordered_version::OrderedVersion;
pub use other_cluster::OtherCluster;
pub use owner_references::OwnerReferences;
pub use patch::ObjectPatch;
pub use plan::{RolloutPlan, plan};
pub use probe_result::ProbeResult;
pub use rate_limiter::{ApiCallKind, RateChange, RateLimiter};
pub use read::{answered_rollout, read_rollout, rolled_kind};
pub use requests::{NoEffect, RolloutRequest, goes_forward_again};
pub use rights::{RolloutRights, rights, rights_elsewhere};
pub use rollout_write::RolloutWrite;
pub use running_versions::{RunningVersions, UnreadVersion, VersionState, VersionStatus, rollout_target};
pub use spec::{ROLLOUT, ROLLOUT_CRD};
pub use start::{
    asks_for_crd, asks_for_others, rollout_questions, shut_now, start_refusals, stays_over, web_questions,
};
pub use status::{
    BlockedObject, CrdSnapshot, HistoryEntry, InFlightObject, ObservedJob, OrphanedJob, PauseReason, RolloutCounts,
    RolloutFailure, RolloutPhase, RolloutStatus, WaveCounts,
};
pub use step_description::{StepDescription, told_steps};
pub use steps::{
    ObjectCall, ObjectWrite, PreconditionObject, Propagation, Replacement, ReplacementObject, not_left_behind,
};
pub use steps_digest::steps_not_compared;
pub use version_range::VersionRange;
pub use wave_gate::WaveSide;
pub use window::LocalTime;
pub use workflow_plan::{ahead_questions, step_questions, waiting_questions};
