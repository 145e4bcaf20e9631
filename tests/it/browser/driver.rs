//! A headless Chromium that tests type into, through the DevTools protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>) over a pair of named pipes.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The maximum wait for a response, and for a state of the page. A machine with other work is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// One tab. Dropping it ends the browser.
pub(crate) struct Tab {
    chromium: Child,
    requests: File,
    responses: Receiver<Value>,
    session: String,
    last_id: u64,
    _profile: TempDir,
}

impl Tab {
    /// Opens a page. Returns `None` without Chromium, and reports the skipped test.
    pub(crate) fn open(url: &str) -> Option<Self> {
        let browser = super::chromium(url)?;
        let profile = TempDir::new().unwrap();
        let [requests, responses] = ["requests", "responses"].map(|name| profile.path().join(name));
        assert!(Command::new("mkfifo").args([&requests, &responses]).status().unwrap().success());
        // Chromium reads file descriptor 3 and writes to 4.
        let chromium = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<"$REQUESTS" 4>"$RESPONSES""#, "sh"])
            .arg(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1440,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("REQUESTS", &requests)
            .env("RESPONSES", &responses)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // With both rights, opening a pipe does not wait for the other side.
        let requests = OpenOptions::new().read(true).write(true).open(requests).unwrap();
        let responses = read_messages(responses);
        let mut tab = Self { chromium, requests, responses, session: String::new(), last_id: 0, _profile: profile };
        let target = tab.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = tab.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        tab.session = attached["sessionId"].as_str().unwrap().to_owned();
        tab.call("Page.navigate", &json!({"url": url}));
        tab.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'");
        Some(tab)
    }

    /// Sends a command and returns its result. Events in between are skipped.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.requests.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let message = self.responses.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{method}: {error}"));
            if message["id"] == json!(self.last_id) {
                assert_eq!(message["error"], Value::Null, "{method}");
                return message["result"].clone();
            }
        }
    }

    /// The value of an expression in JavaScript. A promise is awaited.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", &params);
        assert_eq!(result["exceptionDetails"], Value::Null, "{expression}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression in JavaScript is true.
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.value(expression) != json!(true) {
            if Instant::now() > deadline {
                let page = self.value("document.body.innerText");
                panic!("never true: {expression}\n{}", page.as_str().unwrap_or_default());
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses a key, such as `Tab`, with or without Ctrl.
    pub(crate) fn press(&mut self, key: &str, with_ctrl: bool) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "a" => 65,
            "f" => 70,
            _ => panic!("no key code for {key}"),
        };
        let modifiers = if with_ctrl { 2 } else { 0 };
        let mut event = json!({"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        for kind in ["keyDown", "keyUp"] {
            event["type"] = json!(kind);
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Selects the text of the focused editor, and inserts another one.
    pub(crate) fn replace_text(&mut self, text: &str) {
        self.press("a", true);
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Drops a file from the desktop onto the element of a CSS selector.
    pub(crate) fn drop_file(&mut self, file: &Path, selector: &str) {
        let element = format!("document.querySelector({}).getBoundingClientRect()", json!(selector));
        let [x, y] = ["x", "y"].map(|side| self.value(&format!("{element}.{side}")).as_f64().unwrap() + 20.0);
        let data = json!({"items": [], "files": [file], "dragOperationsMask": 1});
        for kind in ["dragEnter", "dragOver", "drop"] {
            self.call("Input.dispatchDragEvent", &json!({"type": kind, "x": x, "y": y, "data": data}));
        }
    }

    /// Sets the width of the window in CSS pixels, and the colours that the user prefers: `light` or `dark`.
    pub(crate) fn emulate(&mut self, width: u32, colours: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let preference = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
        self.call("Emulation.setEmulatedMedia", &preference);
    }

    /// The findings of axe-core about the page as it is now, each with its rule and its elements.
    pub(crate) fn accessibility_findings(&mut self) -> Value {
        if self.value("typeof axe") == json!("undefined") {
            let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/axe/axe.min.js.gz");
            let unpacked = Command::new("gzip").args(["-dc", packed]).output().unwrap();
            assert!(unpacked.status.success());
            self.value(&format!("{};true", String::from_utf8(unpacked.stdout).unwrap()));
        }
        self.value("axe.run().then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.html)]))")
    }
}

/// Reads messages from a pipe, each with a zero at its end, until the browser ends.
fn read_messages(pipe: PathBuf) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut pipe = BufReader::new(File::open(pipe).unwrap());
        let mut message = Vec::new();
        while pipe.read_until(0, &mut message).is_ok() && message.pop() == Some(0) {
            let parsed = serde_json::from_slice(&message).unwrap();
            if sender.send(parsed).is_err() {
                return;
            }
            message.clear();
        }
    });
    receiver
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}
