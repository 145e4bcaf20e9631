//! The memory costs of the definitions of a server.

use crate::definition::{AccessedFields, Growth, Kind};

/// The costs of each kind, and the maximum of all.
#[derive(Debug, Default)]
pub(super) struct Costs {
    all: Growth,
    kinds: Vec<KindCosts>,
}

#[derive(Debug)]
struct KindCosts {
    /// The kind in objects, with its quotes.
    named: String,
    costs: BodyCosts,
}

/// The costs of the kinds that a body may contain.
#[derive(Clone, Debug)]
pub(super) struct BodyCosts {
    /// The bytes that conversions add to objects.
    pub(super) growth: Growth,
    /// The fields that conversions parse.
    pub(super) opened: AccessedFields,
    /// Whether objects are hashed.
    pub(super) hashes: bool,
}

impl BodyCosts {
    /// The costs of unknown definitions.
    fn unknown() -> Self {
        Self { growth: Growth::default(), opened: AccessedFields::Everything, hashes: true }
    }

    fn or(self, other: &Self) -> Self {
        let (growth, opened) = (self.growth.or(other.growth), self.opened.or(other.opened.clone()));
        Self { growth, opened, hashes: self.hashes || other.hashes }
    }
}

impl Costs {
    pub(super) fn of(kinds: &[Kind]) -> Self {
        let costs = |kind: &Kind| {
            let (growth, opened, hashes) = (kind.growth(), kind.opened(), kind.rollout_hash.is_some());
            KindCosts { named: format!("\"{}\"", kind.kind), costs: BodyCosts { growth, opened, hashes } }
        };
        let kinds: Vec<KindCosts> = kinds.iter().map(costs).collect();
        let all = kinds.iter().fold(Growth::default(), |all, kind| all.or(kind.costs.growth));
        Self { all, kinds }
    }

    /// The maximum growth of all definitions.
    pub(super) fn most(&self) -> &Growth {
        &self.all
    }

    /// The costs of the kinds that a body may contain.
    pub(super) fn of_body(&self, body: &[u8]) -> BodyCosts {
        if self.kinds.is_empty() {
            return BodyCosts::unknown();
        }
        let spelled = spells_names(body);
        let is_there = |kind: &&KindCosts| spelled || memchr::memmem::find(body, kind.named.as_bytes()).is_some();
        let none = BodyCosts { growth: Growth::default(), opened: AccessedFields::of_any(), hashes: false };
        self.kinds.iter().filter(is_there).fold(none, |all, kind| all.or(&kind.costs))
    }
}

/// Returns whether letters or digits are written as escapes, so that a kind may not be found. No common encoder does
/// that: Go escapes `<`, `>` and `&`, control characters, and two line separators.
fn spells_names(body: &[u8]) -> bool {
    let mut escapes = memchr::memmem::find_iter(body, b"\\u00");
    escapes.any(|at| match body.get(at + 4..at + 6) {
        Some([b'3', digit]) => digit.is_ascii_digit(),
        Some([row, _]) => (b'4'..=b'7').contains(row),
        _ => true,
    })
}
