//! Two controller versions side by side: for every change of the version label, who is asked, who answers what, and
//! what the user sees. The API server's part (selectors, the order of its phases, the guard) is restated here.

use pointsman::webhook::{Endpoint, Flip, Settings, Webhook};
use serde_json::{Value, json};

use super::apiserver::{Answer, ask, review};
use super::{data, embedded, gadget, load, serving, version, with};

const KEY: &str = "example.com/managed-by-version";
const A: &str = "2.16.0";
const B: &str = "2.17.0";
const UNKNOWN: &str = "9.9.9";
const MALFORMED: &str = "latest-and_greatest";
const LABELS: [Option<&str>; 5] = [None, Some(A), Some(B), Some(UNKNOWN), Some(MALFORMED)];

fn server(controller: &str, default: bool) -> Webhook {
    let served = vec![version(A), version(B)];
    let settings = Settings {
        default,
        served,
        ..Settings::default()
    };
    serving(load("gadgets.yaml"), Some(controller), settings)
}

/// One registered configuration: its selector and its server.
struct Registered<'w> {
    name: &'static str,
    /// The label it selects; `None` selects objects without one.
    value: Option<&'static str>,
    webhook: &'w Webhook,
}

/// An objectSelector is tried on the object and on what it was before; one match is enough, and nothing never matches.
fn selects(value: Option<&str>, objects: [Option<&Value>; 2]) -> bool {
    objects.into_iter().flatten().any(|object| {
        object["metadata"]["labels"]
            .get(KEY)
            .and_then(Value::as_str)
            == value
    })
}

/// What the guard says: it looks at creations and at changes of the label alone.
fn guarded(old: Option<Option<&str>>, new: Option<&str>) -> bool {
    let changed = old != Some(new);
    changed && !matches!(new, Some(A | B))
}

/// What became of a request: everything that was asked and answered on the way.
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
    let label = |object: &Value| {
        object["metadata"]["labels"]
            .get(KEY)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut seen = Seen {
        object: new.clone(),
        ..Seen::default()
    };
    for server in servers {
        if selects(server.value, [Some(&seen.object), old]) {
            let answer = ask(
                server.webhook,
                Endpoint::Mutate,
                &review(operation, old, Some(&seen.object)),
            );
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
            let answer = ask(
                server.webhook,
                Endpoint::Validate,
                &review(operation, old, Some(&seen.object)),
            );
            seen.judged_by.push((server.name, answer.allowed));
            seen.flips.extend(answer.flip);
            if !answer.allowed {
                seen.denials.push(answer);
            }
        }
    }
    seen
}

fn labelled(object: &Value, label: Option<&str>) -> Value {
    match label {
        Some(label) => with(
            object,
            "/metadata/labels/example.com~1managed-by-version",
            json!(label),
        ),
        None => object.clone(),
    }
}

