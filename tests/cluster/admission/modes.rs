//! Enforcement that only counts or only warns, and the upgrade paths of Elasticsearch.

use serde_json::{Value, json};

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::sample::{ELASTICSEARCH, ENGINE, Sample};
use crate::support::side_by_side::{A, B, SideBySide};

static ENGINES: [&Sample; 1] = [&ENGINE];
static ELASTICSEARCHES: [&Sample; 1] = [&ELASTICSEARCH];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("audit_counts_and_warns_only", modes).of(&ENGINES).newest(),
    Scenario::new("kubectl_shows_our_warnings", warnings).of(&ENGINES).newest(),
    Scenario::new("elasticsearch_upgrades_follow_its_path", elasticsearch).of(&ELASTICSEARCHES).newest(),
];

fn modes(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let mut servers = SideBySide::start(ctx, &[A], &["--enforcement=audit"]);
    servers.register("audit");
    let strong = |name: &str| {
        let mut object = ctx.object(new, name);
        object["spec"]["power"] = json!(500);
        object
    };
    let answer = ctx.create(new, &strong("counted"));
    assert_eq!(answer.warnings, [""; 0]);
    answer.ok();
    ctx.create(new, &ctx.object(new, "good")).ok();
    let page = servers.servers[0].metrics();
    let counted: Vec<&str> =
        page.lines().filter(|line| line.starts_with("pointsman_admission_verdicts_total{")).collect();
    assert_eq!(counted.len(), 1, "{counted:?}");
    assert!(counted[0].contains("effect=\"would_deny\""), "{counted:?}");
    assert!(counted[0].contains("rule=\"range:spec.power\""), "{counted:?}");
    let heard = audited(ctx, "counted", "/would-deny");
    let (key, text) = heard.first().expect("an audit annotation");
    assert!(key.starts_with("validate-"), "{key}");
    assert!(text.contains("spec.power: Invalid value: 500: must be less than or equal to 100"), "{text}");
    assert_eq!(audited(ctx, "good", "/would-deny"), []);
    // The label guard in the same mode.
    let dry = format!("{}?dryRun=All", ctx.all(new));
    ctx.eventually(|| {
        ctx.post(&dry, &ctx.labelled(new, "odd", Some("9.9.9"))).ok();
        let heard = audited(ctx, "odd", "validation_failure");
        let refused = |text: &str| text.contains("9.9.9") && text.contains("is served; served versions: 2.16.0");
        heard.iter().any(|(_, text)| refused(text)).then_some(())
    });

    servers.restart(&["--enforcement=warn"]);
    let said = ctx.kubectl(&["create"], &strong("warned"));
    assert!(said.contains("Warning: not enforced yet: spec.power: Invalid value: 500"), "{said}");
    servers.restart(&["--enforcement=enforce"]);
    let (created, said) = ctx.try_kubectl(&["create"], &strong("denied"));
    assert!(!created, "{said}");
    assert!(said.contains("The Engine \"denied\" is invalid") || said.contains("Engine.eng"), "{said}");
}

/// Key and value of the audit annotations for requests on an object.
pub(crate) fn audited(ctx: &TestContext<'_>, name: &str, part: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for event in ctx.test_cluster.audit() {
        // At this audit level, the log has no object body, and so no name for a creation by POST.
        let object = &event["objectRef"];
        let ours = object["namespace"] == ctx.ns
            && (object["name"] == name || event["requestURI"].as_str().is_some_and(|uri| uri.ends_with(name)));
        let annotations = event["annotations"].as_object().filter(|_| ours);
        for (key, value) in annotations.into_iter().flatten() {
            if key.contains(part) {
                found.push((key.clone(), value.as_str().unwrap_or_default().to_owned()));
            }
        }
    }
    found
}

fn warnings(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.install(&ctx.printed_crd(&[]));
    let servers = SideBySide::start(ctx, &[A, B], &[]);
    servers.register("warn");
    let mut object = ctx.labelled(new, "e", Some(B));
    object["spec"]["note"] = json!("hello");
    let said = ctx.kubectl(&["apply"], &object);
    assert!(said.contains("Warning: spec.note is deprecated: use an annotation"), "{said}");
    object["spec"]["power"] = json!(80);
    let said = ctx.kubectl(&["apply"], &object);
    assert!(said.contains("Warning: this change starts a rollout: power ("), "{said}");
    // The rules of A ignore notes.
    object["metadata"]["name"] = json!("a");
    object["metadata"]["labels"][ctx.label_key()] = json!(A);
    let said = ctx.kubectl(&["apply"], &object);
    assert!(!said.contains("Warning"), "{said}");
    // The guard warns only, and so does the former version.
    object["metadata"]["labels"][ctx.label_key()] = json!("9.9.9");
    let said = ctx.kubectl(&["apply"], &object);
    assert!(said.contains("Warning: Validation failed for ValidatingAdmissionPolicy"), "{said}");
    assert!(said.contains("no server serves \"9.9.9\"; served versions: 2.16.0, 2.17.0"), "{said}");
}

fn elasticsearch(ctx: &TestContext<'_>) {
    let version = ctx.sample.new;
    let crd: Value = serde_json::from_str(&ctx.pointsman_prints(&["crd", "--no-conversion"])).unwrap();
    ctx.install(&crd);
    let servers = SideBySide::start(ctx, &[A], &[]);
    servers.register("deny");
    let running = |name: &str, version_: &str| {
        let object =
            ctx.with_spec(version, name, json!({"version": version_, "nodeSets": [{"name": "default", "count": 3}]}));
        ctx.create(version, &object).ok();
        ctx.patch(version, &format!("{name}/status"), &json!({"status": {"version": version_}})).ok();
    };
    let wanted = |name: &str, to: &str| ctx.patch(version, name, &json!({"spec": {"version": to}}));
    running("es", "7.17.9");
    let object = wanted("es", "8.18.0").ok();
    assert_eq!(object["spec"]["nodeSets"][0]["count"], 3, "unknown fields stay unchanged");
    let label = "eaas.search.mercari.in/desired-controller-version";
    assert_eq!(object["metadata"]["labels"][label], A);
    running("old", "7.16.3");
    let message = wanted("old", "8.0.0").fails(422);
    assert!(
        message.contains(
            "spec.version: Invalid value: \"8.0.0\": no upgrade from 7.16.3 to 8.0.0 is allowed; first move to 7.17.0"
        ),
        "{message}"
    );
    wanted("old", "7.17.0").ok();
    running("new", "8.18.1");
    wanted("new", "9.1.0").ok();
    running("back", "8.18.1");
    let message = wanted("back", "8.17.0").fails(422);
    assert!(message.contains("no downgrade from 8.18.1 to 8.17.0 is allowed"), "{message}");
    let opt_out = json!({"metadata": {"annotations": {"eck.k8s.elastic.co/disable-downgrade-validation": "true"}}});
    ctx.patch(version, "back", &opt_out).ok();
    let answer = wanted("back", "8.17.0");
    assert!(answer.warnings.concat().contains("not enforced because of annotation"), "{:?}", answer.warnings);
    answer.ok();
}
