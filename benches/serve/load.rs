//! Repeated requests, and the duration of each response.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Connection, Target};
use crate::scenario::{Protocol, Scenario};

/// The limits of a load: requests and time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) requests: usize,
    pub(crate) time: Duration,
}

/// The result of a load.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// From a request to the end of its response, with the handshake if each request has one.
    pub(crate) took: Vec<Duration>,
    pub(crate) failed: usize,
    pub(crate) wall: Duration,
}

impl Load {
    /// Puts a server under the load of a scenario, on existing connections.
    pub(crate) async fn run(self, target: &Target, scenario: &Scenario, connections: Vec<Connection>) -> Asked {
        let left = Arc::new(AtomicUsize::new(self.requests));
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for connection in connections {
            let (target, scenario, left) = (target.clone(), scenario.clone(), Arc::clone(&left));
            tasks.spawn(async move { one(connection, &target, &scenario, &left, start + self.time).await });
        }
        let mut asked = Asked::default();
        while let Some(one) = tasks.join_next().await {
            let one = one.expect("a client");
            asked.took.extend(one.took);
            asked.failed += one.failed;
        }
        asked.wall = start.elapsed();
        asked
    }
}

/// The connections of a scenario. Each has sent one request, so that measurements exclude its handshake.
pub(crate) async fn connections(target: &Target, scenario: &Scenario) -> Vec<Connection> {
    let mut connections = Vec::new();
    for _ in 0..scenario.connections {
        let stream = connections.last().and_then(Connection::stream);
        let mut connection = match stream {
            Some(stream) => stream,
            None => target.connect(scenario.protocol).await.expect("a connection"),
        };
        connection.ask(scenario).await.expect("an answer");
        connections.push(connection);
    }
    connections
}

/// Sends one request after another on a connection, until the requests or the time are used up.
async fn one(
    mut connection: Connection,
    target: &Target,
    scenario: &Scenario,
    left: &AtomicUsize,
    end: Instant,
) -> Asked {
    let mut asked = Asked::default();
    let take = |left: usize| left.checked_sub(1);
    while Instant::now() < end && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
        let start = Instant::now();
        if scenario.protocol == Protocol::Fresh {
            match target.connect(scenario.protocol).await {
                Ok(fresh) => connection = fresh,
                Err(_) => {
                    asked.failed += 1;
                    continue;
                }
            }
        }
        match connection.ask(scenario).await {
            Ok(_) => asked.took.push(start.elapsed()),
            Err(_) => {
                asked.failed += 1;
                let Ok(fresh) = target.connect(scenario.protocol).await else { break };
                connection = fresh;
            }
        }
    }
    asked
}
