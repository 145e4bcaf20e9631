//! What a roll that somebody stops leaves where it is, and when.

use std::collections::BTreeMap;

use pointsman_core::roll::{
    FleetObject, FleetRoll, Moment, RollAnswers, RollFacts, RollPhase, RollStatus, RollWrite, WantedObjects, plan,
    step_questions,
};
use serde_json::{Value, json};

use super::refused::rolled;
use crate::boat::apply;
use crate::patches::NOW;

/// An object whose one step runs a Job.
struct Pier {
    direction: &'static str,
    ship: Value,
    /// By their names, in the order in which they were made.
    jobs: Vec<(String, Value)>,
    status: RollStatus,
    /// Nobody may read Jobs.
    shut: bool,
}

impl Pier {
    fn new() -> Self {
        let ship = json!({"metadata": {"namespace": "n", "name": "a", "uid": "u-a"}, "spec": {}, "status": {}});
        Self { direction: "Forward", ship, jobs: Vec::new(), status: RollStatus::default(), shut: false }
    }

    fn compiled(&self) -> FleetRoll {
        let template = json!({"spec": {"containers": [{"name": "lift", "image": "crane"}]}});
        let manifest = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"namespace": "yard"}, "spec": {"template": template},
        });
        let lift = json!({"name": "lift", "job": {"manifest": manifest, "undo": {"manifest": manifest}}});
        rolled(&json!({"j": [lift]}), &json!({"timeout": "10m", "direction": self.direction})).unwrap()
    }

    fn answers(&self, roll: &FleetRoll, fleet: &[FleetObject]) -> RollAnswers {
        let jobs: BTreeMap<&str, &Value> = self.jobs.iter().map(|(name, job)| (name.as_str(), job)).collect();
        let mut answers = RollAnswers::default();
        for question in step_questions(roll, &self.status, fleet) {
            let WantedObjects::Named(name) = &question.wanted else { panic!("{question:?}") };
            match self.shut {
                true => answers.cannot_read(&question, "nobody may".to_owned()),
                false => answers.saw(&question, jobs.get(name.as_str()).copied().map_or(&[], std::slice::from_ref)),
            }
        }
        answers
    }

    /// What the Roll says once nothing more is written, so many seconds after the beginning.
    fn settles(&mut self, after: u64) -> RollStatus {
        let roll = self.compiled();
        for _ in 0..20 {
            let fleet = [FleetObject::of(&self.ship, &roll).unwrap()];
            let answers = self.answers(&roll, &fleet);
            let facts = RollFacts { consistent: true, answers, ..RollFacts::default() };
            let planned = plan(&roll, &self.status, &fleet, facts, Moment { wall: NOW.wall + after, ..NOW });
            if planned.writes.is_empty() {
                return planned.status;
            }
            for write in planned.writes {
                match write {
                    RollWrite::Status(status) => self.status = *status,
                    RollWrite::Job(write) => self.jobs.push((write.name, write.body)),
                    RollWrite::Move(write) => {
                        let operations = write.patch.as_array().unwrap();
                        operations.iter().for_each(|operation| apply(&mut self.ship, operation).unwrap());
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        panic!("it goes on for ever: {:?}", self.status);
    }

    fn ends(&mut self, job: usize, how: &str) {
        self.jobs[job].1["status"] = json!({"conditions": [{"type": how, "status": "True"}]});
    }
}

/// Its Job hangs, on the way there and on the way back: what it still does is nothing that a roll leaves behind.
#[test]
fn what_a_job_may_still_change_is_not_left_by_a_roll_that_stops() {
    let mut pier = Pier::new();
    let ship = pier.ship.clone();
    pier.settles(0);
    assert_eq!(pier.jobs.len(), 1, "{:?}", pier.status);
    pier.direction = "Stop";
    pier.settles(10);
    let back = pier.settles(700);
    assert!(back.reserved[0].back, "{back:?}");
    for (shut, why) in [(false, "still runs"), (true, "cannot be read: nobody may")] {
        pier.shut = shut;
        let late = pier.settles(1_400);
        assert_eq!((late.phase, late.reason.as_deref()), (RollPhase::Waiting, Some("Job")), "{late:?}");
        let told = format!("job yard/{} {why}", pier.jobs[0].0);
        assert!(late.message.contains(&told), "{}", late.message);
    }
    pier.shut = false;
    pier.ends(0, "Failed");
    pier.settles(1_410);
    assert_eq!(pier.jobs.len(), 2, "{:?}", pier.status);
    pier.ends(1, "Complete");
    let home = pier.settles(1_420);
    assert_eq!((home.phase, home.reason.as_deref()), (RollPhase::Aborted, Some("Stopped")), "{home:?}");
    assert_eq!(pier.ship["spec"], ship["spec"]);
    assert_eq!(pier.ship["metadata"]["annotations"].as_object().map_or(0, serde_json::Map::len), 0, "{}", pier.ship);
}

/// What it does cannot be taken back: it is left once its Job has ended, and the last words name it.
#[test]
fn what_cannot_be_undone_is_left_by_a_roll_that_stops_once_its_job_has_ended() {
    let mut pier = Pier::new();
    pier.settles(0);
    pier.direction = "Stop";
    pier.settles(10);
    pier.settles(700);
    pier.settles(1_400);
    pier.ends(0, "Failed");
    pier.settles(1_410);
    pier.ends(1, "Failed");
    let left = pier.settles(1_420);
    assert_eq!((left.phase, left.reason.as_deref()), (RollPhase::Aborted, Some("Stopped")), "{left:?}");
    assert!(left.message.contains("left where they are: n/a"), "{}", left.message);
}
