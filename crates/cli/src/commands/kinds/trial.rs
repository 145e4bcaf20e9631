//! Running the laws over a definition, for as long as somebody wants it.

use std::panic;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use pointsman_core::definition::Kind;
use pointsman_core::laws::{CheckOptions, Survey, Value, Words, survey};
use pointsman_core::parse_duration;
use pointsman_core::webhook::{Metadata, Webhook};

use crate::commands::progress_line::ProgressLine;
use crate::commands::stop::Stop;

/// How a definition is tried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trial")]
pub(super) struct TrialArgs {
    /// Objects that each law of conversion is tried on, for each pair of versions in each direction; more where these
    /// left an operation unexercised. 0 tries nothing.
    #[arg(long = "try", visible_alias = "cases", value_name = "N", default_value_t = 20)]
    pub(super) cases: u64,
    /// Where the cases start. The same seed makes the same objects.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=LAST_SEED))]
    pub(super) seed: u64,
    /// The longest that one definition is tried for.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "20s")]
    time: Duration,
}

/// There is room for the cases behind it.
const LAST_SEED: u64 = u64::MAX / 2;

/// What was found, and whether somebody wanted it to end.
pub(super) struct Trial {
    pub(super) survey: Survey,
    /// Ctrl-C.
    pub(super) interrupted: bool,
}

impl Trial {
    /// How many objects were judged.
    pub(super) fn cases(&self) -> u64 {
        self.survey.results.iter().map(|result| result.cases).sum()
    }
}

/// Runs the laws over a kind. `name` is what the progress says.
pub(super) fn run(kind: Kind, name: &str, args: &TrialArgs, samples: &[Value], stop: &Stop) -> anyhow::Result<Trial> {
    let webhook = Webhook::new(vec![kind], Metadata::Full)?;
    let kind = webhook.kinds().first().context("a kind that was just given is not known")?;
    let mut progress = Progress::new(name, args.time, stop);
    let words = Words::default();
    let mut go_on = || progress.go_on();
    let mut options = CheckOptions {
        seed: args.seed,
        cases: args.cases,
        laws: &[],
        words: &words,
        go_on: &mut go_on,
        converted: &|| {},
    };
    // A panic is a law that is broken: it is told with the object that shows it, not where it happens.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let survey = survey(&webhook, kind, samples, &mut options);
    panic::set_hook(hook);
    drop(progress);
    Ok(Trial { survey, interrupted: stop.is_wanted() })
}

/// How far a trial is, and whether it goes on.
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

    fn go_on(&mut self) -> bool {
        self.steps += 1;
        let Self { name, started, steps, .. } = self;
        self.line.tell(|| format!("{name}: trying it, {steps} steps in {} s", started.elapsed().as_secs()));
        self.started.elapsed() < self.limit && !self.stop.is_wanted()
    }
}
