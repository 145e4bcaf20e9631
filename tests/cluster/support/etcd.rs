//! Direct reads and writes of etcd, the only view of the stored bytes.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use super::assets::Assets;
use super::client::plain;
use super::process::{Process, SOON, eventually, free_port};

pub(crate) struct Etcd {
    process: Process,
    pub(crate) port: u16,
}

impl Etcd {
    /// Another process may take a port between choice and use: retry with other ports.
    pub(crate) fn start(assets: &Assets, dir: &Path, logs: &Path) -> Self {
        (0..3)
            .find_map(|_| Self::try_start(assets, dir, logs).ok())
            .unwrap_or_else(|| Self::try_start(assets, dir, logs).unwrap_or_else(|obituary| panic!("{obituary}")))
    }

    fn try_start(assets: &Assets, dir: &Path, logs: &Path) -> Result<Self, String> {
        let (port, peer) = (free_port(), free_port());
        let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
        let args = [
            format!("--data-dir={}", dir.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        let log = logs.join("etcd.log");
        let mut process = Process::start("etcd", &assets.path("etcd"), &args, &log);
        let ended = eventually("etcd is ready", SOON, || {
            if let Some(obituary) = process.obituary() {
                return Some(Err(obituary));
            }
            let healthy = plain(Method::GET, port, "/health", String::new()).filter(|(code, _)| *code == 200);
            healthy.map(|_| Ok(()))
        });
        ended.map(|()| Self { process, port })
    }

    /// The object under a key, such as `/registry/example.com/widgets/default/w1`.
    pub(crate) fn read(&self, key: &str) -> Option<Value> {
        Some(serde_json::from_str(&self.text(key)?).unwrap())
    }

    /// The stored text, with the text of numbers.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let answer = self.call("/v3/kv/range", &json!({ "key": encode(key) }));
        decode(&answer["kvs"][0]["value"])
    }

    /// The number of writes of a key since its creation.
    pub(crate) fn writes(&self, key: &str) -> u64 {
        let answer = self.call("/v3/kv/range", &json!({ "key": encode(key) }));
        answer["kvs"][0]["version"].as_str().expect("stored").parse().unwrap()
    }

    /// All keys below a prefix, such as `/registry/example.com/`, with their values.
    pub(crate) fn below(&self, key: &str) -> Vec<(String, String)> {
        // The end of a range is exclusive: `0` follows `/`.
        let end = format!("{}0", key.trim_end_matches('/'));
        let answer = self.call("/v3/kv/range", &json!({ "key": encode(key), "range_end": encode(&end) }));
        let found = answer["kvs"].as_array().into_iter().flatten();
        found.filter_map(|found| Some((decode(&found["key"])?, decode(&found["value"])?))).collect()
    }

    /// Writes without the API server.
    pub(crate) fn write(&self, key: &str, object: &Value) {
        let value = STANDARD.encode(object.to_string());
        self.call("/v3/kv/put", &json!({ "key": encode(key), "value": value }));
    }

    fn call(&self, path: &str, body: &Value) -> Value {
        let (_, answer) = plain(Method::POST, self.port, path, body.to_string()).expect("etcd");
        serde_json::from_slice(&answer).unwrap()
    }

    pub(crate) fn stop(&mut self) {
        self.process.terminate(Duration::from_secs(3));
    }
}

fn encode(key: &str) -> String {
    STANDARD.encode(key)
}

fn decode(value: &Value) -> Option<String> {
    Some(String::from_utf8(STANDARD.decode(value.as_str()?).unwrap()).unwrap())
}
