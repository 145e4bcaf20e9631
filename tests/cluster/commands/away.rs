//! `enable`, `rotate` and `disable` during short outages of the API server, and with Ctrl-C.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use crate::commands::enable_trouble::{assert_no_conversion, remove_conversion};
use crate::commands::rotate::{self, assert_trusted, ca_file, register, thorough, trust, unregister};
use crate::scenario::Scenario;
use crate::support::acting::{Told, run};
use crate::support::ctx::TestContext;
use crate::support::pki::Authority;
use crate::support::process::free_port;
use crate::support::proxy::{Fate, Proxy, status};
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::new("enable_survives_api_outage", enables).of(&WIDGETS).newest().failing(),
    Scenario::new("rotation_survives_api_outage", rotates).of(&WIDGETS).newest().failing(),
    Scenario::new("disable_survives_api_outage", disables).of(&WIDGETS).newest().failing(),
    Scenario::new("migration_survives_api_outage", migrates).of(&WIDGETS).newest(),
    Scenario::new("unacknowledged_change_is_restored", unheard).of(&WIDGETS).newest().failing(),
    Scenario::new("ctrl_c_ends_repeatable_commands", interrupted).of(&WIDGETS).newest().failing(),
];

static WIDGETS: [&Sample; 1] = [&WIDGET];

/// Breaks the connection after the second call, after the third, and so on; a quick run skips every second call. Some
/// runs also break a later call in another way. Each time `judge` checks the result of the command, until no call is
/// left to break.
fn broken_after_each_call(ctx: &TestContext<'_>, act: &dyn Fn(&Path) -> Told, judge: &dyn Fn(usize, &str)) {
    broken_where_looks_are_quiet(ctx, act, judge, None);
}

/// The same. The command may hide that the call `looks` was broken.
fn broken_where_looks_are_quiet(
    ctx: &TestContext<'_>,
    act: &dyn Fn(&Path) -> Told,
    judge: &dyn Fn(usize, &str),
    looks: Option<&str>,
) {
    for last in (1..).step_by(if thorough() { 1 } else { 2 }) {
        let proxy =
            Proxy::start(&ctx.test_cluster.api.client, move |at, _, _| match (at.checked_sub(last), last / 2 % 4) {
                (Some(0), _) => Fate::CutAfter,
                (Some(2), 0) => Fate::Answer(429, Some(1), status(429, "too many requests")),
                (Some(2), 1) => Fate::Answer(503, None, status(503, "apiserver is shutting down")),
                (Some(2), 2) => Fate::CutBefore,
                (Some(2), 3) => Fate::Answer(502, None, "<html>bad gateway".to_owned()),
                _ => Fate::Pass,
            });
        let (code, text, errors) = act(&ctx.through(proxy.port));
        let calls = proxy.calls();
        assert_eq!(code, 0, "broken after call {last}, {:?}: {text}{errors}", calls.get(last));
        let was_broken = calls.len() > last;
        let is_told = calls.get(last).is_some_and(|broken| Some(broken.as_str()) != looks);
        assert!(!is_told || errors.contains("retrying in 1 s"), "call {last}, {:?}: {errors}", calls.get(last));
        judge(last, &errors);
        if !was_broken {
            println!("     broken up to call {last}");
            assert!(last > 8, "{calls:?}");
            return;
        }
    }
}

fn enables(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let enabled = ctx.crd_now()["spec"].clone();
    remove_conversion(ctx);
    broken_after_each_call(ctx, &|kubeconfig| ctx.enables_at(kubeconfig, &["--force-conflicts"]), &|last, _| {
        assert_eq!(ctx.crd_now()["spec"], enabled, "after call {last}");
        ctx.get(ctx.sample.new, "a").ok();
        remove_conversion(ctx);
    });
}

fn rotates(ctx: &TestContext<'_>) {
    ctx.enable(ctx.sample.new);
    register(ctx);
    let (served, other) = (&ctx.test_cluster.authority, Authority::new());
    let file = ca_file(ctx, "served.crt", served);
    let endpoint = format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port);
    let act = |kubeconfig: &Path| {
        // No client converts meanwhile, so trusting the other authority alone does no harm.
        trust(ctx, &[&other]);
        let mut through = rotate::args(ctx, &[&file, &endpoint, "--settle=0s"]);
        through[2] = format!("--kubeconfig={}", kubeconfig.display());
        run(&through)
    };
    broken_after_each_call(ctx, &act, &|last, errors| {
        assert_trusted(ctx, &[served]);
        assert_eq!(errors.matches("done: trust").count(), 6, "after call {last}: {errors}");
        assert!(errors.contains("change 2 of a CRD"), "after call {last}: {errors}");
    });
    unregister(ctx);
}

fn disables(ctx: &TestContext<'_>) {
    let new = ctx.sample.new;
    ctx.enable(new);
    ctx.create(new, &ctx.object(new, "a")).ok();
    let enabled = ctx.crd_now()["spec"].clone();
    let act = |kubeconfig: &Path| {
        let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
        let name = ctx.crd_name();
        ctx.command(&["disable", &name, &ctx.server(), "--served", new, "--settle=0s", &kubeconfig])
    };
    broken_after_each_call(ctx, &act, &|last, _| {
        let crd = ctx.crd_now();
        assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}), "after call {last}");
        assert_eq!(crd["metadata"]["annotations"]["pointsman.dev/disabling"], Value::Null, "after call {last}");
        ctx.change_crd(|crd| {
            crd["spec"]["conversion"] = enabled["conversion"].clone();
            crd["spec"]["versions"] = enabled["versions"].clone();
        });
        ctx.eventually(|| ctx.get(ctx.sample.old, "a").is_ok().then_some(()));
    });
}

