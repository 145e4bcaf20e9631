//! Two controller versions at the same time: for every change of the version label, the called servers, their
//! responses, and the user's view. The API server's part (selectors, the order of its phases, the guard) is restated
//! here.

use pointsman_core::webhook::{Endpoint, Flip, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::{gadget, load, serving, version, with};

const KEY: &str = "example.com/managed-by-version";
pub(super) const A: &str = "2.16.0";
pub(super) const B: &str = "2.17.0";
pub(super) const UNKNOWN: &str = "9.9.9";
pub(super) const MALFORMED: &str = "latest-and_greatest";
const LABELS: [Option<&str>; 5] = [None, Some(A), Some(B), Some(UNKNOWN), Some(MALFORMED)];

fn server(controller: &str, default: bool) -> Webhook {
    let served = vec![version(A), version(B)];
    let settings = Settings { default, served, ..Settings::default() };
    serving(load("gadgets.yaml"), Some(controller), settings)
}

/// One registered configuration: its selector and its server.
struct Registered<'w> {
    name: &'static str,
    /// The label it selects; `None` selects objects without one.
    value: Option<&'static str>,
    webhook: &'w Webhook,
}

/// An objectSelector is tested on the new and the old object; one match is enough, and an absent object never matches.
fn selects(value: Option<&str>, objects: [Option<&Value>; 2]) -> bool {
    objects.into_iter().flatten().any(|object| object["metadata"]["labels"].get(KEY).and_then(Value::as_str) == value)
}

/// The guard's verdict: the guard reads only creations and label changes.
fn guarded(old: Option<Option<&str>>, new: Option<&str>) -> bool {
    let changed = old != Some(new);
    changed && !matches!(new, Some(A | B))
}

