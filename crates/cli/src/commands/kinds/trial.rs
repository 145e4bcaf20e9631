//! Checks the laws of a definition within a time limit.

use std::panic;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use pointsman_core::definition::{Kind, KindConversion};
use pointsman_core::laws::{CheckOptions, Dictionary, LAWS, Law, Survey, Value, survey};
use pointsman_core::parse_duration;
use pointsman_core::webhook::{Facts, Metadata, Webhook};

use crate::commands::progress_line::ProgressLine;
use crate::commands::stop::Stop;

/// The options of a trial.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trial")]
pub(super) struct TrialArgs {
    /// Number of objects for each law, each pair of versions and each direction. More are tried if an operation is not
    /// covered. 0 disables the trial.
    #[arg(long = "try", visible_alias = "cases", value_name = "N", default_value_t = CASES)]
    pub(super) cases: u64,
    /// Seed of the first case. The same seed generates the same objects.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=LAST_SEED))]
    pub(super) seed: u64,
    /// Time limit for one definition. Use --try 0 to disable the trial.
    #[arg(long, value_name = "DURATION", value_parser = some_time, default_value = "20s")]
    time: Duration,
}

/// A positive duration, because a trial needs at least one case.
fn some_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    (!time.is_zero()).then_some(time).ok_or_else(|| "a duration of 0 tries no object; use --try 0 instead".to_owned())
}

/// The default number of objects for each law.
pub(crate) const CASES: u64 = 20;

/// Leaves space for the seeds of later cases.
const LAST_SEED: u64 = u64::MAX / 2;

/// The result of a trial.
pub(super) struct Trial {
    pub(super) survey: Survey,
    /// The seed of the first case.
    pub(super) seed: u64,
    /// The trial was stopped by Ctrl-C.
    pub(super) interrupted: bool,
}

impl Trial {
    /// The number of judged objects.
    pub(super) fn cases(&self) -> u64 {
        self.survey.results.iter().map(|result| result.cases).sum()
    }
}

/// Checks the laws of a kind, and of its kind conversion. `name` is shown in the progress line.
pub(super) fn run(
    mut kind: Kind,
    name: &str,
    args: &TrialArgs,
    samples: &[Value],
    stop: &Stop,
) -> anyhow::Result<Trial> {
    let becoming = kind.take_conversion();
    let mut progress = Progress::new(name, args.time, stop);
    // A panic violates a law. It is reported with its object, not with its location.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let surveys = match becoming {
        None => of_kind(kind, (vec![Facts::default()], &LAWS), args, samples, &mut progress).map(|survey| vec![survey]),
        Some(becoming) => {
            let facts = snapshots(&becoming);
            let laws: Vec<Law> = LAWS.into_iter().filter(|law| law.name != BY_WRITES).collect();
            let bridge = of_kind(becoming.into_versions(), (facts, &laws), args, samples, &mut progress);
            let own = (kind.versions().count() > 1)
                .then(|| of_kind(kind, (vec![Facts::default()], &LAWS), args, samples, &mut progress))
                .transpose();
            bridge.and_then(|bridge| Ok(std::iter::once(bridge).chain(own?).collect()))
        }
    };
    panic::set_hook(hook);
    drop(progress);
    let mut surveys = surveys?.into_iter();
    let mut survey = surveys.next().context("no object was tried")?;
    for other in surveys {
        survey.results.extend(other.results);
        survey.unexercised.extend(other.unexercised);
        survey.hidden.extend(other.hidden);
        // A sample may belong to either kind.
        survey.unfit.retain(|(index, _)| other.unfit.iter().any(|(also, _)| also == index));
        survey.through &= other.through;
    }
    Ok(Trial { survey, seed: args.seed, interrupted: stop.is_wanted() })
}

/// Checks the laws of a kind for each snapshot of facts. A part is uncovered if no snapshot covers it.
fn of_kind(
    kind: Kind,
    (snapshots, laws): (Vec<Facts>, &[Law]),
    args: &TrialArgs,
    samples: &[Value],
    progress: &mut Progress<'_>,
) -> anyhow::Result<Survey> {
    let mut webhook = Webhook::new(vec![kind], Metadata::Full)?;
    let mut all: Option<Survey> = None;
    for facts in snapshots {
        webhook = webhook.knowing(facts);
        let kind = webhook.kinds().first().context("the kind is unknown after its lookup")?;
        let words = Dictionary::default();
        let mut has_time = || progress.has_time();
        let mut options = CheckOptions {
            seed: args.seed,
            cases: args.cases,
            laws,
            words: &words,
            has_time: &mut has_time,
            converted: &|| {},
        };
        let survey = survey(&webhook, kind, samples, &mut options);
        match &mut all {
            None => all = Some(survey),
            Some(all) => {
                for (one, other) in all.results.iter_mut().zip(survey.results) {
                    one.cases += other.cases;
                    one.broken = one.broken.take().or(other.broken);
                }
                all.unexercised.retain(|what| survey.unexercised.contains(what));
                all.through &= survey.through;
            }
        }
    }
    all.context("no object was tried")
}

/// The combinations of facts. With many facts, only a part of the combinations.
fn snapshots(becoming: &KindConversion<Kind>) -> Vec<Facts> {
    let names: Vec<&str> = becoming.facts().collect();
    let all = 1_u32 << names.len().min(MANY_FACTS);
    let value = |bits: u32, at: usize| if bits >> (at % MANY_FACTS) & 1 == 1 { "true" } else { "false" };
    (0..all).map(|bits| names.iter().enumerate().map(|(at, name)| (*name, value(bits, at))).collect()).collect()
}

/// The law that depends on `/mutate`. A kind conversion has no writes.
const BY_WRITES: &str = "stale";

/// The number of facts with all combinations: eight.
const MANY_FACTS: usize = 3;

/// The progress of a trial, and its stop condition.
struct Progress<'p> {
    name: &'p str,
    stop: &'p Stop,
    started: Instant,
    limit: Duration,
    steps: u64,
    line: ProgressLine,
}

impl<'p> Progress<'p> {
    fn new(name: &'p str, limit: Duration, stop: &'p Stop) -> Self {
        Self { name, stop, started: Instant::now(), limit, steps: 0, line: ProgressLine::new() }
    }

    fn has_time(&mut self) -> bool {
        self.steps += 1;
        let Self { name, started, steps, .. } = self;
        self.line.update(|| format!("{name}: trial, {steps} steps in {} s", started.elapsed().as_secs()));
        self.started.elapsed() < self.limit && !self.stop.is_wanted()
    }
}
