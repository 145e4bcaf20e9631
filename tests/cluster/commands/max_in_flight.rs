//! Every command that changes a CRD, several at a time, randomly killed, with writers at both versions: no object loses
//! data.
//!
//! `POINTSMAN_SEED` is the random seed.

use std::thread;
use std::time::{Duration, Instant};

use pointsman_core::laws::Random;
use serde_json::{Value, json};

use crate::commands::rotate::{ca_file, thorough};
use crate::load::under_load;
use crate::scenario::Scenario;
use crate::support::ctx::TestContext;
use crate::support::pki::Authority;
use crate::support::process::Process;
use crate::support::sample::{Sample, WIDGET};

pub(crate) const SCENARIOS: &[Scenario] =
    &[Scenario::new("concurrent_killed_commands_lose_nothing", chaos).of(&WIDGETS).newest().failing()];

static WIDGETS: [&Sample; 1] = [&WIDGET];

const WRITERS: usize = 6;

/// The minimum number of killed commands, regardless of the speed of the others.
const ENOUGH: usize = 10;

fn chaos(ctx: &TestContext<'_>) {
    let (old, new) = (ctx.sample.old, ctx.sample.new);
    ctx.enable(old);
    let both = |name: &str| [old, new].map(|version| ctx.get(version, name).ok()["spec"].clone());
    let wanted: Vec<[Value; 2]> = [old, new]
        .into_iter()
        .map(|version| {
            let name = format!("reference-{version}");
            ctx.create(version, &ctx.object(version, &name)).ok();
            both(&name)
        })
        .collect();
    let seed = std::env::var("POINTSMAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut random = Random::new(seed);
    let (load, (begun, killed)) = under_load(ctx, WRITERS, || at_random(ctx, &mut random));
    println!(
        "     POINTSMAN_SEED={seed}: {begun} commands, {killed} of them killed, under {} calls, {} of them refused",
        load.requests,
        load.errors.len()
    );
    // Afterwards the documented commands restore the desired state.
    let (code, text, errors) = ctx.enables(&["--repoint", "--force-conflicts"]);
    assert_eq!(code, 0, "POINTSMAN_SEED={seed}: {text}{errors}");
    let (code, text, errors) = ctx.migrate(&["--to", new, "--settle=2s"]);
    assert_eq!(code, 0, "POINTSMAN_SEED={seed}: {text}{errors}");
    assert_eq!(ctx.stored_versions(), json!([new]));
    for writer in 0..WRITERS {
        assert_eq!(both(&format!("w{writer}")), wanted[writer % 2], "POINTSMAN_SEED={seed}: w{writer}");
    }
    for (at, version) in [old, new].into_iter().enumerate() {
        assert_eq!(both(&format!("reference-{version}")), wanted[at], "POINTSMAN_SEED={seed}");
    }
}

/// Runs three commands at a time. Returns the number of commands and the number of killed commands.
fn at_random(ctx: &TestContext<'_>, random: &mut Random) -> (usize, usize) {
    let (began, lasts) = (Instant::now(), Duration::from_secs(if thorough() { 120 } else { 20 }));
    let mut running: [Option<(Process, Instant)>; 3] = [None, None, None];
    let (mut begun, mut killed) = (0, 0);
    while began.elapsed() < lasts || killed < ENOUGH {
        assert!(began.elapsed() < lasts + Duration::from_secs(180), "only {killed} of {begun} commands were killed");
        for slot in &mut running {
            match slot {
                None => {
                    let name = format!("command-{begun}");
                    let until = Instant::now() + Duration::from_millis(random.below(3000) as u64);
                    *slot = Some((ctx.started(&name, &command(ctx, random)), until));
                    begun += 1;
                }
                Some((process, until)) => {
                    let ended = process.end(Duration::from_millis(1)).is_some();
                    if !ended && Instant::now() > *until {
                        process.kill();
                        killed += 1;
                        *slot = None;
                    } else if ended {
                        *slot = None;
                    }
                }
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    running.into_iter().flatten().for_each(|(mut process, _)| process.kill());
    (begun, killed)
}

fn command(ctx: &TestContext<'_>, random: &mut Random) -> Vec<String> {
    let (old, new, name, server) = (ctx.sample.old, ctx.sample.new, ctx.crd_name(), ctx.server());
    let config = &ctx.test_cluster.api.kubeconfig;
    let disables = |served: &str| ctx.on_the_cluster(&["disable", &name, &server, "--served", served, "--settle=1s"]);
    match random.below(6) {
        0 | 1 => ctx.enable_args(config, &["--repoint", "--force-conflicts"]),
        2 => ctx.migrate_args(config, &["--to", old, "--settle=1s", "--page=2"]),
        3 => ctx.migrate_args(config, &["--to", new, "--settle=1s", "--page=2"]),
        // In other states the command is refused; other tests cover that.
        4 => disables(ctx.stored_versions()[0].as_str().unwrap()),
        _ => {
            let file = ca_file(ctx, "other.crt", &Authority::new());
            ["rotate-ca", &server, &file, "--settle=0s", &format!("--kubeconfig={}", config.display())]
                .map(str::to_owned)
                .to_vec()
        }
    }
}
