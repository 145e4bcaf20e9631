//! Measures whether small calls wait for large calls.

use std::time::{Duration, Instant};

use crate::Args;
use crate::load::Load;
use crate::scenario::{Call, Protocol, Scenario};
use crate::table::percentile;

/// Sends a call of one object every 5 ms: first alone, then during consecutive reviews of 20,000 objects.
pub(crate) async fn run(args: &Args) {
    println!("server              calls   p50 ms   p90 ms   p99 ms   max ms   beside");
    let small = Scenario::new(Call::Convert, 1, 1, Protocol::Http1);
    let large = Scenario::new(Call::Convert, 20_000, 1, Protocol::Http1);
    for program in args.programs() {
        let Some(server) = args.server(program, &small).await else { continue };
        for beside in ["nothing", "20,000 objects"] {
            let time = Duration::from_secs_f64(args.seconds);
            let (target, large) = (server.target.clone(), large.clone());
            // A separate client, because responses of 100 MB would delay the small calls of this one.
            let load = (beside != "nothing").then(|| {
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                    let load = Load { requests: 1000, time };
                    runtime.expect("a runtime").block_on(async {
                        let connection = target.connect(Protocol::Http1).await.expect("a connection");
                        load.run(&target, &large, vec![connection]).await
                    })
                })
            });
            let mut took = paced(&server.target, &small, time).await;
            took.sort_unstable();
            let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|share| percentile(&took, share) / 1000.0);
            let done = load.map(|load| load.join().expect("a load").took.len());
            let done = done.map_or_else(String::new, |done| format!(", {done} times"));
            let (name, calls) = (program.name(), took.len());
            println!("{name:<18} {calls:>6} {p50:>8.2} {p90:>8.2} {p99:>8.2} {max:>8.2}   {beside}{done}");
        }
    }
}

/// The duration of calls that are due every 5 ms. After a slow call, the durations of its successors count from their
/// due times.
async fn paced(target: &crate::client::Target, scenario: &Scenario, time: Duration) -> Vec<Duration> {
    let mut connection = target.connect(Protocol::Http1).await.expect("a connection");
    let mut took = Vec::new();
    let start = Instant::now();
    let mut due = start;
    while due < start + time {
        tokio::time::sleep_until(due.into()).await;
        let began = if Instant::now() > due + EVERY { due } else { Instant::now() };
        connection.ask(scenario).await.expect("an answer");
        took.push(began.elapsed());
        due += EVERY;
    }
    took
}

const EVERY: Duration = Duration::from_millis(5);