/// The table of the design, cell by cell: the label that is stored, which rules an invalid object meets, or that the
/// guard refuses.
#[derive(Debug, PartialEq)]
enum Cell {
    /// Stored with this label; these servers judge the object, with all of their rules.
    Judged(Option<&'static str>, &'static [&'static str]),
    /// Stored with this label, and nobody minds what is in it.
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
fn every_change_of_the_label_is_judged_by_whom_the_table_names() {
    let (a, b) = (server(A, true), server(B, false));
    let servers = [
        Registered {
            name: A,
            value: Some(A),
            webhook: &a,
        },
        Registered {
            name: B,
            value: Some(B),
            webhook: &b,
        },
        Registered {
            name: A,
            value: None,
            webhook: &a,
        },
    ];
    // Valid for both, for B alone (A takes 3 replicas at most), for A alone (B wants 2 at least).
    let objects = [(2, [true, true]), (5, [false, true]), (1, [true, false])];
    let mut cells = 0;
    for olds in [
        None,
        Some(None),
        Some(Some(A)),
        Some(Some(B)),
        Some(Some(UNKNOWN)),
        Some(Some(MALFORMED)),
    ] {
        for new in LABELS {
            for (replicas, [for_a, for_b]) in objects {
                // What was there before is valid for everyone, so that nothing is excused.
                let before = olds
                    .map(|old: Option<&str>| labelled(&gadget("v2", &json!({"replicas": 2})), old));
                let after = labelled(&gadget("v2", &json!({"replicas": replicas})), new);
                let operation = if before.is_some() { "UPDATE" } else { "CREATE" };
                let seen = write(&servers, operation, before.as_ref(), &after);
                let cell = table(olds, new);
                let place = format!("{olds:?} to {new:?} with {replicas}: {cell:?}");
                let stored = seen.object["metadata"]["labels"]
                    .get(KEY)
                    .and_then(Value::as_str);
                match cell {
                    Cell::Judged(label, by) => {
                        // Downgrading has a path too: 2.17.0 names 2.16.0.
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
                let flip =
                    |old: Option<Option<&str>>| old.is_some_and(|old| old.is_some() && old != new);
                let both = [A, B]
                    .iter()
                    .all(|one| [olds.flatten(), new].contains(&Some(one)));
                assert_eq!(
                    both && flip(olds),
                    seen.flips
                        .iter()
                        .any(|flip| matches!(flip, Flip::Left | Flip::LeaveRefused))
                        && seen
                            .flips
                            .iter()
                            .any(|flip| matches!(flip, Flip::Entered | Flip::EnterRefused)),
                    "both versions hear of a flip: {place}"
                );
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 6 * 5 * 3);
}

#[test]
fn nobody_is_asked_about_the_objects_of_others() {
    let (a, b) = (server(A, true), server(B, false));
    let own = |webhook: &Webhook, old: Option<&str>, new: Option<&str>| {
        // Breaks the rules of both.
        let before = labelled(&gadget("v2", &json!({"replicas": 2, "level": 1})), old);
        let after = labelled(&gadget("v2", &json!({"replicas": 2, "level": 99})), new);
        ask(
            webhook,
            Endpoint::Validate,
            &review("UPDATE", Some(&before), Some(&after)),
        )
        .allowed
    };
    for (old, new) in [
        (B, B),
        (UNKNOWN, UNKNOWN),
        (MALFORMED, MALFORMED),
        (UNKNOWN, B),
        (MALFORMED, B),
        (A, B),
    ] {
        assert!(own(&a, Some(old), Some(new)), "A on {old} to {new}");
    }
    for (old, new) in [
        (A, A),
        (UNKNOWN, A),
        (MALFORMED, A),
        (B, A),
        ("", ""),
        ("2.17", "2.17"),
        ("v2.17.0", "v2.17.0"),
    ] {
        assert!(own(&b, Some(old), Some(new)), "B on {old} to {new}");
    }
    assert!(
        own(&b, None, None),
        "only the default version takes objects without a label"
    );
    assert!(!own(&a, None, None));
}

#[test]
fn deletions_are_nobodys_to_refuse() {
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

#[test]
fn the_version_that_is_left_refuses_while_it_promotes() {
    let controllers = |own: &str| {
        serving(
            embedded("materialize"),
            Some(own),
            Settings {
                served: vec![version(A), version(B)],
                ..Settings::default()
            },
        )
    };
    let promoting: Value = serde_saphyr::from_str(&data("fixtures/F08.yaml")).unwrap();
    let settled: Value = serde_saphyr::from_str(&data("fixtures/F06.yaml")).unwrap();
    let label = "/metadata/labels/materialize.cloud~1controller-version";
    for (object, may) in [(promoting, false), (settled, true)] {
        let (old, new) = (
            with(&object, label, json!(A)),
            with(&object, label, json!(B)),
        );
        let left = ask(
            &controllers(A),
            Endpoint::Validate,
            &review("UPDATE", Some(&old), Some(&new)),
        );
        assert_eq!(left.allowed, may, "{left:?}");
        assert_eq!(
            left.flip,
            Some(if may { Flip::Left } else { Flip::LeaveRefused })
        );
        if !may {
            assert_eq!(left.code, 422);
            assert_eq!(
                left.causes[0].0,
                "metadata.labels[materialize.cloud/controller-version]"
            );
            assert!(
                left.message.contains(
                    "2.16.0 is promoting this object: wait until the rollout is completed"
                )
            );
        }
        let entered = ask(
            &controllers(B),
            Endpoint::Validate,
            &review("UPDATE", Some(&old), Some(&new)),
        );
        assert_eq!((entered.allowed, entered.flip), (true, Some(Flip::Entered)));
        // Other changes of an object that is being promoted are the rules' business, not the label's.
        assert!(
            ask(
                &controllers(A),
                Endpoint::Validate,
                &review(
                    "UPDATE",
                    Some(&old),
                    Some(&with(&old, "/metadata/labels/x", json!("y")))
                )
            )
            .allowed
        );
    }
}

#[test]
fn the_version_that_is_entered_refuses_a_way_that_is_not_on_its_path() {
    let c = "2.18.0";
    let base = gadget("v2", &json!({"replicas": 2}));
    let flip = |own: &str, served: &[&str], old: &str, new: &str, more: fn(&Value) -> Value| {
        let settings = Settings {
            served: served.iter().map(|text| version(text)).collect(),
            ..Settings::default()
        };
        let webhook = serving(load("gadgets.yaml"), Some(own), settings);
        let (old, new) = (
            more(&labelled(&base, Some(old))),
            more(&labelled(&base, Some(new))),
        );
        ask(
            &webhook,
            Endpoint::Validate,
            &review("UPDATE", Some(&old), Some(&new)),
        )
    };
    let same = |object: &Value| object.clone();
    let far = flip(c, &[A, B, c], A, c, same);
    assert_eq!(
        (far.allowed, far.flip, far.code),
        (false, Some(Flip::EnterRefused), 422)
    );
    assert_eq!(
        far.message,
        "Gadget.example.com \"g\" is invalid: metadata.labels[example.com/managed-by-version]: Invalid value: \"2.18.0\": \
         no upgrade from 2.16.0 to 2.18.0 is allowed; go to 2.17.0 first"
    );
    // A to B and back to A: 2.17.0 says that it may become 2.16.0 again. 2.18.0 says nothing of the kind.
    assert!(flip(B, &[A, B], A, B, same).allowed);
    assert!(flip(A, &[A, B], B, A, same).allowed);
    let back = flip(B, &[A, B, c], c, B, same);
    assert!(
        !back.allowed && back.message.contains("no downgrade from 2.18.0 to 2.17.0"),
        "{}",
        back.message
    );
    // The annotation that opts out turns it into a warning.
    let out = flip(c, &[A, B, c], A, c, |object| {
        with(
            object,
            "/metadata/annotations/example.com~1any-controller",
            json!("true"),
        )
    });
    assert!(
        out.allowed
            && out.warnings[0]
                .contains("not enforced because of annotation example.com/any-controller")
    );
    // A version that nobody serves is no version to come from: its objects are adopted.
    assert!(
        flip(B, &[A, B], UNKNOWN, B, same).allowed,
        "repair from an unknown version"
    );
    assert!(
        flip(B, &[], UNKNOWN, B, same).allowed,
        "repair where only the path says what is known"
    );
    assert!(flip(B, &[A, B], MALFORMED, B, same).allowed);
    assert!(flip(B, &[A, B], "", B, same).allowed);
    // Text is identity: another spelling is another version, which nobody serves.
    assert!(flip(B, &[A, B], "v2.17.0", B, same).allowed);
}
