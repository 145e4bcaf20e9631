//! StagedRollouts: move a fleet of objects from one controller version to another, wave by wave, within a budget and
//! behind gates. A rollout can be undone.
//!
//! [`plan()`] decides: from the StagedRollout, its status, the observed fleet and the time, it returns the ordered list
//! of writes. The planner keeps no state: each pass derives the next step from observed objects, so the runner can be
//! killed at any point.

mod definition;
mod evaluate;
mod lookup;
mod observe;
mod plan;
mod report;
mod spec;
mod steps;

pub use definition::checks::{BadHttpAddress, HttpAddress, quoted_in_address};
pub use definition::{check_definition, definition_schema};
pub use evaluate::object_state::ObjectState;
pub use lookup::http::{HttpProbe, ProbeKind, ProbeResult};
pub use lookup::request::{FactLookup, LookupRequest, LookupTarget, OtherCluster};
pub use lookup::results::{ConversionOutcome, LookupResults, MutationState};
pub use observe::conditions::Condition;
pub use observe::facts::{PlanInput, RunnerCache};
pub use observe::field_managers::{ManagerRecord, ROLLOUT_MANAGER};
pub use observe::fleet_object::{FleetObject, OF_WAVE};
pub use observe::moment::{ClockReading, LONGEST_CALL, rfc3339, wall};
pub use observe::observed_field::{is_patched, patched_uid};
pub use observe::status::{
    BlockedObject, CrdSnapshot, HistoryEntry, InFlightObject, ObservedJob, OrphanedJob, PauseReason, RolloutCounts,
    RolloutFailure, RolloutPhase, RolloutStatus, WaveCounts,
};
pub use plan::forecast::{Forecast, PriorityDecision, decide_priority, forecast};
pub use plan::next_writes::{RolloutPlan, plan};
pub use plan::planner::RolloutWrite;
pub use plan::requests::{NoEffect, RolloutRequest, restarts_forward};
pub use plan::start::{
    http_probes, needs_crd, needs_other_rollouts, rollout_lookups, shut_now, start_refusals, stays_over,
};
pub use plan::workflow_plan::{initial_wait_lookups, preflight_lookups, step_lookups};
pub use report::descriptions::{GateDescription, StepDescription, gate_descriptions, step_descriptions};
pub use report::documents;
pub use report::mutations::{missing_mutations, seen_by_mutation};
pub use report::rate_limiter::{ApiCallKind, RateChange, RateLimiter};
pub use report::rights::{RolloutRights, rights, rights_elsewhere};
pub use report::running_versions::{RunningVersions, UnreadVersion, VersionState, VersionStatus, rollout_target};
pub use spec::compiler::{answered_rollout, read_rollout, rolled_kind};
pub use spec::document::{BadRollout, ROLLOUT, ROLLOUT_CRD};
pub use spec::freeze::Frozen;
pub use spec::rollout::{Direction, OwnerReferences, Rollout};
pub use spec::versions::{OrderedVersion, VersionRange};
pub use spec::waves::WaveSide;
pub use spec::window::LocalTime;
pub use steps::objects::converted_source::{annotation_removals, converted_sources, replacements_lookup};
pub use steps::objects::observed_object::not_left_behind;
pub use steps::steps_digest::steps_not_compared;
pub use steps::writes::job_write::JobWrite;
pub use steps::writes::object_write::{
    ObjectCall, ObjectWrite, PreconditionObject, Propagation, Replacement, ReplacementObject,
};
pub use steps::writes::patch::ObjectPatch;
