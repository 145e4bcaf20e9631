//! Warnings that teach: what a write will lead to, and what it will not.

use super::Written;
use super::judge::Judging;
use super::spelling::spelled;
use crate::definition::{Lens, Path, Side};
use crate::json::Json;
use crate::webhook::convert::tree;

impl Judging<'_> {
    /// Tells what an update will roll out, and why.
    pub(super) fn rollout(&mut self, written: &Written<'_>, request: usize) {
        let (Some(rollout), Some(Ok(mut old)), Ok(mut new)) =
            (&self.kind.rollout, written.read_old(), written.read_new())
        else {
            return;
        };
        let preimage = |object: &mut crate::webhook::convert::Object<'_>| {
            object.convert(self.kind, rollout.at).ok()?;
            Some(object.preimage(rollout))
        };
        let (Some(before), Some(after)) = (preimage(&mut old), preimage(&mut new)) else {
            return;
        };
        let (old_hash, new_hash) = (before.hash(), after.hash());
        if old_hash == new_hash {
            return;
        }
        let mut fields: Vec<String> = Vec::new();
        for name in before.differing(&after) {
            let path = Path::default().join(&rollout.of);
            let field = spelled(self.kind, &path.join(&name), rollout.at, request);
            let field = field.strip(&path).unwrap_or(field).to_string();
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        if before.force != after.force {
            fields.push(format!("annotation {}", rollout.force.as_deref().unwrap_or_default()));
        }
        let short = |hash: &str| hash.get(..8).unwrap_or_default().to_owned();
        self.warn(format!(
            "this change starts a rollout: {} ({} to {})",
            fields.join(", "),
            short(&old_hash),
            short(&new_hash)
        ));
        self.count("rollout", "warn");
    }

    /// Tells of fields that a manifest still has, but the version of the request has not: the API server drops them.
    pub(super) fn gone(&mut self, written: &Written<'_>, request: usize) {
        let Some(step) = request.checked_sub(1).and_then(|index| self.kind.steps.get(index)) else {
            return;
        };
        let Ok(mut object) = written.read_new() else {
            return;
        };
        let applied = object.annotations.text("kubectl.kubernetes.io/last-applied-configuration");
        let mut applied =
            applied.as_deref().and_then(|text| Json::parse(text).ok()).filter(|applied| {
                applied
                    .get("apiVersion")
                    .and_then(|version| version.as_str().map(|text| text.into_owned()))
                    == Some(object.api_version.clone())
            });
        let operations =
            step.level.operations.iter().filter(|operation| {
                matches!(operation.lens, Lens::OneSided | Lens::IntoMap { .. })
            });
        let dropped = operations.filter_map(|operation| operation.places.of(Side::Older).first());
        let requests = step
            .status
            .iter()
            .flat_map(|status| [&status.requests.requested, &status.requests.completed]);
        for place in dropped.chain(requests).filter(|place| !place.remainder) {
            let mut has =
                |json: &mut Json<'_>| tree::get(json, "", &place.path).ok().flatten().is_some();
            if has(&mut object.root) || applied.as_mut().is_some_and(&mut has) {
                let version =
                    self.kind.versions.get(request).map_or("", |version| version.name.as_ref());
                let older = step.versions.of(Side::Older);
                self.warn(format!(
                    "{} has no effect: {version} does not have it, only {older} does",
                    place.path
                ));
                self.count("gone", "warn");
            }
        }
    }
}
