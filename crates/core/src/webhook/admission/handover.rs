//! A change of the version label: whether the object may go, and whether it may come.

use super::Written;
use super::field::FieldError;
use super::rules::{Found, opted_out};
use super::validate::Judging;
use crate::definition::admission::UpgradePath;
use crate::json::Json;
use crate::upgrade;
use crate::webhook::convert::tree;

impl Judging<'_> {
    /// The way into this version.
    pub(super) fn enter(&mut self, written: &Written<'_>, from: Option<&str>) {
        let (Some(path), Some(own)) =
            (&self.kind.admission.version_path, &self.settings.controller)
        else {
            return;
        };
        let Some(refused) = from
            .filter(|from| self.is_served(from, path))
            .and_then(upgrade::version)
            .and_then(|from| path.path.allow(&from, &own.version).err())
        else {
            return;
        };
        let field = format!("metadata.labels[{}]", self.kind.admission.version_label);
        let mut found = Found::default();
        let object = written.read_new().ok();
        match object.and_then(|object| opted_out(&object, path, &refused)) {
            Some(annotation) => found.warnings.push(format!(
                "{field}: {refused}; not enforced because of annotation {annotation}"
            )),
            None => found.errors.push(FieldError::invalid(
                field,
                &Json::string(&own.text),
                refused.to_string(),
            )),
        }
        self.add("version-path", found);
    }

    /// A version that nobody serves is none to come from: its objects are adopted, like those without a label.
    fn is_served(&self, from: &str, path: &UpgradePath) -> bool {
        match self.settings.served.as_slice() {
            [] => upgrade::version(from).is_some_and(|version| path.path.knows(&version)),
            served => served.iter().any(|version| version.text == from),
        }
    }

    /// An object in the middle of a promotion is not handed over: two controllers would act on it.
    pub(super) fn leave(&mut self, written: &Written<'_>, to: &str) {
        let field = format!("metadata.labels[{}]", self.kind.admission.version_label);
        let mut found = Found::default();
        if self.is_promoting(written) {
            let own =
                self.settings.controller.as_ref().map(|own| own.text.as_str()).unwrap_or_default();
            found.errors.push(FieldError::forbidden(
                &field,
                format!("{own} is promoting this object: wait until the rollout is completed"),
            ));
        }
        let served = &self.settings.served;
        if !served.is_empty() && !served.iter().any(|version| version.text == to) {
            let known: Vec<&str> = served.iter().map(|version| version.text.as_str()).collect();
            found
                .warnings
                .push(format!("{field}: no server serves {to:?}; served are {}", known.join(", ")));
        }
        self.add("handover", found);
    }

    fn is_promoting(&self, written: &Written<'_>) -> bool {
        let Some(status) = self.kind.steps.iter().find_map(|step| step.status.as_ref()) else {
            return false;
        };
        let Some(Ok(mut old)) = written.read_old() else {
            return false;
        };
        let conditions = tree::get(&mut old.root, "", &status.reasons).ok().flatten();
        let reasons = conditions
            .into_iter()
            .flat_map(|conditions| conditions.elements())
            .filter_map(|condition| {
                condition
                    .get("reason")
                    .and_then(|reason| reason.as_str().map(|text| text.into_owned()))
            });
        reasons.into_iter().any(|reason| reason == status.promoting)
    }
}
