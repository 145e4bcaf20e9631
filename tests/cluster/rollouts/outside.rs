//! StagedRollouts with checks outside the cluster: a Prometheus query, and an HTTP request to an application.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use std::{fs, str};

use hyper::Method;
use serde_json::json;

use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::process::Process;
use crate::support::rolling::Controllers;
use crate::support::sample::{ENGINE, Sample};
use crate::support::side_by_side::{A, B};

static ENGINES: [&Sample; 1] = [&ENGINE];

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("rollout_follows_probes_and_prometheus", asked).of(&ENGINES).newest()];

const QUERY: &str = "sum(rate(es_5xx[5m]))";

/// A fake Prometheus and a fake application on one port.
struct Outside {
    port: u16,
    says: Arc<Mutex<Says>>,
}

/// The responses of both.
struct Says {
    /// The samples of every query.
    samples: Vec<&'static str>,
    /// The status of the application.
    code: u16,
    /// The number of requests so far.
    queries: usize,
}

impl Outside {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let says = Arc::new(Mutex::new(Says { samples: vec!["0"], code: 200, queries: 0 }));
        let shared = says.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream, &shared)));
        Self { port, says }
    }

    fn say(&self, samples: &[&'static str], code: u16) {
        let mut says = self.says.lock().unwrap();
        (says.samples, says.code) = (samples.to_vec(), code);
    }

    fn queries(&self) -> usize {
        self.says.lock().unwrap().queries
    }

    fn flag(&self) -> String {
        format!("--prometheus=http://127.0.0.1:{}/prometheus/", self.port)
    }
}

/// The path and query of a request.
pub(crate) fn asked_for(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut some) = (Vec::new(), [0; 512]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut some) {
            Ok(0) | Err(_) => return None,
            Ok(read) => head.extend_from_slice(&some[..read]),
        }
    }
    str::from_utf8(&head).unwrap().split(' ').nth(1).map(str::to_owned)
}

/// Writes a response.
pub(crate) fn replies(mut stream: TcpStream, code: u16, body: &str) {
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {code} As it is\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
}

/// Answers one request, as in the documentation of the Prometheus API.
fn answer(mut stream: TcpStream, says: &Mutex<Says>) {
    let Some(path) = asked_for(&mut stream) else { return };
    let mut says = says.lock().unwrap();
    let (code, body) = match path.as_str() {
        "/ok" => (says.code, String::new()),
        "/prometheus/api/v1/query?query=sum%28rate%28es_5xx%5B5m%5D%29%29" => {
            says.queries += 1;
            let samples = says.samples.iter().map(|value| json!({"metric": {}, "value": [1_794_996_000.123, value]}));
            let result: Vec<_> = samples.collect();
            (200, json!({"status": "success", "data": {"resultType": "vector", "result": result}}).to_string())
        }
        _ => (404, path),
    };
    drop(says);
    replies(stream, code, &body);
}

/// A cluster with healthy engines at A, whose definition has both checks, before a rollout begins and during the
/// rollout.
fn begins(ctx: &TestContext<'_>, outside: &Outside) {
    let file = ctx.setup.kinds.join("kind.yaml");
    let definition = fs::read_to_string(&file).unwrap();
    let checks = format!(
        "- {{name: errors, prometheus: {{query: \"{QUERY}\", atMost: 0.1}}}}\n  - {{name: app, http: \
         \"http://127.0.0.1:{}/ok\"}}",
        outside.port
    );
    fs::write(&file, format!("{definition}\nchecks:\n  start:\n  {checks}\n  during:\n  {checks}\n")).unwrap();
    ctx.install(&ctx.printed_crd(&[]));
    ctx.knows_rollouts();
    let names: Vec<String> = (0..4).map(|at| format!("e-{at:02}")).collect();
    ctx.engines(&names, Some(A));
    ctx.patch(ctx.sample.new, "e-00", &json!({"metadata": {"labels": {"rollout": "first"}}})).ok();
}

fn moved(ctx: &TestContext<'_>) -> usize {
    ctx.versions().get(B).copied().unwrap_or_default()
}

