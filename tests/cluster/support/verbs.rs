//! Short functions for the operations of a user on objects.

use hyper::Method;
use serde_json::Value;

use super::client::Answer;
use super::ctx::{APPLY, JSON, MERGE, TestContext};

impl TestContext<'_> {
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, Some((JSON, body.to_string())))
    }

    pub(crate) fn create(&self, version: &str, object: &Value) -> Answer {
        self.post(&self.all(version), object)
    }

    /// `name` can name a subresource, such as `w1/status`; also below.
    pub(crate) fn get(&self, version: &str, name: &str) -> Answer {
        self.call(Method::GET, &self.one(version, name), None)
    }

    pub(crate) fn list(&self, version: &str) -> Answer {
        self.call(Method::GET, &self.all(version), None)
    }

    pub(crate) fn update(&self, version: &str, name: &str, object: &Value) -> Answer {
        let body = Some((JSON, object.to_string()));
        self.call(Method::PUT, &self.one(version, name), body)
    }

    pub(crate) fn patch(&self, version: &str, name: &str, patch: &Value) -> Answer {
        let body = Some((MERGE, patch.to_string()));
        self.call(Method::PATCH, &self.one(version, name), body)
    }

    /// Server-side apply.
    pub(crate) fn apply(&self, version: &str, name: &str, object: &Value, as_: &str) -> Answer {
        let path = format!("{}?fieldManager={as_}", self.one(version, name));
        let body = Some((APPLY, object.to_string()));
        self.call(Method::PATCH, &path, body)
    }

    pub(crate) fn force_apply(&self, version: &str, name: &str, object: &Value, as_: &str) -> Answer {
        self.apply(version, name, object, &format!("{as_}&force=true"))
    }

    pub(crate) fn delete(&self, version: &str, name: &str) -> Answer {
        self.call(Method::DELETE, &self.one(version, name), None)
    }

    /// The names in a list.
    pub(crate) fn names(&self, version: &str) -> Vec<String> {
        let list = self.list(version).ok();
        let items = list["items"].as_array().unwrap();
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    }
}

/// Checks that `actual` contains every value of `expected`; other values are ignored.
#[track_caller]
pub(crate) fn assert_holds(actual: &Value, expected: &Value) {
    if let Some(difference) = difference(actual, expected, "") {
        panic!("{difference}\nin {actual:#}");
    }
}

fn difference(actual: &Value, expected: &Value, path: &str) -> Option<String> {
    if let (Value::Object(actual), Value::Object(expected)) = (actual, expected) {
        let each = |(name, value): (&String, &Value)| {
            let found = actual.get(name).unwrap_or(&Value::Null);
            difference(found, value, &format!("{path}.{name}"))
        };
        return expected.iter().find_map(each);
    }
    (actual != expected).then(|| format!("{path}: {actual} where {expected} was expected"))
}

/// An object without the values that each write changes, and without its version.
pub(crate) fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(object) = object.as_object_mut() {
        object.remove("apiVersion");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["resourceVersion", "managedFields", "generation"] {
            metadata.remove(name);
        }
    }
    object
}
