//! A rollout begins only if the applications of a cluster support the target version and its images exist. Both checks
//! depend on the target version.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use hyper::Method;
use serde_json::{Value, json};

use crate::rollouts::outside::{asked_for, replies};
use crate::rollouts::versions::{HOSTS, NEW, OLD, agents, application, begins, document, node, patch, rollout, stored};
use crate::scenario::Scenario;
use crate::support::ctx::{MERGE, TestContext};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("start_needs_supported_version", supported).of(&HOSTS).newest()];

/// A fake image registry: it answers for its tags.
struct Registry {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    tags: BTreeSet<&'static str>,
    /// The requested paths.
    paths: BTreeSet<String>,
}

impl Registry {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = seen.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &shared)));
        Self { port, seen }
    }

    fn has(&self, tag: &'static str) {
        self.seen.lock().unwrap().tags.insert(tag);
    }

    fn was_asked_for(&self) -> BTreeSet<String> {
        self.seen.lock().unwrap().paths.clone()
    }

    /// The URL of an image with this tag.
    fn image(&self, tag: &str) -> String {
        format!("http://127.0.0.1:{}{IMAGES}{tag}", self.port)
    }
}

fn answer(mut stream: TcpStream, seen: &Mutex<Seen>) {
    let Some(path) = asked_for(&mut stream) else { return };
    let mut seen = seen.lock().unwrap();
    let code = if path.strip_prefix(IMAGES).is_some_and(|tag| seen.tags.contains(tag)) { 200 } else { 404 };
    seen.paths.insert(path);
    drop(seen);
    replies(stream, code, "");
}

/// The path in the API of registries (github.com/opencontainers/distribution-spec, "Pulling manifests").
const IMAGES: &str = "/v2/kube-apiserver/manifests/";

/// Sets the newest Kubernetes version that the application supports.
fn bears(ctx: &TestContext<'_>, newest: &str) {
    let path = format!("/apis/apps/v1/namespaces/{}/deployments/portal", ctx.ns);
    let change = json!({"metadata": {"annotations": {"example.com/kubernetes-max": newest}}});
    ctx.call(Method::PATCH, &path, Some((MERGE, change.to_string()))).ok();
}

/// The hosts of `tests/data`, whose definition also checks the registry for the image of the target version.
fn with_registry(ctx: &TestContext<'_>, registry: &Registry) {
    begins(ctx);
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let check = format!("  - {{name: images, http: \"{}\"}}\n  during:\n", registry.image("{to}"));
    assert_eq!(definition.matches("  during:\n").count(), 1);
    fs::write(&file, definition.replace("  during:\n", &check)).unwrap();
    patch(ctx, "patch.y", "Applied");
    patch(ctx, "patch.z", "Available");
    application(ctx, true);
    node(ctx, true);
}

fn supported(ctx: &TestContext<'_>) {
    let registry = Registry::start();
    with_registry(ctx, &registry);
    registry.has(OLD);
    bears(ctx, OLD);
    let file = rollout(ctx, &json!({}));
    let max = "metadata.annotations[\"example.com/kubernetes-max\"]";
    let application =
        format!("supported: deployments.apps {}/portal: {max} is \"{OLD}\", and must be at least \"{NEW}\"", ctx.ns);
    let image = format!("images: {} does not answer with 2xx: HTTP 404", registry.image(NEW));
    refused(ctx, &file, &[&application, &image]);
    // Each problem alone, then resolved.
    registry.has(NEW);
    refused(ctx, &file, &[&application]);
    bears(ctx, "v1.17");
    refused(ctx, &file, &[&application.replace(&format!("is \"{OLD}\""), "is \"v1.17\"")]);
    bears(ctx, "v1.18.3");
    registry.seen.lock().unwrap().tags.remove(NEW);
    refused(ctx, &file, &[&image]);
    // If the StagedRollout was applied without the command, `run` reports the problem before any move.
    ctx.kubectl(&["apply"], &document(&file));
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains(&format!("Refused: {image}")), "{text}{errors}");
    assert_eq!(ctx.versions(), [(OLD.to_owned(), 4)].into());
    assert!(ctx.rollout_writes().is_empty());
    registry.has(NEW);
    let _controllers = agents(ctx);
    let (code, text, errors) = ctx.runs_rollout(&[]);
    assert_eq!(code, 0, "{text}{errors}");
    assert_eq!(ctx.versions(), [(NEW.to_owned(), 4)].into());
    assert_eq!(registry.was_asked_for(), [format!("{IMAGES}{NEW}")].into(), "no other version was asked for");
    ctx.forgets_rollout();
    ctx.call(Method::DELETE, &format!("/api/v1/nodes/{}", ctx.ns), None).ok();
}

/// Checks that `start` and `plan` refuse the rollout for exactly these reasons, and write nothing.
fn refused(ctx: &TestContext<'_>, file: &str, why: &[&str]) {
    let before: (Value, u16) = stored(ctx);
    let errors = ctx.refused(&["rollout", "start", "-f", file]);
    let mut said: Vec<&str> = errors.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    let last = said.pop().unwrap_or_default();
    assert_eq!(said, why, "{errors}");
    assert!(last.ends_with("is not started; the cluster is unchanged"), "{errors}");
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", file]);
    assert_eq!(code, 1, "{text}{errors}");
    for why in why {
        assert!(text.contains(&format!("\nthe rollout would not start: {why}\n")), "{why}: {text}{errors}");
    }
    assert_eq!(before.1, 404);
    assert_eq!(stored(ctx), before);
}
