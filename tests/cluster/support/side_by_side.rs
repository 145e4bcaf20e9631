//! Several controller versions side by side: a server for each, registered with the output of `pointsman webhooks`.

use std::collections::BTreeMap;
use std::fs;

use hyper::Method;
use serde_json::{Value, json};

use super::ctx::TestContext;
use super::pointsman::{Pointsman, Setup, write_pair};
use super::process::{SOON, eventually};

pub(crate) const A: &str = "2.16.0";
pub(crate) const B: &str = "2.17.0";
pub(crate) const C: &str = "2.18.0";
/// A version without a server.
pub(crate) const UNKNOWN: &str = "9.9.9";
/// A text that is no version.
pub(crate) const MALFORMED: &str = "latest";

/// A server with the rules of one controller version.
pub(crate) struct Server {
    pub(crate) version: &'static str,
    pub(crate) setup: Setup,
    /// `None` while stopped.
    pub(crate) running: Option<Pointsman>,
}

/// The servers of a kind. The first one's version is the default.
pub(crate) struct SideBySide<'a> {
    ctx: &'a TestContext<'a>,
    pub(crate) servers: Vec<Server>,
}

/// Responses by webhook and outcome, such as `validate deny`.
type Answers = BTreeMap<String, u64>;

impl<'a> SideBySide<'a> {
    /// Starts the servers. All share a port, each with its own address and Service, because the registered documents
    /// differ only in the name of the Service.
    pub(crate) fn start(ctx: &'a TestContext<'a>, versions: &[&'static str], more: &[&str]) -> Self {
        let all = versions.join(",");
        let start = |(index, version): (usize, &&'static str)| {
            let host = format!("127.0.0.{}", index + 2);
            let name = format!("engine-{}", version.replace('.', "-"));
            let dir = ctx.dir.join(version);
            fs::create_dir_all(&dir).unwrap();
            let names = [format!("{name}.{}.svc", ctx.ns)];
            let (cert, key) = write_pair(&dir, &ctx.test_cluster.authority.issue(&names));
            let mut flags = vec![format!("--controller-version={version}"), format!("--served-versions={all}")];
            flags.extend((index == 0).then(|| "--default-version".to_owned()));
            flags.extend(more.iter().map(|flag| (*flag).to_owned()));
            let log = ctx.setup.log.with_extension(format!("{version}.log"));
            let setup = Setup { cert, key, log, host, flags, ..ctx.setup.clone() };
            let spec = json!({"type": "ExternalName", "externalName": setup.host});
            let path = format!("/api/v1/namespaces/{}/services", ctx.ns);
            ctx.post(&path, &json!({"metadata": {"name": name}, "spec": spec})).ok();
            let running = Some(Pointsman::start(&setup));
            Server { version, setup, running }
        };
        let servers = versions.iter().enumerate().map(start).collect();
        Self { ctx, servers }
    }

    /// Applies the printed documents, and waits until they are in force.
    pub(crate) fn register(&self, guard: &str) {
        let versions: Vec<&str> = self.servers.iter().map(|server| server.version).collect();
        let service = format!("{}/engine-{{version}}:{}", self.ctx.ns, self.ctx.setup.port);
        let text = self.ctx.pointsman_prints(&[
            "webhooks",
            &format!("--side-by-side={}", versions.join(",")),
            &format!("--default={}", versions[0]),
            &format!("--service={service}"),
            &format!("--guard={guard}"),
        ]);
        let printed: Value = serde_json::from_str(&text).unwrap();
        self.ctx.kubectl(&["apply"], &printed);
        for (index, server) in self.servers.iter().enumerate() {
            self.wait_until_asked(index, Some(server.version));
        }
        self.wait_until_asked(0, None);
        // In the other modes, no client sees the effect.
        if matches!(guard, "deny" | "warn") {
            eventually("the guard is in force", SOON, || {
                let answer = self.dry_run(Some(MALFORMED));
                let heard = [answer.warnings.concat(), answer.message()].concat();
                heard.contains("no controller version").then_some(())
            });
        }
    }

    fn wait_until_asked(&self, index: usize, label: Option<&str>) {
        let what = format!("{label:?} is asked about");
        let before = self.servers[index].answers();
        eventually(&what, SOON, || {
            let answer = self.dry_run(label);
            // The API server sees a Service later than its references.
            assert!(answer.is_ok() || answer.code == 500, "{}", answer.message());
            let after = self.servers[index].answers();
            let asked = |webhook: &str| {
                let count = |answers: &Answers| -> u64 {
                    let of = answers.iter().filter(|(name, _)| name.starts_with(webhook));
                    of.map(|(_, count)| count).sum()
                };
                count(&after) > count(&before)
            };
            (asked("mutate") && asked("validate")).then_some(())
        });
    }

    fn dry_run(&self, label: Option<&str>) -> super::client::Answer {
        let ctx = self.ctx;
        let object = ctx.labelled(ctx.sample.new, "probe", label);
        ctx.post(&format!("{}?dryRun=All", ctx.all(ctx.sample.new)), &object)
    }

    pub(crate) fn stop(&mut self) {
        for server in &mut self.servers {
            if let Some(mut running) = server.running.take() {
                running.drain();
            }
        }
    }

    /// Restarts the servers with other flags.
    pub(crate) fn restart(&mut self, more: &[&str]) {
        self.stop();
        for server in &mut self.servers {
            let mut setup = server.setup.clone();
            let name = |flag: &str| flag.split('=').next().map(str::to_owned);
            setup.flags.retain(|flag| !more.iter().any(|other| name(other) == name(flag)));
            setup.flags.extend(more.iter().map(|flag| (*flag).to_owned()));
            server.running = Some(Pointsman::start(&setup));
        }
    }

    /// The responses of each server during an operation, such as `A: mutate patch, validate allow`.
    pub(crate) fn answered<T>(&self, work: impl FnOnce() -> T) -> (T, String) {
        self.wait_for_caches();
        let before: Vec<Answers> = self.servers.iter().map(Server::answers).collect();
        let result = work();
        let mut said = Vec::new();
        for (server, before) in self.servers.iter().zip(before) {
            let mut webhooks: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (answer, count) in server.answers() {
                let more = count - before.get(&answer).copied().unwrap_or(0);
                let (webhook, outcome) = answer.split_once(' ').unwrap();
                if more > 0 && webhook != "convert" {
                    let list = webhooks.entry(webhook.to_owned()).or_default();
                    list.push(if more > 1 { format!("{outcome} x{more}") } else { outcome.to_owned() });
                }
            }
            let webhooks: Vec<String> =
                webhooks.into_iter().map(|(webhook, outcomes)| format!("{webhook} {}", outcomes.join("+"))).collect();
            if !webhooks.is_empty() {
                said.push(format!("{}: {}", letter(server.version), webhooks.join(", ")));
            }
        }
        let said = if said.is_empty() { "nobody".to_owned() } else { said.join("; ") };
        (result, said)
    }

    /// Waits until the caches of the API server hold every object as stored. An update starts with the cached object.
    /// If that one is old, the API server calls the webhooks a second time. A list waits for the cache of its version.
    fn wait_for_caches(&self) {
        for version in [self.ctx.sample.old, self.ctx.sample.new] {
            self.ctx.call(Method::GET, &self.ctx.all(version), None).ok();
        }
    }
}

pub(crate) fn letter(version: &str) -> &str {
    match version {
        A => "A",
        B => "B",
        C => "C",
        UNKNOWN => "unknown",
        MALFORMED => "malformed",
        _ => "none",
    }
}

impl Server {
    fn answers(&self) -> Answers {
        let page = self.metrics();
        let lines = page.lines().filter_map(|line| line.strip_prefix("pointsman_webhook_outcomes_total{"));
        let answer = |line: &str| {
            let part = |at: usize| line.split('"').nth(at).unwrap().to_owned();
            let count = line.rsplit(' ').next().unwrap().parse().unwrap();
            // Labels are sorted by name: outcome, webhook.
            (format!("{} {}", part(3), part(1)), count)
        };
        lines.map(answer).collect()
    }

    pub(crate) fn metrics(&self) -> String {
        self.running.as_ref().map(Pointsman::metrics).unwrap_or_default()
    }
}

impl TestContext<'_> {
    /// The label with the controller version of an object.
    pub(crate) fn label_key(&self) -> String {
        let mut lines = self.sample.definition.lines();
        let own = lines.find_map(|line| line.trim().strip_prefix("versionLabel: "));
        own.map_or_else(|| format!("{}/controller-version", self.group), str::to_owned)
    }

    pub(crate) fn labelled(&self, version: &str, name: &str, label: Option<&str>) -> Value {
        let mut object = self.object(version, name);
        if let Some(label) = label {
            object["metadata"]["labels"] = json!({self.label_key(): label});
        }
        object
    }
}
