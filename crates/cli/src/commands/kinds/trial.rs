//! Running the laws over a definition, for as long as somebody wants it.

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

/// How a definition is tried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trial")]
pub(super) struct TrialArgs {
    /// Objects that each law of conversion is tried on, for each pair of versions in each direction; more where these
    /// left an operation unexercised. 0 tries nothing.
    #[arg(long = "try", visible_alias = "cases", value_name = "N", default_value_t = CASES)]
    pub(super) cases: u64,
    /// Where the cases start. The same seed makes the same objects.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=LAST_SEED))]
    pub(super) seed: u64,
    /// The longest that one definition is tried for. To try nothing there is --try 0.
    #[arg(long, value_name = "DURATION", value_parser = some_time, default_value = "20s")]
    time: Duration,
}

/// A time in which something can be tried: what was tried on nothing is not fine.
fn some_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    (!time.is_zero()).then_some(time).ok_or_else(|| "in no time nothing is tried; --try 0 says that".to_owned())
}

/// Objects for each law where the command line gives no other number.
pub(crate) const CASES: u64 = 20;

/// There is room for the cases behind it.
const LAST_SEED: u64 = u64::MAX / 2;

/// What was found, and whether somebody wanted it to end.
pub(super) struct Trial {
    pub(super) survey: Survey,
    /// Where the cases started.
    pub(super) seed: u64,
    /// Ctrl-C.
    pub(super) interrupted: bool,
}

impl Trial {
    /// How many objects were judged.
    pub(super) fn cases(&self) -> u64 {
        self.survey.results.iter().map(|result| result.cases).sum()
    }
}

/// Runs the laws over a kind, and over what becomes one. `name` is what the progress says.
pub(super) fn run(
    mut kind: Kind,
    name: &str,
    args: &TrialArgs,
    samples: &[Value],
    stop: &Stop,
) -> anyhow::Result<Trial> {
    let becoming = kind.take_conversion();
    let mut progress = Progress::new(name, args.time, stop);
    // A panic is a law that is broken: it is told with the object that shows it, not where it happens.
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
    let mut survey = surveys.next().context("nothing was tried")?;
    for other in surveys {
        survey.results.extend(other.results);
        survey.unexercised.extend(other.unexercised);
        survey.hidden.extend(other.hidden);
        // What is no object of the one may be one of the other.
        survey.unfit.retain(|(index, _)| other.unfit.iter().any(|(also, _)| also == index));
        survey.through &= other.through;
    }
    Ok(Trial { survey, seed: args.seed, interrupted: stop.is_wanted() })
}

/// Runs the laws over a kind, once for each snapshot of facts. What none of these exercised was not exercised.
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
        let kind = webhook.kinds().first().context("a kind that was just given is not known")?;
        let words = Dictionary::default();
        let mut go_on = || progress.go_on();
        let mut options = CheckOptions {
            seed: args.seed,
            cases: args.cases,
            laws,
            words: &words,
            go_on: &mut go_on,
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
    all.context("nothing was tried")
}

/// What may be known: each fact true and false, with every other one as long as these are few.
fn snapshots(becoming: &KindConversion<Kind>) -> Vec<Facts> {
    let names: Vec<&str> = becoming.facts().collect();
    let all = 1_u32 << names.len().min(MANY_FACTS);
    let value = |bits: u32, at: usize| if bits >> (at % MANY_FACTS) & 1 == 1 { "true" } else { "false" };
    (0..all).map(|bits| names.iter().enumerate().map(|(at, name)| (*name, value(bits, at))).collect()).collect()
}

/// The law that is kept by who stamps writes. No write is seen where a kind becomes another one.
const BY_WRITES: &str = "stale";

/// Facts of which every combination is tried: eight.
const MANY_FACTS: usize = 3;

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
