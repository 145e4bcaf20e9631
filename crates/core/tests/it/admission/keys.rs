//! Labels and annotations in a definition must have names that the API server accepts.

use pointsman_core::definition::Kind;

use super::data;
use super::definitions::problems;

#[test]
fn label_keys_follow_kubernetes_syntax() {
    let key = "versionLabel: example.com/managed-by-version";
    for bad in ["a/b/c", "/x", "x/", "Example.com/x", "a..b/x", "-a/x", "a-/x", "a_b/x", "x y", "\"\"", "ü/x", "a/é"]
    {
        let (_, message) = problems(key, &format!("versionLabel: {bad}"));
        assert!(message.contains("is no label key"), "{bad}: {message}");
    }
    let long = "x".repeat(64);
    assert!(problems(key, &format!("versionLabel: a/{long}")).1.contains("is no label key"));
    for good in ["version", "a.b/x", "a/X_y.z-1", "a-b.c/0"] {
        let text = data("kinds/gadgets.yaml").replace(key, &format!("versionLabel: {good}"));
        assert!(Kind::load("g.yaml", &text, &mut |file| Ok(data(&format!("kinds/{file}")))).is_ok(), "{good}");
    }
}