/// The outcome of a request: all calls and responses.
#[derive(Default)]
struct Seen {
    mutated_by: Vec<&'static str>,
    judged_by: Vec<(&'static str, bool)>,
    guard_refused: bool,
    object: Value,
    denials: Vec<Answer>,
    flips: Vec<Flip>,
}

impl Seen {
    fn allowed(&self) -> bool {
        !self.guard_refused && self.denials.is_empty()
    }
}

/// Runs a write through the API server's phases: mutating configurations one after the other, then all validating ones
/// and the guard.
fn write(servers: &[Registered<'_>], operation: &str, old: Option<&Value>, new: &Value) -> Seen {
    let label = |object: &Value| object["metadata"]["labels"].get(KEY).and_then(Value::as_str).map(str::to_owned);
    let mut seen = Seen { object: new.clone(), ..Seen::default() };
    for server in servers {
        if selects(server.value, [Some(&seen.object), old]) {
            let answer = ask(server.webhook, Endpoint::Mutate, &review(operation, old, Some(&seen.object)));
            assert!(answer.allowed, "{answer:?}");
            if !answer.patch.is_empty() {
                seen.mutated_by.push(server.name);
            }
            seen.object = answer.patched;
        }
    }
    let (before, after) = (old.map(label), label(&seen.object));
    seen.guard_refused = guarded(before.as_ref().map(Option::as_deref), after.as_deref());
    for server in servers {
        if selects(server.value, [Some(&seen.object), old]) {
            let answer = ask(server.webhook, Endpoint::Validate, &review(operation, old, Some(&seen.object)));
            seen.judged_by.push((server.name, answer.allowed));
            seen.flips.extend(answer.flip);
            if !answer.allowed {
                seen.denials.push(answer);
            }
        }
    }
    seen
}

pub(super) fn labelled(object: &Value, label: Option<&str>) -> Value {
    match label {
        Some(label) => with(object, "/metadata/labels/example.com~1managed-by-version", json!(label)),
        None => object.clone(),
    }
}

/// The design table, cell by cell: the stored label, the rules applied to an invalid object, or a refusal by the guard.
#[derive(Debug, PartialEq)]
enum Cell {
    /// Stored with this label; these servers judge the object, with all of their rules.
    Judged(Option<&'static str>, &'static [&'static str]),
    /// Stored with this label, without validation of its content.
    Free(Option<&'static str>),
    Guarded,
}

fn table(old: Option<Option<&'static str>>, new: Option<&'static str>) -> Cell {
    use Cell::{Free, Guarded, Judged};
    match (old, new) {
        (None, None) => Judged(Some(A), &[A]),
        (Some(None), None) => Judged(None, &[A]),
        (Some(Some(kept @ (UNKNOWN | MALFORMED))), None) => Free(Some(kept)),
        (Some(Some(A)), None) => Judged(Some(A), &[A]),
        (Some(Some(B)), None) => Judged(Some(B), &[B]),
        (_, Some(A)) => Judged(Some(A), &[A]),
        (_, Some(B)) => Judged(Some(B), &[B]),
        (Some(old), new) if old == new => Free(new),
        (_, _) => Guarded,
    }
}

#[test]
fn label_changes_follow_the_table() {
    let (a, b) = (server(A, true), server(B, false));
    let servers = [
        Registered { name: A, value: Some(A), webhook: &a },
        Registered { name: B, value: Some(B), webhook: &b },
        Registered { name: A, value: None, webhook: &a },
    ];
    // Valid for both, only for B (A allows at most 3 replicas), only for A (B requires at least 2).
    let objects = [(2, [true, true]), (5, [false, true]), (1, [true, false])];
    let mut cells = 0;
    for olds in [None, Some(None), Some(Some(A)), Some(Some(B)), Some(Some(UNKNOWN)), Some(Some(MALFORMED))] {
        for new in LABELS {
            for (replicas, [for_a, for_b]) in objects {
                // The old object is valid for both versions, so that no violation is excused.
                let before = olds.map(|old: Option<&str>| labelled(&gadget("v2", &json!({"replicas": 2})), old));
                let after = labelled(&gadget("v2", &json!({"replicas": replicas})), new);
                let operation = if before.is_some() { "UPDATE" } else { "CREATE" };
                let seen = write(&servers, operation, before.as_ref(), &after);
                let cell = table(olds, new);
                let place = format!("{olds:?} to {new:?} with {replicas}: {cell:?}");
                let stored = seen.object["metadata"]["labels"].get(KEY).and_then(Value::as_str);
                match cell {
                    Cell::Judged(label, by) => {
                        // The downgrade has a path too: 2.17.0 lists 2.16.0.
                        let valid = by.iter().all(|by| if *by == A { for_a } else { for_b });
                        assert_eq!(seen.allowed(), valid, "{place}");
                        assert_eq!(stored, label, "{place}");
                        assert!(!seen.guard_refused, "{place}");
                    }
                    Cell::Free(label) => {
                        assert!(seen.allowed(), "{place}");
                        assert_eq!(stored, label, "{place}");
                    }
                    Cell::Guarded => assert!(seen.guard_refused, "{place}"),
                }
                let flip = |old: Option<Option<&str>>| old.is_some_and(|old| old.is_some() && old != new);
                let both = [A, B].iter().all(|one| [olds.flatten(), new].contains(&Some(one)));
                assert_eq!(
                    both && flip(olds),
                    seen.flips.iter().any(|flip| matches!(flip, Flip::Left | Flip::LeaveRefused))
                        && seen.flips.iter().any(|flip| matches!(flip, Flip::Entered | Flip::EnterRefused)),
                    "both versions hear of a flip: {place}"
                );
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 6 * 5 * 3);
}

#[test]
fn other_versions_are_not_judged() {
    let (a, b) = (server(A, true), server(B, false));
    let own = |webhook: &Webhook, old: Option<&str>, new: Option<&str>| {
        // Violates the rules of both.
        let before = labelled(&gadget("v2", &json!({"replicas": 2, "level": 1})), old);
        let after = labelled(&gadget("v2", &json!({"replicas": 2, "level": 99})), new);
        webhook.judge(&after.to_string(), Some(&before.to_string())).unwrap().1.is_none()
    };
    for (old, new) in [(B, B), (UNKNOWN, UNKNOWN), (MALFORMED, MALFORMED), (UNKNOWN, B), (MALFORMED, B), (A, B)] {
        assert!(own(&a, Some(old), Some(new)), "A on {old} to {new}");
    }
    for (old, new) in [(A, A), (UNKNOWN, A), (MALFORMED, A), (B, A), ("", ""), ("2.17", "2.17"), ("v2.17.0", "v2.17.0")]
    {
        assert!(own(&b, Some(old), Some(new)), "B on {old} to {new}");
    }
    assert!(own(&b, None, None), "only the default version takes objects without a label");
    assert!(!own(&a, None, None));
}

#[test]
fn deletions_are_never_refused() {
    for webhook in [server(A, true), server(A, false), server(B, false)] {
        for old in LABELS {
            let before = labelled(&gadget("v2", &json!({"replicas": 99, "level": 99})), old);
            for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
                let answer = ask(&webhook, endpoint, &review("DELETE", Some(&before), None));
                assert!(answer.allowed && answer.patch.is_empty(), "{old:?}");
            }
        }
    }
}
