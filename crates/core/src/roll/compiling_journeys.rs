//! Checks what a Roll says of journeys: which ones its waves go, what they run, and what it accepts.

use super::chosen::Chosen;
use super::compiler::{JOURNEY, RollCompiler, near};
use super::fleet_roll::{NO_WAY_BACK, filled};
use super::spec::{RollSpec, RunSpec};
use super::wave::Wave;
use crate::definition::{Journey, JourneyAct, JourneyStep};

impl RollCompiler<'_> {
    /// Risks are accepted by the names that a plan prints.
    pub(super) fn accepted(&mut self, accept: &[String], waves: &[Wave]) {
        let mut named: Vec<(&str, &str)> = Vec::new();
        let mut twice = Vec::new();
        for journey in waves.iter().filter_map(|wave| wave.journey.as_ref()) {
            for step in journey.steps.iter().filter(|step| step.irreversible.is_some()) {
                let other = named.iter().find(|(name, of)| *name == step.name && *of != journey.name);
                twice.extend(other.map(|(name, of)| {
                    format!(
                        "{of} and {} both have a step {name} that cannot be undone: call one of them otherwise, so that \
                         each is accepted by its name",
                        journey.name
                    )
                }));
                named.push((&step.name, &journey.name));
            }
        }
        twice.dedup();
        twice.into_iter().for_each(|why| self.bad(why));
        let steps = waves.iter().filter_map(|wave| wave.journey.as_ref()).flat_map(|journey| &journey.steps);
        let risky = steps.filter(|step| step.irreversible.is_some()).map(|step| step.name.as_str());
        let mut known = vec![NO_WAY_BACK];
        known.extend(risky);
        known.dedup();
        for risk in accept.iter().filter(|risk| !known.contains(&risk.as_str())) {
            let (hint, known) = (near(risk, &known), known.join(", "));
            self.bad(format!("accept: {risk:?} is no risk that a plan names{hint}. Known here: {known}"));
        }
    }

    /// What happens to the objects of a wave; nothing where their version label is changed.
    pub(super) fn journey(&mut self, name: Option<&str>, spec: &RollSpec) -> Option<Journey> {
        let name = name.or(spec.journey.as_deref()).filter(|name| *name != JOURNEY)?;
        let Some(journey) = self.kind.journeys.iter().find(|journey| journey.name == name) else {
            let known: Vec<&str> =
                [JOURNEY].into_iter().chain(self.kind.journeys.iter().map(|journey| journey.name.as_str())).collect();
            let (hint, known) = (near(name, &known), known.join(", "));
            self.bad(format!("journey: {name:?} is not known{hint}. Known here: {known}"));
            return None;
        };
        self.asks_for_from(&format!("journey {name}"), journey, spec);
        Some(journey.filled(&|text| filled(text, spec.from.as_deref(), &spec.to)))
    }

    /// Nothing stands in the place of `{from}` where the Roll does not say it.
    fn asks_for_from(&mut self, what: &str, journey: &Journey, spec: &RollSpec) {
        if spec.from.is_none() && journey.mentions("{from}") {
            self.bad(format!(
                "{what} fills in {{from}}, and the Roll has no `from`: say which version its objects come from"
            ));
        }
    }

    /// A label that chooses objects is none that a step changes: nobody could tell what goes with which wave.
    pub(super) fn chosen_by_steps(&mut self, chosen: &Chosen, waves: &[Wave]) {
        let journeys: Vec<&Journey> = waves.iter().filter_map(|wave| wave.journey.as_ref()).collect();
        let steps = journeys.iter().flat_map(|journey| journey.steps.iter().map(|step| (&journey.name, step)));
        let mut bad = Vec::new();
        for (journey, step) in steps {
            let JourneyAct::Set(fields) = &step.act else { continue };
            for (field, _) in fields {
                let [metadata, labels, label] = field.names() else { continue };
                let is_label = (metadata.as_ref(), labels.as_ref()) == ("metadata", "labels");
                let asks = chosen.asks_for(label) || waves.iter().any(|wave| wave.chosen.asks_for(label));
                if is_label && asks {
                    bad.push(format!(
                        "journey {journey}: step {} changes {field}, by which the Roll selects objects: select them by \
                         another label",
                        step.name
                    ));
                }
            }
        }
        bad.dedup();
        bad.into_iter().for_each(|why| self.bad(why));
    }

    /// What a wave runs that has no objects.
    pub(super) fn run(&mut self, name: &str, run: &RunSpec, spec: &RollSpec) -> Option<Journey> {
        let mut steps = Vec::new();
        if let Some(job) = &run.job {
            match (job.has_undo(), run.irreversible.as_deref()) {
                (false, None | Some("")) => {
                    self.bad(format!(
                        "waves: {name}: run: the job needs an `undo`, or `irreversible` says why it has none"
                    ));
                }
                (true, Some(_)) => {
                    self.bad(format!("waves: {name}: run: the job has an `undo`, so that it is not `irreversible`"));
                }
                _ => {}
            }
            match job.compile(None) {
                Ok((job, undo)) => {
                    let act = JourneyAct::Job { job: Box::new(job), undo: undo.map(Box::new) };
                    steps.push(JourneyStep { name: name.to_owned(), act, irreversible: run.irreversible.clone() });
                }
                Err(bad) => {
                    bad.into_iter().for_each(|why| self.bad(format!("waves: {name}: run: job: {why}")));
                    return None;
                }
            }
        }
        let journey = Journey { name: format!("run {name}"), when: None, steps };
        self.asks_for_from(&format!("waves: {name}: run"), &journey, spec);
        Some(journey)
    }

    /// An object whose version label is changed is on no other journey: by that label it is told how far it is.
    pub(super) fn mixed(&mut self, waves: &[Wave]) {
        let with_objects = || waves.iter().filter(|wave| !wave.is_run);
        let label = with_objects().find(|wave| wave.journey.is_none());
        let other = with_objects().find(|wave| wave.journey.is_some());
        if let (Some(label), Some(other)) = (label, other) {
            self.bad(format!(
                "waves: {} has the journey {JOURNEY}, and {} another one: a roll either changes version labels or does not",
                label.name, other.name
            ));
        }
    }
}
