//! An object of the model fleet: what is written of it, and what an API server answers.

use std::sync::LazyLock;

use pointsman_core::rollout::{ROLLOUT_MANAGER, rfc3339};
use pointsman_core::webhook::{Metadata, Webhook};
use serde_json::{Map, Value, json};

use super::kinds::define;
use super::world::{LABEL, NEW};

/// A server that admits databases.
static WEBHOOK: LazyLock<Webhook> =
    LazyLock::new(|| Webhook::new(vec![define("").unwrap()], Metadata::Identity).unwrap());

/// The annotation of what a rollout holds, and what it says of who wants which version.
const HELD: &str = "pointsman.dev/hold";
const WANTED: &str = "pointsman.dev/wanted-version";

/// The annotation that a rollout leaves.
pub(super) const ANNOTATION: &str = "pointsman.dev/rollout";

/// A database. Copies of it cost next to nothing: caches and runners have many.
#[derive(Clone)]
pub(super) struct Database {
    /// All of it but `managedFields`.
    metadata: std::rc::Rc<Value>,
    is_ready: bool,
    /// What somebody writes into its status, of which nobody knows.
    noise: Option<u64>,
    managers: Vec<Manager>,
    /// As its resourceVersion: no two databases have the same, nor two states of one.
    pub(super) revision: u64,
}

/// An entry of `managedFields`.
#[derive(Clone, Copy)]
struct Manager {
    name: &'static str,
    operation: &'static str,
    at: u64,
    owns_label: bool,
}

impl Database {
    pub(super) fn new(metadata: Value) -> Self {
        Self { metadata: metadata.into(), is_ready: false, noise: None, managers: Vec::new(), revision: 0 }
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata["uid"].as_str().unwrap()
    }

    pub(super) fn label(&self) -> Option<&str> {
        self.metadata["labels"][LABEL].as_str()
    }

    pub(super) fn is_canary(&self) -> bool {
        !self.metadata["labels"]["rollout"].is_null()
    }

    /// Whether the rollout of a history has moved it, by what is noted on it.
    pub(super) fn is_marked(&self) -> bool {
        self.mark().is_some()
    }

    fn mark(&self) -> Option<Value> {
        let mark: Value = serde_json::from_str(self.noted()?).ok()?;
        (mark["rollout"] == "rollout-1" && mark["to"] == NEW && is_mark(&mark)).then_some(mark)
    }

    pub(super) fn noted(&self) -> Option<&str> {
        self.metadata["annotations"][ANNOTATION].as_str()
    }

    /// Whether somebody's own text stands where rollouts note what they have done.
    pub(super) fn has_text(&self) -> bool {
        let is_text = |text: &str| serde_json::from_str(text).map_or(true, |value| !is_mark(&value));
        self.noted().is_some_and(|text| !text.is_empty() && is_text(text))
    }

    /// Somebody writes a text there.
    pub(super) fn notes(&mut self, text: &str) {
        self.annotate(ANNOTATION, text);
    }

    /// Somebody takes off what stands there.
    pub(super) fn takes_off(&mut self) {
        let metadata = std::rc::Rc::make_mut(&mut self.metadata);
        if let Some(annotations) = metadata["annotations"].as_object_mut() {
            annotations.remove(ANNOTATION);
        }
        metadata.as_object_mut().unwrap().retain(|_, member| !member.as_object().is_some_and(Map::is_empty));
    }

    pub(super) fn metadata(&self) -> &Value {
        &self.metadata
    }

    /// What it was before it was moved, where it was.
    pub(super) fn was(&self) -> Option<Option<String>> {
        Some(self.mark()?["was"].as_str().map(str::to_owned))
    }

    /// Somebody deletes it, and a finalizer keeps it.
    pub(super) fn deleted(&mut self, now: u64) {
        let metadata = std::rc::Rc::make_mut(&mut self.metadata);
        metadata["deletionTimestamp"] = json!(rfc3339(now));
        metadata["finalizers"] = json!(["example.com/keep"]);
    }

    pub(super) fn is_going(&self) -> bool {
        !self.metadata["deletionTimestamp"].is_null()
    }

    /// Whether a rollout holds it.
    pub(super) fn is_held(&self) -> bool {
        self.hold().is_some()
    }

