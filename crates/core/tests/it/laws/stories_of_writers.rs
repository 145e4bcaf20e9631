//! The same sequences with clients that write less than they read: old controllers, replaced manifests, other fields.

use super::stories::{
    COMPLETED, DONE, FIRST, REQUEST, REQUESTED, SECOND, derived, down, fixture, hash, hashes, older, says_done, stored,
    up,
};
use crate::value::text;

#[test]
fn old_controller_drops_carried_fields() {
    // The controller writes the whole status from its own type, otherwise unchanged.
    let before = stored(&older(FIRST, FIRST, "Applied"));
    let mut home = down(&before);
    home.take(COMPLETED);
    home.take(REQUESTED);
    let after = stored(&home);
    assert_eq!(hashes(&after), ("H".to_owned(), "H".to_owned()));
    // During a rollout, dropped fields must not complete anything.
    let mut home = down(&stored(&older(SECOND, FIRST, "Applying")));
    home.take(COMPLETED);
    home.take(REQUESTED);
    assert_eq!(hashes(&stored(&home)), ("-".to_owned(), "H".to_owned()));
    // The controller's later record of the completion counts.
    home.set(DONE, text(SECOND));
    assert_eq!(hashes(&stored(&home)), ("H".to_owned(), "H".to_owned()));
}

#[test]
fn replace_loses_only_hidden_values() {
    let newer = stored(&older(FIRST, FIRST, "Applied"));
    let home = super::without_ours(&down(&newer));
    assert_eq!(hashes(&stored(&home)), ("H".to_owned(), "H".to_owned()), "values that are there count");
    // The API server copies the status of the stored object into a replaced object.
    let mut replaced = older(SECOND, FIRST, "Applied");
    replaced.set("spec.environmentdImageRef", text("materialize/environmentd:v99.0.0"));
    replaced.set("status", home.get("status").cloned().unwrap());
    let stored = stored(&replaced);
    assert_ne!(hashes(&stored).0, "H");
    assert!(!says_done(&down(&stored)));
    // After a replace at the newer version, the older version's own fields are lost and derived again.
    let home = down(&super::without_ours(&newer));
    assert!(says_done(&home));
    assert_eq!(home.field(REQUEST), Some(&derived(&hash(&newer))));
}

#[test]
fn promotion_changes_no_hash() {
    let mut newer = fixture("v1alpha2-promoting");
    for _ in 0..3 {
        let home = down(&newer);
        assert!(!says_done(&home));
        assert_eq!(up(&home), newer);
        newer = up(&home);
    }
}
