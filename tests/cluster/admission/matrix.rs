//! Two controller versions in one cluster: which server reviews an object, and which writes are refused.

use std::fmt::Write;

use serde_json::json;

use crate::scenario::Scenario;
use crate::support::client::Answer;
use crate::support::ctx::TestContext;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B, MALFORMED, SideBySide, UNKNOWN, letter};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("label_changes_reach_the_right_webhook", matrix).of(&ENGINES),
    Scenario::new("guard_holds_while_webhooks_are_down", down).of(&ENGINES).newest(),
];

const LABELS: [Option<&str>; 5] = [None, Some(A), Some(B), Some(UNKNOWN), Some(MALFORMED)];

fn named(label: Option<&str>) -> &str {
    label.map_or("none", letter)
}

fn matrix(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.install(&ctx.printed_crd(&["--storage", new]));
    // Labels that the guard would refuse are set before the guard exists.
    for before in LABELS {
        for after in LABELS {
            for version in [old, new] {
                let name = name(version, "update", before, after);
                ctx.create(version, &ctx.labelled(version, &name, before)).ok();
            }
        }
        for version in [old, new] {
            let name = name(version, "delete", before, None);
            ctx.create(version, &ctx.labelled(version, &name, before)).ok();
        }
    }
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    for version in [old, new] {
        let table = table(ctx, &servers, version);
        // The table is equal in all clusters, or this test fails: one printed copy suffices.
        if version == new && ctx.test_cluster.plan.watch_cache && ctx.test_cluster.plan.version == "1.36" {
            println!("{table}");
        }
        for (row, expected) in table.lines().zip(EXPECTED.lines()) {
            assert_eq!(row, expected, "at {version}");
        }
        assert_eq!(table.lines().count(), EXPECTED.lines().count());
    }
}

fn name(version: &str, verb: &str, before: Option<&str>, after: Option<&str>) -> String {
    format!("{verb}-{version}-{}-{}", named(before), named(after)).to_lowercase()
}

fn table(ctx: &TestContext<'_>, servers: &SideBySide<'_>, version: &str) -> String {
    let key = ctx.label_key();
    let mut table = String::new();
    let mut row = |what: String, work: &dyn Fn() -> Answer| {
        let (answer, said) = servers.answered(work);
        let shown = match &answer.body {
            _ if !answer.is_ok() => short(&answer.message(), &key),
            body if body["kind"] == "Status" => "gone".to_owned(),
            body => letter(body["metadata"]["labels"][&key].as_str().unwrap_or_default()).to_owned(),
        };
        writeln!(table, "{what:29} {} {shown}", answer.code).unwrap();
        writeln!(table, "{:30}{said}", "").unwrap();
    };
    for after in LABELS {
        let object = ctx.labelled(version, &name(version, "create", None, after), after);
        row(format!("create {}", named(after)), &|| ctx.create(version, &object));
    }
    for before in LABELS {
        for after in LABELS {
            let name = name(version, "update", before, after);
            let patch = json!({"metadata": {"labels": {key.clone(): after}, "annotations": {"touched": "yes"}}});
            let what = format!("update {} to {}", named(before), named(after));
            row(what, &|| ctx.patch(version, &name, &patch));
        }
    }
    for before in LABELS {
        let name = name(version, "delete", before, None);
        row(format!("delete {}", named(before)), &|| ctx.delete(version, &name));
    }
    table
}

/// The relevant part of a message.
fn short(message: &str, key: &str) -> String {
    let said = message.split_once("denied request: ").or_else(|| message.split_once("denied the request: "));
    said.map_or(message, |(_, said)| said).replace(key, "KEY")
}

const EXPECTED: &str = include_str!("../../data/admission/matrix.txt");

fn down(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    for (name, label) in [("a", Some(A)), ("odd", Some(UNKNOWN)), ("bare", None)] {
        ctx.create(new, &ctx.labelled(new, name, label)).ok();
    }
    let mut servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("deny");
    servers.stop();
    let flip =
        |name: &str, to: Option<&str>| ctx.patch(new, name, &json!({"metadata": {"labels": {ctx.label_key(): to}}}));
    // The policy refuses labels that no server reviews.
    for label in [UNKNOWN, MALFORMED] {
        let message = ctx.create(new, &ctx.labelled(new, "new", Some(label))).fails(422);
        assert!(
            message.contains(&format!("no controller version \"{label}\" is served; served versions: 2.16.0, 2.17.0")),
            "{message}"
        );
    }
    for name in ["odd", "bare"] {
        let message = flip(name, Some(MALFORMED)).fails(422);
        assert!(message.contains("no controller version \"latest\" is served"), "{name}: {message}");
    }
    // An existing object with an invalid label stays changeable.
    ctx.patch(new, "odd", &json!({"metadata": {"annotations": {"touched": "yes"}}})).ok();
    // A write that needs a verdict fails while the server is down, with a message that names the version.
    let writes = [
        ctx.create(new, &ctx.labelled(new, "new", Some(B))),
        ctx.create(new, &ctx.labelled(new, "new", None)),
        flip("a", Some(B)),
        flip("a", Some(UNKNOWN)),
        flip("a", None),
        flip("odd", Some(A)),
        ctx.patch(new, "a", &json!({"spec": {"power": 80}})),
    ];
    for answer in writes {
        let message = answer.fails(500);
        assert!(message.contains("failed calling webhook \"mutate-"), "{message}");
        assert!(message.contains("connection refused"), "{message}");
    }
    // Reads, status, scale and deletions need no server.
    for name in ["a", "odd", "bare"] {
        ctx.get(ctx.sample.old, name).ok();
        ctx.patch(new, &format!("{name}/status"), &json!({"status": {"replicas": 3}})).ok();
        ctx.patch(new, &format!("{name}/scale"), &json!({"spec": {"replicas": 3}})).ok();
        ctx.delete(new, name).ok();
    }
}
