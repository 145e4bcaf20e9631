//! The two kinds that the scenarios are about.

use std::fs;
use std::path::Path;

use pointsman::definition::Kind;
use serde_json::{Value, json};

/// A kind with two versions and an example of each.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
    pub(crate) scale: bool,
    /// As in the definition.
    pub(crate) group: &'static str,
    definition: &'static str,
    crd_file: &'static str,
    crd: &'static str,
    /// The same object's spec in both versions, as a user writes it.
    specs: fn() -> (Value, Value),
}

impl Sample {
    pub(crate) fn old_spec(&self) -> Value {
        (self.specs)().0
    }

    pub(crate) fn new_spec(&self) -> Value {
        (self.specs)().1
    }

    pub(crate) fn spec(&self, version: &str) -> Value {
        if version == self.old {
            self.old_spec()
        } else {
            self.new_spec()
        }
    }

    /// Writes the definition with another group, so that scenarios do not get in each other's way, and returns the CRD.
    pub(crate) fn install(&self, group: &str, dir: &Path) -> Value {
        fs::create_dir_all(dir).unwrap();
        if group == self.group {
            let kinds = Kind::embedded().unwrap();
            let built_in = kinds.iter().find(|kind| kind.group() == group);
            return built_in.expect("a built-in kind").crd().clone();
        }
        let crd = self.crd.replace(self.group, group);
        // What is built in is served as well, under its own name.
        let renamed = self.definition.replace("name: materialize\n", "");
        let definition = format!("{renamed}\nname: {}\n", group.replace('.', "-"));
        fs::write(dir.join("kind.yaml"), &definition).unwrap();
        fs::write(dir.join(self.crd_file), &crd).unwrap();
        let kind = Kind::load("kind.yaml", &definition, &mut |_| Ok(crd.clone())).unwrap();
        kind.crd().clone()
    }
}

/// One field for host and port becomes two: the kind of Kubernetes' own conversion tests.
pub(crate) static WIDGET: Sample = Sample {
    name: "widget",
    kind: "Widget",
    plural: "widgets",
    old: "v1",
    new: "v2",
    scale: true,
    group: "example.com",
    definition: include_str!("../../data/kinds/widgets.yaml"),
    crd_file: "widgets.crd.yaml",
    crd: include_str!("../../data/kinds/widgets.crd.yaml"),
    specs: || {
        let old = json!({"hostPort": "example.com:8080", "replicas": 2});
        let new = json!({"host": "example.com", "port": 8080, "replicas": 2});
        (old, new)
    },
};

/// The kind that is built in.
pub(crate) static MATERIALIZE: Sample = Sample {
    name: "materialize",
    kind: "Materialize",
    plural: "materializes",
    old: "v1alpha1",
    new: "v1alpha2",
    scale: false,
    group: "materialize.cloud",
    definition: include_str!("../../../src/kinds/materialize/materialize.yaml"),
    crd_file: "materializes.crd.yaml",
    crd: include_str!("../../../src/kinds/materialize/materializes.crd.yaml"),
    specs: || {
        let role = "arn:aws:iam::123456789012:role/environmentd";
        let old = json!({
            "environmentdImageRef": "materialize/environmentd:v26.12.0",
            "backendSecretName": "materialize-backend",
            "environmentId": "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
            "environmentdIamRoleArn": role,
            "requestRollout": "22222222-2222-2222-2222-222222222222",
            "inPlaceRollout": true,
        });
        let new = json!({
            "environmentdImageRef": "materialize/environmentd:v26.12.0",
            "backendSecretName": "materialize-backend",
            "environmentId": "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
            "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": role},
        });
        (old, new)
    },
};
