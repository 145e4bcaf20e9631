//! Kubernetes' own conversion tests, with our kinds.

use crate::harness::Scenario;
use crate::support::scene::Scene;
use crate::support::verbs::assert_holds;
use serde_json::json;

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario::new(
    "created_in_one_version_is_read_in_the_other",
    created_in_one_version_is_read_in_the_other,
)];

fn created_in_one_version_is_read_in_the_other(scene: &Scene<'_>) {
    let (old, new) = (scene.sample.old, scene.sample.new);
    scene.arm(new);
    scene.create(old, &scene.object(old, "a")).ok();
    scene.create(new, &scene.object(new, "b")).ok();
    for name in ["a", "b"] {
        let object = scene.get(new, name).ok();
        assert_holds(&object, &json!({"spec": scene.sample.new_spec()}));
    }
    assert_holds(
        &scene.get(old, "a").ok(),
        &json!({"spec": scene.sample.old_spec()}),
    );
}
