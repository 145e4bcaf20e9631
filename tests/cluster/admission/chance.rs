//! The API server with the rules of the CRD, and /validate, reach the same verdict on random writes.
//!
//! `POINTSMAN_CASES` is the number of writes for each version of each kind.

use hyper::Method;
use pointsman_core::definition::Kind;
use pointsman_core::laws::apiserver::{read, written};
use pointsman_core::laws::{Value as Model, schema_of};
use pointsman_core::registration::{CrdOptions, crd};
use pointsman_core::webhook::{Enforcement, Metadata, Settings, Webhook};
use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::{CRDS, JSON, TestContext};
use crate::support::sample::{ELASTICSEARCH, FIGURE, MATERIALIZE, Sample};
use writes::{OURS, Write, judged, ours, write};

#[path = "../../../crates/core/tests/it/admission/writes.rs"]
mod writes;

/// The built-in kinds, and a group of kinds with one rule each.
static SAMPLES: [&Sample; 3] = [&MATERIALIZE, &ELASTICSEARCH, &FIGURE];

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new("random_writes_agree_with_crd", alike).of(&SAMPLES).newest()];

fn alike(ctx: &TestContext<'_>) {
    let cases = std::env::var("POINTSMAN_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(10);
    let kinds: Vec<Kind> = if ctx.sample.name == FIGURE.name {
        let group = |number| format!("r{number}.{}", ctx.group);
        OURS.iter().enumerate().map(|(number, (fields, rules))| ours(fields, rules, &group(number))).collect()
    } else {
        vec![ctx.kind()]
    };
    let mut counts = [0, 0, 0];
    for kind in kinds {
        let printed = crd(&kind, &CrdOptions::default()).unwrap();
        ctx.post(CRDS, &printed).ok();
        let versions: Vec<String> = kind.versions().map(str::to_owned).collect();
        let settings = Settings { enforcement: Enforcement::Enforce, ..Settings::default() };
        let webhook = Webhook::new(vec![kind], Metadata::Identity).unwrap().admitting(settings);
        for version in &versions {
            let path = format!("{}?dryRun=All", place(ctx, &webhook.kinds()[0], version));
            ctx.eventually(|| ctx.call(Method::GET, &path, None).is_ok().then_some(()));
            (0..cases).for_each(|number| judge(ctx, &webhook, version, number, &mut counts));
        }
        let path = format!("{CRDS}/{}", printed["metadata"]["name"].as_str().unwrap());
        ctx.call(Method::DELETE, &path, None).ok();
    }
    let [allowed, refused, invalid] = counts;
    println!(
        "     {}: {allowed} writes allowed, {refused} refused, {invalid} left out, which no schema takes",
        ctx.sample.name
    );
    assert!(allowed > 5 && (refused > 0 || ctx.sample.name == ELASTICSEARCH.name), "{counts:?}");
}

fn place(ctx: &TestContext<'_>, kind: &Kind, version: &str) -> String {
    format!("/apis/{}/{version}/namespaces/{}/{}", kind.group(), ctx.ns, kind.plural())
}

/// Compares the verdicts of the API server and of /validate on one write.
fn judge(ctx: &TestContext<'_>, webhook: &Webhook, version: &str, number: u64, counts: &mut [u32; 3]) {
    let kind = &webhook.kinds()[0];
    let Write { old, new } = write([kind.group(), version, kind.kind()], schema_of(kind, version).unwrap(), number);
    let here = |mut object: Value| {
        object["metadata"]["namespace"] = json!(ctx.ns);
        object["metadata"]["uid"] = json!("83a0790a-37f8-437d-9544-1cdfe99b86af");
        object
    };
    let (old, mut new) = (old.map(here), here(new));
    // A new object needs an unused name.
    new["metadata"]["name"] = json!(if old.is_some() { "o" } else { "n" });
    let model = |object: &Value| Model::read(&object.to_string()).unwrap();
    let schema = schema_of(kind, version).unwrap();
    let before = old.as_ref().map(|old| read(schema, &model(old)).unwrap());
    let Ok(after) = written(schema, &model(&new), before.as_ref()) else {
        counts[2] += 1;
        return;
    };
    let bare = |object: &Model| serde_json::from_str::<Value>(&object.to_text()).unwrap();
    let refused = judged(webhook, before.as_ref().map(bare).as_ref(), &bare(&after));
    let all = place(ctx, kind, version);
    let answer = match &old {
        Some(old) => {
            let key = format!("/registry/{}/{}/{}/o", kind.group(), kind.plural(), ctx.ns);
            ctx.test_cluster.etcd.write(&key, old);
            let stored = ctx.call(Method::GET, &format!("{all}/o"), None).ok();
            new["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
            ctx.call(Method::PUT, &format!("{all}/o?dryRun=All"), Some((JSON, new.to_string())))
        }
        None => ctx.call(Method::POST, &format!("{all}?dryRun=All"), Some((JSON, new.to_string()))),
    };
    assert!(answer.is_ok() || answer.code == 422, "{}", answer.message());
    assert_eq!(
        answer.is_ok(),
        refused.is_empty(),
        "{} {version}, case {number}\nold {old:?}\nnew {new}\nthe API server: {}\n/validate refuses for {refused:#?}",
        kind.name(),
        answer.message(),
    );
    counts[usize::from(!refused.is_empty())] += 1;
}
