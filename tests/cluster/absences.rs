//! Objects that lack a field that the newer version requires, as accepted by the definition: the API server validates
//! writes and no reads.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{LETTER, Sample};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("absent_field_is_read_unwritten", from_older_storage).of(&LETTERS),
    Scenario::new("absent_field_is_stored_by_older", from_newer_storage).of(&LETTERS),
];

static LETTERS: [&Sample; 1] = [&LETTER];

/// A letter without the fields that only the newer version requires, and the same object in the newer version.
fn incomplete(ctx: &TestContext<'_>, name: &str) -> Value {
    ctx.with_spec(ctx.sample.old, name, json!({"size": 3, "items": [{"weight": 1}], "sender": {"street": "x"}}))
}

/// Reads succeed in each version, and writes that leave the enclosing object unchanged (ratcheting). Any other write in
/// the version that requires the field needs a value.
fn assert_readable(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    let there = json!({"size": 3, "items": [{"weight": 1}], "sender": {"street": "x"}});
    for version in [old, new] {
        assert_eq!(ctx.get(version, "w").ok()["spec"], there, "{version}");
        assert_eq!(ctx.list(version).ok()["items"].as_array().unwrap().len(), 1, "{version}");
    }
    for version in [old, new] {
        ctx.patch(version, "w", &json!({"metadata": {"labels": {"x": version}}})).ok();
    }
    let note = |text: &str| json!({"spec": {"note": text}});
    let refused = ctx.patch(new, "w", &note("a")).fails(422);
    assert!(refused.contains("spec.recipient: Required value"), "{refused}");
    ctx.patch(old, "w", &note("b")).ok();
    let fields =
        json!({"spec": {"recipient": "Ada", "items": [{"label": "box"}], "sender": {"city": "Rome", "street": null}}});
    ctx.patch(new, "w", &fields).ok();
    let expected = json!({
        "address": "Ada", "size": 3, "note": "b", "items": [{"name": "box"}], "sender": {"city": "Rome"},
    });
    assert_eq!(ctx.get(old, "w").ok()["spec"], expected);
}

fn from_older_storage(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.old);
    ctx.create(ctx.sample.old, &incomplete(ctx, "w")).ok();
    let plan = || {
        let (code, report, errors) = ctx.command(&["plan", &ctx.crd_name(), "--to", ctx.sample.new]);
        assert_eq!(code, 0, "{report}{errors}");
        report
    };
    let report = plan();
    assert!(report.contains("/w   v2   invalid   spec/recipient is required"), "{report}");
    assert_readable(ctx);
    let report = plan();
    assert!(!report.contains("is required"), "{report}");
}

/// The API server stores the conversion of a valid older object without a validation of the newer schema.
fn from_newer_storage(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    ctx.create(ctx.sample.old, &incomplete(ctx, "w")).ok();
    let stored = ctx.etcd("w");
    assert_eq!((&stored["spec"]["recipient"], &stored["spec"]["size"]), (&Value::Null, &json!(3)), "{stored}");
    assert_readable(ctx);
}
