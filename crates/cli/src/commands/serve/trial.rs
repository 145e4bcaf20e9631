//! The trial of definitions before they are served, as in `pointsman kinds check`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pointsman_core::definition::Kind;
use pointsman_core::laws::{Broken, CheckOptions, Dictionary, LAWS, Survey, survey};
use pointsman_core::webhook::Webhook;

/// The options of the trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServedTrial {
    /// Objects for each law, each pair of versions and each direction. 0 disables the trial.
    pub(super) cases: u64,
}

/// The time limit for all definitions together. A liveness probe of the chart waits for 30 s.
const LONGEST: Duration = Duration::from_secs(20);

impl ServedTrial {
    /// Checks the laws of the kinds from files, by name and file. A definition is served if the time limit is reached,
    /// which is logged.
    ///
    /// # Errors
    /// A violated law, with the command that shows the objects.
    pub(super) fn run(self, webhook: &Webhook, own: &BTreeMap<String, String>) -> anyhow::Result<()> {
        let started = Instant::now();
        for kind in webhook.kinds() {
            if let Some(file) = own.get(kind.name()) {
                self.judge(webhook, kind, file, &mut || started.elapsed() < LONGEST)?;
            }
        }
        Ok(())
    }

    fn judge(
        self,
        webhook: &Webhook,
        kind: &Kind,
        file: &str,
        has_time: &mut dyn FnMut() -> bool,
    ) -> anyhow::Result<()> {
        if self.cases == 0 {
            return Ok(());
        }
        let survey = surveyed(webhook, kind, self.cases, has_time);
        if let Some(broken) = broken(&survey) {
            let name = format!("{}.{}", kind.kind(), kind.group());
            let (line, cause) = (broken.line, cause(broken));
            anyhow::bail!(
                "{file}:{line}: cannot serve {name}: {cause}. `pointsman kinds check {file}` shows the object"
            );
        }
        if !survey.through {
            tracing::warn!(file, seconds = LONGEST.as_secs(), "the trial of a definition was cut short");
        }
        Ok(())
    }
}

/// Checks all laws, with this number of objects for each law, pair of versions and direction.
pub(super) fn surveyed(webhook: &Webhook, kind: &Kind, cases: u64, has_time: &mut dyn FnMut() -> bool) -> Survey {
    let words = Dictionary::default();
    let mut options = CheckOptions { seed: 0, cases, laws: &LAWS, words: &words, has_time, converted: &|| {} };
    survey(webhook, kind, &[], &mut options)
}

/// The first broken law.
pub(super) fn broken(survey: &Survey) -> Option<&Broken> {
    survey.results.iter().find_map(|result| result.broken.as_deref())
}

/// Why a definition with a broken law cannot be used.
pub(super) fn cause(broken: &Broken) -> String {
    format!("the definition breaks the law {} ({})", broken.law, broken.text)
}

#[cfg(test)]
mod tests {
    use pointsman_core::webhook::Metadata;

    use super::*;
    use crate::commands::kinds::thing;

    /// No accepted definition violates a law, so the test converts with one definition and judges by another.
    #[test]
    fn definition_that_breaks_law_is_refused() {
        let webhook = Webhook::new(vec![thing(("1", "integer"))], Metadata::Full).unwrap();
        let promised = thing(("Always", "string"));
        let judge = |cases| ServedTrial { cases }.judge(&webhook, &promised, "thing.yaml", &mut || true);
        let error = format!("{:#}", judge(20).unwrap_err());
        assert!(error.starts_with("thing.yaml:8: cannot serve Thing.example.com: the definition breaks"), "{error}");
        judge(0).unwrap();
        ServedTrial { cases: 20 }.judge(&webhook, &webhook.kinds()[0], "thing.yaml", &mut || true).unwrap();
    }
}