    /// Whether the rollout of a history holds it, or one that had its name before.
    pub(super) fn is_held_by_it(&self) -> bool {
        self.hold().is_some_and(|hold| hold["rollout"] == "rollout-1" || hold["name"] == "r")
    }

    /// Whether a rollout has let it go.
    pub(super) fn is_released(&self) -> bool {
        self.metadata["annotations"][HELD].as_str().is_some_and(|text| text.starts_with("released"))
    }

    /// Whether somebody has let it go.
    pub(super) fn is_let_go(&self) -> bool {
        self.metadata["annotations"][HELD] == ""
    }

    fn hold(&self) -> Option<Value> {
        serde_json::from_str(self.metadata["annotations"][HELD].as_str()?).ok()
    }

    /// Somebody says that a rollout of this name holds it, which is there no more.
    pub(super) fn holds(&mut self, name: &str) {
        self.held_by(("rollout-0", name));
    }

    /// Somebody says that a rollout of this uid and name holds it.
    pub(super) fn held_by(&mut self, (uid, name): (&str, &str)) {
        self.annotate(HELD, &json!({"rollout": uid, "name": name, "at": rfc3339(0)}).to_string());
    }

    /// Somebody lets it go.
    pub(super) fn lets_go(&mut self) {
        self.annotate(HELD, "");
    }

    /// Somebody notes a wish.
    pub(super) fn wishes(&mut self, version: &str) {
        self.annotate(WANTED, version);
    }

    fn annotate(&mut self, key: &str, text: &str) {
        std::rc::Rc::make_mut(&mut self.metadata)["annotations"][key] = json!(text);
    }

    /// Somebody writes all of it who knows nothing of annotations.
    pub(super) fn without_annotations(&mut self) {
        std::rc::Rc::make_mut(&mut self.metadata).as_object_mut().unwrap().remove("annotations");
    }

    /// The version label that is noted as wanted.
    pub(super) fn wanted(&self) -> Option<&str> {
        self.metadata["annotations"][WANTED].as_str()
    }

    /// The same after `/mutate` has seen it, which was this before, as written by a field manager.
    pub(super) fn admitted(mut self, old: &Self, manager: &str) -> Self {
        let sent = |database: &Self| {
            let mut value = database.value();
            value["apiVersion"] = json!("example.com/v1");
            value["kind"] = json!("Database");
            value
        };
        let mut new = sent(&self);
        let (patch, _) = WEBHOOK.stamp_by(&new.to_string(), Some(&sent(old).to_string()), manager).unwrap();
        for operation in patch {
            let value: Value = serde_json::from_str(&operation.value).unwrap_or_default();
            apply(&mut new, &json!({"op": operation.op, "path": operation.path, "value": value})).unwrap();
        }
        let mut metadata = new["metadata"].take();
        let members = metadata.as_object_mut().unwrap();
        members.remove("managedFields");
        members.retain(|_, member| !member.as_object().is_some_and(Map::is_empty));
        self.metadata = metadata.into();
        self
    }

    /// Whether its controller has found it healthy.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// Whether a rollout was the last to set the label.
    pub(super) fn is_label_of_rollout(&self) -> bool {
        self.managers.iter().any(|manager| manager.name == ROLLOUT_MANAGER && manager.owns_label)
    }

    /// When a manager wrote it last, by the API server's clock.
    pub(super) fn last_write(&self, by: &str) -> Option<u64> {
        self.managers.iter().filter(|manager| manager.name == by).map(|manager| manager.at).max()
    }

    /// Its controller writes what it finds.
    pub(super) fn looked_at(&mut self, by: &'static str, is_ready: bool, now: u64) {
        (self.is_ready, self.noise) = (is_ready, None);
        self.written(by, "Update", now, false);
    }

    pub(super) fn noise(&mut self, now: u64) {
        self.noise = Some(now);
        self.written("somebody", "Update", now, false);
    }

    /// Somebody writes nothing that a rollout looks at, or the label.
    pub(super) fn written(&mut self, by: &'static str, operation: &'static str, now: u64, owns_label: bool) {
        self.managers.retain(|manager| manager.name != by);
        self.managers.push(Manager { name: by, operation, at: now, owns_label });
    }

