//! Gates: conditions on an object, as data. Health and handover consist of gates.

mod compiler;
mod gate;
mod gated_value;
mod spec;

pub use compiler::{GateCompiler, foreign_gate};
pub use gate::Gate;
pub(crate) use gate::Gated;
pub use gated_value::unmet_of;
pub use spec::GateSpec;
