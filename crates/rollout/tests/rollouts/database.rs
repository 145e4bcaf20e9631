//! An object of the model fleet: writes to the object, and the API server's view of the object.

use std::sync::LazyLock;

use pointsman_core::webhook::{Metadata, Webhook};
use pointsman_rollout::{ROLLOUT_MANAGER, rfc3339};
use serde_json::{Map, Value, json};

use super::kinds::define;
use super::world::{LABEL, NEW};

/// A webhook server that admits databases.
static WEBHOOK: LazyLock<Webhook> =
    LazyLock::new(|| Webhook::new(vec![define("").unwrap()], Metadata::Identity).unwrap());

/// The hold annotation, and the annotation with the wanted version and its requester.
const HELD: &str = "pointsman.dev/hold";
const WANTED: &str = "pointsman.dev/wanted-version";

/// The annotation that a rollout writes.
pub(super) const ANNOTATION: &str = "pointsman.dev/rollout";

/// A database. Copies are cheap, because caches and runners hold many.
#[derive(Clone)]
pub(super) struct Database {
    /// All metadata except `managedFields`.
    metadata: std::rc::Rc<Value>,
    is_ready: bool,
    /// A status change that no component interprets.
    noise: Option<u64>,
    managers: Vec<Manager>,
    /// Serves as resourceVersion: unique per database and per state.
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

    /// True if the annotation states that the history's rollout moved the object.
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

    /// True if the rollout annotation contains a text of another client.
    pub(super) fn has_text(&self) -> bool {
        let is_text = |text: &str| serde_json::from_str(text).map_or(true, |value| !is_mark(&value));
        self.noted().is_some_and(|text| !text.is_empty() && is_text(text))
    }

    /// Another client overwrites the rollout annotation.
    pub(super) fn notes(&mut self, text: &str) {
        self.annotate(ANNOTATION, text);
    }

    /// Another client removes the rollout annotation.
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

    /// The label value before the move, if the move recorded one.
    pub(super) fn was(&self) -> Option<Option<String>> {
        Some(self.mark()?["was"].as_str().map(str::to_owned))
    }

    /// A client deletes the object, and a finalizer keeps the object.
    pub(super) fn deleted(&mut self, now: u64) {
        let metadata = std::rc::Rc::make_mut(&mut self.metadata);
        metadata["deletionTimestamp"] = json!(rfc3339(now));
        metadata["finalizers"] = json!(["example.com/keep"]);
    }

    pub(super) fn is_going(&self) -> bool {
        !self.metadata["deletionTimestamp"].is_null()
    }

    /// True if a rollout holds the object.
    pub(super) fn is_held(&self) -> bool {
        self.hold().is_some()
    }

    /// True if the history's rollout, or an earlier rollout of the same name, holds the object.
    pub(super) fn is_held_by_it(&self) -> bool {
        self.hold().is_some_and(|hold| hold["rollout"] == "rollout-1" || hold["name"] == "r")
    }

    /// True if a rollout has released the object.
    pub(super) fn is_released(&self) -> bool {
        self.metadata["annotations"][HELD].as_str().is_some_and(|text| text.starts_with("released"))
    }

    /// True if a client has released the object.
    pub(super) fn is_let_go(&self) -> bool {
        self.metadata["annotations"][HELD] == ""
    }

    fn hold(&self) -> Option<Value> {
        serde_json::from_str(self.metadata["annotations"][HELD].as_str()?).ok()
    }

    /// Another client writes a hold of a deleted rollout with this name.
    pub(super) fn holds(&mut self, name: &str) {
        self.held_by(("rollout-0", name));
    }

    /// Another client writes a hold of a rollout with this uid and name.
    pub(super) fn held_by(&mut self, (uid, name): (&str, &str)) {
        self.annotate(HELD, &json!({"rollout": uid, "name": name, "at": rfc3339(0)}).to_string());
    }

    /// A client releases the object.
    pub(super) fn lets_go(&mut self) {
        self.annotate(HELD, "");
    }

    /// A client records a wanted version.
    pub(super) fn wishes(&mut self, version: &str) {
        self.annotate(WANTED, version);
    }

    fn annotate(&mut self, key: &str, text: &str) {
        std::rc::Rc::make_mut(&mut self.metadata)["annotations"][key] = json!(text);
    }

    /// A client that ignores annotations replaces the whole object.
    pub(super) fn without_annotations(&mut self) {
        std::rc::Rc::make_mut(&mut self.metadata).as_object_mut().unwrap().remove("annotations");
    }

    /// The recorded wanted version label.
    pub(super) fn wanted(&self) -> Option<&str> {
        self.metadata["annotations"][WANTED].as_str()
    }

    /// Returns the object after `/mutate` has processed a write by a field manager. `old` is the previous object.
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

    /// True if the controller reported the object as healthy.
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// True if a rollout was the last to set the label.
    pub(super) fn is_label_of_rollout(&self) -> bool {
        self.managers.iter().any(|manager| manager.name == ROLLOUT_MANAGER && manager.owns_label)
    }

    /// Time of the manager's last write, by the API server's clock.
    pub(super) fn last_write(&self, by: &str) -> Option<u64> {
        self.managers.iter().filter(|manager| manager.name == by).map(|manager| manager.at).max()
    }

    /// The controller writes the observed health.
    pub(super) fn looked_at(&mut self, by: &'static str, is_ready: bool, now: u64) {
        (self.is_ready, self.noise) = (is_ready, None);
        self.written(by, "Update", now, false);
    }

    pub(super) fn noise(&mut self, now: u64) {
        self.noise = Some(now);
        self.written("somebody", "Update", now, false);
    }

    /// A manager writes fields that a rollout ignores, or the label.
    pub(super) fn written(&mut self, by: &'static str, operation: &'static str, now: u64, owns_label: bool) {
        self.managers.retain(|manager| manager.name != by);
        self.managers.push(Manager { name: by, operation, at: now, owns_label });
    }

    /// A client sets the label and becomes its only owner.
    pub(super) fn labelled(&mut self, label: &str, by: &'static str, operation: &'static str, now: u64) {
        std::rc::Rc::make_mut(&mut self.metadata)["labels"][LABEL] = json!(label);
        self.managers.iter_mut().for_each(|manager| manager.owns_label = false);
        self.written(by, operation, now, true);
    }

    /// Applies a rollout's JSON Patch as an API server does; `None` if a test operation fails. `is_aware`: the
    /// admission webhook supports rollouts.
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

    /// The object as the API server returns it.
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

/// True if any rollout wrote this annotation.
pub(super) fn is_mark(value: &Value) -> bool {
    ["rollout", "to", "at"].iter().all(|member| value[*member].is_string()) && !value["was"].is_array()
}

/// Applies one operation like the API server's library: an absent value passes a test for null.
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

/// Applies one operation to a list item: an index past the end is an error, also in a test.
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