fn migrates(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    ctx.create(old, &ctx.object(old, "a")).ok();
    let to = || if ctx.stored_versions() == json!([old]) { new } else { old };
    let act = |kubeconfig: &Path| {
        let (to, writes) = (to(), ctx.test_cluster.etcd.writes(&ctx.key("a")));
        let told = ctx.migrate_at(kubeconfig, &["--to", to, "--settle=0s", "--max-in-flight=1"]);
        assert_eq!(ctx.etcd("a")["apiVersion"], format!("{}/{to}", ctx.group), "{}", told.2);
        assert_eq!(ctx.test_cluster.etcd.writes(&ctx.key("a")), writes + 1, "written once: {}", told.2);
        told
    };
    // While a write takes longer than a tenth of a second, the command reads the CRD; all these reads are equal.
    let looks = format!("GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", ctx.crd_name());
    let judge = |last, _: &str| {
        let mark = &ctx.crd_now()["metadata"]["annotations"]["pointsman.dev/rewriting"];
        assert_eq!(mark, &Value::Null, "after call {last}");
    };
    broken_where_looks_are_quiet(ctx, &act, &judge, Some(&looks));
}

/// The connection breaks after the CRD was applied, and the CRD does not work.
fn unheard(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let before = ctx.crd_now()["spec"].clone();
    let nobody = format!("--service={}/pointsman:{}", ctx.ns, free_port());
    let own = format!("--endpoint={}:{}", ctx.setup.host, ctx.setup.port);
    let path = format!("/customresourcedefinitions/{}?", ctx.crd_name());
    let broken = std::sync::atomic::AtomicBool::new(false);
    let proxy = Proxy::start(&ctx.test_cluster.api.client, move |_, method, asked| {
        let is_it = method == Method::PATCH && asked.contains(&path) && !asked.contains("dryRun");
        let first = is_it && !broken.swap(true, std::sync::atomic::Ordering::Relaxed);
        if first { Fate::CutAfter } else { Fate::Pass }
    });
    let (code, _, errors) = ctx.enables_at(&ctx.through(proxy.port), &[&nobody, &own, "--force-conflicts"]);
    assert!(code == 1 && errors.contains("the CRD is restored"), "{errors}");
    assert_eq!(ctx.crd_now()["spec"], before);
    ctx.eventually(|| ctx.get(ctx.sample.old, "a").is_ok().then_some(()));
    // A server that is unreachable from the start is not retried.
    let began = Instant::now();
    let nowhere = ctx.kubeconfig("nowhere", &json!({"server": "http://127.0.0.1:1"}), &json!({"token": "t"}));
    for command in ["enable", "disable", "status", "doctor", "plan"] {
        let name = ctx.crd_name();
        let kubeconfig = format!("--kubeconfig={}", nowhere.display());
        let mut args = vec![command, name.as_str(), kubeconfig.as_str()];
        let (server, authority) = (ctx.server(), format!("--ca-file={}", ctx.authority().display()));
        args.extend(matches!(command, "enable" | "disable").then_some(server.as_str()));
        args.extend((command == "enable").then_some(authority.as_str()));
        let errors = ctx.refused(&args);
        assert!(errors.contains("no answer from") && errors.contains("check the cluster: "), "{command}: {errors}");
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// An interrupt during an unanswered call ends the command soon, with 130; the same command completes the work.
fn interrupted(ctx: &TestContext<'_>) {
    assert_no_conversion(ctx);
    let stops = |name: &str, at: usize, args: &dyn Fn(&Path) -> Vec<String>| {
        let log = ctx.log_of(name);
        let _ = fs::remove_file(&log);
        let proxy = Proxy::start(&ctx.test_cluster.api.client, move |call, _, _| match call {
            call if call >= at => Fate::HeldBefore,
            _ => Fate::Pass,
        });
        let mut process = ctx.started(name, &args(&ctx.through(proxy.port)));
        ctx.eventually(|| (proxy.calls().len() > at).then_some(()));
        match at % 2 {
            0 => process.interrupt(),
            // SIGTERM, as the kubelet sends it.
            _ => process.ask(),
        }
        assert_eq!(process.end(Duration::from_secs(5)), Some(130), "{name}, call {at}: {:?}", proxy.calls().last());
        let said = fs::read_to_string(&log).unwrap();
        assert!(said.contains("completed steps stay"), "{name}: {said}");
    };
    for at in [0, 3, 6, 8] {
        stops("enable", at, &|kubeconfig| ctx.enable_args(kubeconfig, &["--force-conflicts"]));
    }
    let (code, _, errors) = ctx.enables(&["--force-conflicts"]);
    assert_eq!(code, 0, "{errors}");
    let file = ca_file(ctx, "other.crt", &Authority::new());
    for at in [0, 3, 6] {
        stops("rotate-ca", at, &|kubeconfig| {
            let mut args = rotate::args(ctx, &[&file, "--settle=0s"]);
            args[2] = format!("--kubeconfig={}", kubeconfig.display());
            args
        });
    }
    let name = ctx.crd_name();
    for at in [1, 6, 9] {
        stops("disable", at, &|kubeconfig| {
            let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
            let served = format!("--served={}", ctx.sample.old);
            ctx.on_the_cluster(&["disable", &name, &ctx.server(), &served, "--settle=0s", &kubeconfig])
        });
    }
    let served = ["--served", ctx.sample.old, "--settle=1s"];
    ctx.commanded(&[&["disable", &name, &ctx.server()], &served[..]].concat());
    assert_eq!(ctx.crd_now()["spec"]["conversion"], json!({"strategy": "None"}));
}
