//! One pass over all objects, which writes those that differ from the target.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::options::{FailedWrite, MigrateError, MigrateEvent, RewrittenObjects};
use super::pace::Pace;
use super::target::{Listed, MigrationTarget};
use super::write::{MigrationWriter, Written};
use crate::cluster::{Cluster, Extent};
use crate::crd_state::CrdState;
use crate::ownership::ObjectConversion;
use crate::pages::{PageSize, Pages, behind, items, next_page};
use crate::retry_budget::RetryBudget;

/// Shared state of all passes of a run.
pub(crate) struct RewriteRun<'r> {
    cluster: &'r Cluster,
    pub(super) crd: CrdState,
    pub(super) aim: MigrationTarget<'r>,
    page: PageSize,
    pace: Pace,
    patience: RetryBudget,
    /// Count instead of writing.
    pub(crate) dry_run: bool,
    /// Converts parts of objects, for a known kind.
    pub(crate) conversion: Option<ObjectConversion>,
    /// The result.
    pub(super) objects: &'r mut RewrittenObjects,
    /// True after a complete list.
    counted: bool,
    /// Consecutive failed writes.
    in_a_row: u16,
    /// The last check of the CRD.
    checked_at: Option<Instant>,
    report: &'r mut dyn FnMut(MigrateEvent),
    stop: &'r dyn Fn() -> bool,
}

/// The end of a pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ended {
    /// All objects match the target.
    Clean,
    /// Some objects were written by this pass or concurrently.
    Wrote,
    /// Stopped on request.
    Interrupted,
}

/// The pace of a run.
pub(crate) struct Speed {
    /// Objects per page.
    pub(crate) page: u32,
    /// Maximum number of concurrent writes.
    pub(crate) max_in_flight: u16,
}

impl<'r> RewriteRun<'r> {
    pub(crate) fn new(
        cluster: &'r Cluster,
        crd: CrdState,
        aim: MigrationTarget<'r>,
        speed: &Speed,
        objects: &'r mut RewrittenObjects,
        report: &'r mut dyn FnMut(MigrateEvent),
        stop: &'r dyn Fn() -> bool,
    ) -> Self {
        let (page, pace, patience) =
            (PageSize::new(speed.page), Pace::new(speed.max_in_flight), RetryBudget::default());
        let (dry_run, conversion, counted, in_a_row, checked_at) = (false, None, false, 0, None);
        Self {
            cluster,
            crd,
            aim,
            page,
            pace,
            patience,
            dry_run,
            conversion,
            objects,
            counted,
            in_a_row,
            checked_at,
            report,
            stop,
        }
    }

    /// Repeats passes until no write is pending, or a write fails.
    pub(crate) async fn rounds(&mut self) -> Result<(), MigrateError> {
        for _ in 0..ROUNDS {
            match self.pass().await? {
                Ended::Wrote if self.objects.failures.is_empty() => (self.report)(MigrateEvent::Looking),
                ended => {
                    self.objects.interrupted = ended == Ended::Interrupted;
                    return Ok(());
                }
            }
        }
        Err(MigrateError::NeverEnds { crd: self.crd.name(), rounds: ROUNDS })
    }

    /// One pass.
    async fn pass(&mut self) -> Result<Ended, MigrateError> {
        let mut next: Option<String> = None;
        let mut ended = Ended::Clean;
        self.aim.begin();
        // Earlier failures may be fixed.
        self.objects.failures.clear();
        loop {
            let Some(list) = self.list(next.as_deref()).await? else {
                // The list cannot continue, so the rest is unknown.
                return Ok(Ended::Wrote);
            };
            let all = items(&list).count();
            let old: Vec<Listed> = items(&list).filter_map(|item| self.aim.listed(item, &self.crd)).collect();
            if !self.counted {
                self.objects.passed_over += (all - old.len()) as u64;
            }
            let (waiting, changed) = match self.dry_run {
                true => {
                    self.objects.written += old.len() as u64;
                    (0, false)
                }
                false => self.write_all(old).await?,
            };
            if changed {
                ended = Ended::Wrote;
            }
            next = next_page(&list);
            let left = behind(&list).map(|behind| behind + waiting);
            self.objects.left = left.filter(|left| *left > 0);
            self.report_page(left);
            if waiting > 0 || ((self.stop)() && next.is_some()) {
                return Ok(Ended::Interrupted);
            }
            if next.is_none() {
                self.counted = true;
                self.objects.left = None;
                return Ok(ended);
            }
        }
    }

    fn report_page(&mut self, remaining: Option<u64>) {
        let RewrittenObjects { written, passed_over, .. } = *self.objects;
        let (failed, max_in_flight) = (self.objects.failures.len() as u64, self.pace.max_in_flight() as u16);
        (self.report)(MigrateEvent::Page { written, passed_over, failed, remaining, max_in_flight });
    }

