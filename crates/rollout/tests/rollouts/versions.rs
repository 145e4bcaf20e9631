//! The version of a kind in which a rollout reads its fleet.

use pointsman_core::definition::Kind;
use pointsman_rollout::{Rollout, read_rollout};

/// `phase` is named `state` in v1; both versions have `masts`; only v3 has `flags`.
fn kind(health: &str) -> Kind {
    let version = |name: &str, stored: bool, fields: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {stored}\n    schema:\n      openAPIV3Schema:\n        type: \
             object\n        properties: {{spec: {{type: object}}, status: {{type: object, properties: {{{fields}}}}}}}\n"
        )
    };
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: databases.example.com}}\nspec:\n  \
         group: example.com\n  names: {{kind: Database, plural: databases}}\n  scope: Namespaced\n  versions:\n{}{}{}",
        version("v1", false, "state: {type: string}, masts: {type: integer}"),
        version("v2", true, "phase: {type: string}, masts: {type: integer}"),
        version("v3", false, "phase: {type: string}, masts: {type: integer}, flags: {type: integer}"),
    );
    let definition = format!(
        "apiVersion: pointsman.dev/v1\nkind: KindDefinition\ncrd: databases.crd.yaml\nsteps:\n- from: v1\n  to: v2\n  \
         operations:\n  - rename: {{from: status.state, to: status.phase}}\n- from: v2\n  to: v3\n  operations:\n  - add: \
         status.flags\nhealth: {{all: [{health}]}}\n"
    );
    Kind::from_crd(&definition, &crd).unwrap()
}

fn rollout(health: &str, order: &str) -> Rollout {
    let text = format!(
        "apiVersion: pointsman.dev/v1\nkind: StagedRollout\nmetadata: {{name: r}}\nspec: {{kind: database, to: b, waves: [{{name: all}}], \
         order: {{by: {order}}}}}\n"
    );
    read_rollout("r.yaml", &text, &kind(health)).unwrap()
}

#[test]
fn storage_version_is_read_when_equal() {
    let (all, tier) = (["v1", "v2", "v3"], "metadata.labels.tier");
    for (health, order, stored, read) in [
        ("{field: status.masts, is: 1}", tier, "v1", "v1"),
        ("{field: status.phase, is: Afloat}", tier, "v1", "v3"),
        ("{field: status.phase, is: Afloat}", tier, "v2", "v2"),
        ("{field: status.flags, is: 1}", tier, "v2", "v3"),
        ("{any: [{field: status.masts, is: 1}, {none: [{field: status.flags, is: 1}]}]}", tier, "v2", "v3"),
        ("{field: status.masts, is: 1}", "status.phase", "v1", "v3"),
        ("{field: status.masts, is: 1}", "status.phase", "v3", "v3"),
    ] {
        let rollout = rollout(health, order);
        assert_eq!(rollout.read_in(stored, &all), Some(read), "{health} {order} {stored}");
    }
    let rollout = rollout("{field: status.phase, is: Afloat}", tier);
    assert_eq!(rollout.read_in("v1", &["v1", "v2"]), Some("v2"), "the newest one that is served");
    assert_eq!(rollout.read_in("v1", &["v1"]), None);
}