fn asked(ctx: &TestContext<'_>) {
    let outside = Outside::start();
    begins(ctx, &outside);
    let wave =
        json!([{"name": "first", "selector": {"labels": "rollout=first"}, "after": "approval"}, {"name": "rest"}]);
    let file = ctx.rollout_file(&json!({"waves": wave, "timeout": "120s"})).display().to_string();
    // No Prometheus is configured.
    let unknown = format!(
        "errors: {QUERY} cannot be read: no Prometheus is configured: use --prometheus URL, or set POINTSMAN_PROMETHEUS"
    );
    let (code, text, errors) = ctx.command(&["rollout", "plan", "-f", &file]);
    assert_eq!(code, 1, "{text}{errors}");
    assert!(text.contains(&format!("\nthe rollout would not start: {unknown}\n")), "{text}");
    assert!(text.contains(&format!("\nno object would move: {unknown}\n")), "{text}");
    // Each problem alone, then resolved.
    let flag = outside.flag();
    let app = format!("app: http://127.0.0.1:{}/ok does not answer with 2xx:", outside.port);
    for (samples, status, said) in [
        (&["0.3"][..], 200, format!("errors: {QUERY} is 0.3, and must be at most 0.1")),
        (&[], 200, format!("errors: {QUERY} cannot be read: the query has no sample")),
        (
            &["NaN"],
            200,
            format!("errors: {QUERY} cannot be read: Prometheus returned \"NaN\", which cannot be compared"),
        ),
        (&["0"], 503, format!("{app} HTTP 503")),
    ] {
        outside.say(samples, status);
        let errors = ctx.refused(&["rollout", "start", "-f", &file, &flag]);
        let lines: Vec<&str> = errors.lines().collect();
        assert_eq!((lines.len(), lines[0]), (2, format!("error: {said}").as_str()), "{errors}");
        let rollout = format!("/apis/pointsman.dev/v1/stagedrollouts/{}", ctx.ns);
        assert_eq!(ctx.call(Method::GET, &rollout, None).code, 404, "nothing was written");
    }
    outside.say(&["0.05"], 204);
    ctx.commanded(&["rollout", "plan", "-f", &file, &flag]);
    ctx.commanded(&["rollout", "start", "-f", &file, &flag]);
    under_way(ctx, &outside);
    ctx.forgets_rollout();
}

/// A check that passed at the start fails, and passes again.
fn under_way(ctx: &TestContext<'_>, outside: &Outside) {
    let _controllers = Controllers::start(ctx, |_, _| Some(true));
    let (began, before) = (Instant::now(), outside.queries());
    let mut running = runs(ctx, outside);
    ctx.rollout_says("waiting for approval");
    assert_eq!(moved(ctx), 1);
    outside.say(&["0.3"], 200);
    // The runner repeats the query every 5 s.
    sleep(Duration::from_secs(6));
    ctx.does(&["approve", "first"]);
    let status = ctx.rollout_says(&format!("errors: {QUERY} is 0.3, and must be at most 0.1"));
    assert_eq!((&status["phase"], &status["reason"]), (&json!("Waiting"), &json!("PreconditionsNotMet")));
    outside.say(&[], 200);
    ctx.rollout_says("the query has no sample");
    outside.say(&["0"], 500);
    ctx.rollout_says("does not answer with 2xx: HTTP 500");
    assert_eq!(moved(ctx), 1, "nothing more is moved");
    // Twice before the start, one query for both lists; then every 5 s.
    let most = 4 + usize::try_from(began.elapsed().as_secs()).unwrap() / 5;
    assert!(outside.queries() - before <= most, "{} queries, {most} at most", outside.queries() - before);
    outside.say(&["0"], 200);
    ctx.rollout_says("Complete");
    assert_eq!(running.end(Duration::from_secs(20)), Some(0));
    assert_eq!(moved(ctx), 4);
}

/// Starts the rollout in a separate process.
fn runs(ctx: &TestContext<'_>, outside: &Outside) -> Process {
    let namespace = format!("--namespace={}", ctx.ns);
    let args = ctx.on_the_cluster(&["rollout", "run", &ctx.ns, "--holder=one", &namespace, &outside.flag()]);
    Process::start("rollout", Path::new(env!("CARGO_BIN_EXE_pointsman")), &args, &ctx.dir.join("rollout.log"))
}