    /// One page in the storage version, which converts objects of other versions. `None` if a list cannot continue.
    async fn list(&mut self, next: Option<&str>) -> Result<Option<Value>, MigrateError> {
        let collection = self.crd.collection(self.crd.storage());
        let pages = Pages::new(self.cluster, collection, Extent::MetadataOfAll, self.page.clone());
        let pages = pages.with_patience(&self.patience);
        let mut waits = async |_, _| {
            self.report_errors();
            self.check_crd().await
        };
        match pages.page(next, &mut waits).await {
            Ok(list) => Ok(Some(list)),
            Err(error) => {
                self.check_crd().await?;
                match error {
                    MigrateError::Call(expired) if expired.code() == Some(410) && next.is_some() => Ok(None),
                    error => Err(error),
                }
            }
        }
    }

    /// Writes these objects concurrently. Returns the number of unwritten objects after a stop, and whether any object
    /// differed from the target.
    async fn write_all(&mut self, old: Vec<Listed>) -> Result<(u64, bool), MigrateError> {
        let (mut waiting, mut under_way, mut changed) = (old.into_iter(), JoinSet::new(), false);
        let writer = MigrationWriter {
            cluster: self.cluster.clone(),
            crd: Arc::new(self.crd.clone()),
            conversion: self.conversion.clone(),
            patience: self.patience.clone(),
        };
        loop {
            if waiting.len() > 0 || !under_way.is_empty() {
                self.check_crd().await?;
            }
            while under_way.len() < self.pace.max_in_flight() && !(self.stop)() {
                let Some(listed) = waiting.next() else { break };
                let writer = writer.clone();
                under_way.spawn(async move {
                    let (written, took) = writer.write(&listed).await;
                    (listed, written, took)
                });
            }
            let joined = timeout(CHECK_INTERVAL, under_way.join_next()).await;
            self.report_errors();
            match joined {
                Ok(None) => return Ok((waiting.len() as u64, changed)),
                Ok(Some(Ok((listed, written, took)))) => {
                    match took {
                        Some(took) => self.pace.took(took),
                        None => self.pace.refused(),
                    }
                    changed |= written != Written::Same;
                    self.note(listed, written)?;
                }
                // A panicked task is a bug; the next pass observes its object.
                Ok(Some(Err(_))) => changed = true,
                Err(_) => {}
            }
        }
    }

    fn note(&mut self, listed: Listed, written: Written) -> Result<(), MigrateError> {
        match written {
            Written::Rewritten => self.objects.written += 1,
            Written::Same => {
                self.objects.passed_over += 1;
                self.aim.was_so(&listed);
            }
            Written::Deleted => self.objects.deleted += 1,
            Written::Raced => self.objects.raced += 1,
            Written::Failed(reason) => return self.note_failure(listed, reason),
        }
        self.in_a_row = 0;
        Ok(())
    }

    fn note_failure(&mut self, listed: Listed, reason: String) -> Result<(), MigrateError> {
        self.in_a_row += 1;
        if self.in_a_row == ALL {
            return Err(MigrateError::AllFail { count: ALL, last: reason });
        }
        let (namespace, name) = (listed.namespace, listed.name);
        self.objects.failures.push(FailedWrite { namespace, name, reason });
        Ok(())
    }

    fn report_errors(&mut self) {
        if let Some((error, pause)) = self.patience.untold() {
            (self.report)(MigrateEvent::Trying { error, pause });
        }
    }

    /// Checks that the CRD is unchanged, unless checked recently. Without the conversion, writes would relabel objects,
    /// and fields would be lost.
    async fn check_crd(&mut self) -> Result<(), MigrateError> {
        if self.checked_at.is_some_and(|checked_at| checked_at.elapsed() < CHECK_INTERVAL) {
            return Ok(());
        }
        let seen = self.cluster.read(&self.crd.path(), Extent::Metadata).await;
        let same = match seen {
            Ok(now) => {
                let uid = now.pointer("/metadata/uid").and_then(Value::as_str);
                let generation = now.pointer("/metadata/generation").and_then(Value::as_u64);
                (uid, generation) == (Some(self.crd.uid()), Some(self.crd.generation()))
            }
            // Without a response, the CRD counts as unchanged.
            Err(error) => error.code() != Some(404),
        };
        if !same {
            return Err(MigrateError::Changed { crd: self.crd.name() });
        }
        self.checked_at = Some(Instant::now());
        Ok(())
    }
}

/// The first pass writes, the second checks. More are needed if an API server receives the storage version late, or
/// other clients write the same objects.
const ROUNDS: u16 = 10;

/// Limit of equal failures, instead of twenty thousand reports.
const ALL: u16 = 50;

/// About the time in which an API server receives a change of the CRD.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