    /// Somebody sets the label, which is nobody else's then.
    pub(super) fn labelled(&mut self, label: &str, by: &'static str, operation: &'static str, now: u64) {
        std::rc::Rc::make_mut(&mut self.metadata)["labels"][LABEL] = json!(label);
        self.managers.iter_mut().for_each(|manager| manager.owns_label = false);
        self.written(by, operation, now, true);
    }

    /// The same after a JSON Patch of a rollout, as an API server takes it; nothing where a test of it does not hold.
    /// `is_aware` says whether who admits it knows of rollouts.
    pub(super) fn patched(&self, patch: &Value, now: u64, is_aware: bool) -> Option<Self> {
        let mut value = self.value();
        patch.as_array().unwrap().iter().try_for_each(|operation| apply(&mut value, operation))?;
        let mut next = self.clone();
        let mut metadata = value["metadata"].take();
        let members = metadata.as_object_mut().unwrap();
        members.remove("managedFields");
        // Empty maps are not stored.
        members.retain(|_, member| !member.as_object().is_some_and(Map::is_empty));
        next.metadata = metadata.into();
        if (self.is_held() || self.is_marked()) && is_aware {
            next = next.admitted(self, ROLLOUT_MANAGER);
        }
        let takes = next.label() != self.label();
        if takes {
            next.managers.iter_mut().for_each(|manager| manager.owns_label = false);
        }
        let owned = next.managers.iter().any(|manager| manager.name == ROLLOUT_MANAGER && manager.owns_label);
        next.written(ROLLOUT_MANAGER, "Update", now, takes || owned);
        Some(next)
    }

    /// As an API server answers it.
    pub(super) fn value(&self) -> Value {
        let entries = self.managers.iter().map(|manager| {
            let labels = json!({"f:metadata": {"f:labels": {format!("f:{LABEL}"): {}}}});
            let fields = if manager.owns_label { labels } else { json!({}) };
            json!({
                "manager": manager.name, "operation": manager.operation, "time": rfc3339(manager.at), "fieldsV1": fields,
            })
        });
        let mut metadata = Value::clone(&self.metadata);
        metadata["managedFields"] = entries.collect();
        let ready = if self.is_ready { "True" } else { "False" };
        let mut status = json!({"conditions": [{"type": "Ready", "status": ready}]});
        if let Some(noise) = self.noise {
            status["noise"] = json!(noise);
        }
        let members = [("metadata", metadata), ("spec", json!({})), ("status", status)];
        Value::Object(members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect())
    }
}

/// Whether a rollout has written it, whichever rollout.
pub(super) fn is_mark(value: &Value) -> bool {
    ["rollout", "to", "at"].iter().all(|member| value[*member].is_string()) && !value["was"].is_array()
}

/// One operation, as the API server's library does it: what is not there passes a test for null.
pub(super) fn apply(object: &mut Value, operation: &Value) -> Option<()> {
    let path = operation["path"].as_str().unwrap();
    let value = &operation["value"];
    let (parent, key) = path.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent)? {
        Value::Array(items) => apply_to_item(items, (operation["op"].as_str().unwrap(), &key), value),
        holder => match operation["op"].as_str().unwrap() {
            "test" => (holder.get(&key).unwrap_or(&Value::Null) == value).then_some(()),
            "remove" => holder.as_object_mut()?.remove(&key).map(drop),
            "replace" => holder.get_mut(&key).map(|old| *old = value.clone()),
            "add" => holder.as_object_mut().map(|members| drop(members.insert(key, value.clone()))),
            other => panic!("{other}"),
        },
    }
}

/// The same of an item of a list: an index behind its end is an error, also in a test.
fn apply_to_item(items: &mut Vec<Value>, (operation, key): (&str, &str), value: &Value) -> Option<()> {
    if operation == "add" && key == "-" {
        items.push(value.clone());
        return Some(());
    }
    let at: usize = key.parse().ok()?;
    match operation {
        "test" => (items.get(at)? == value).then_some(()),
        "remove" => (at < items.len()).then(|| drop(items.remove(at))),
        "replace" => items.get_mut(at).map(|old| *old = value.clone()),
        "add" => (at <= items.len()).then(|| items.insert(at, value.clone())),
        other => panic!("{other}"),
    }
}
