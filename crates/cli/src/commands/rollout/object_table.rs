//! Objects of a rollout: order, running versions, and state.

use pointsman_rollout::{Direction, Forecast, ObjectState, Rollout, RolloutStatus};
use serde_json::{Map, Value, json};

use crate::commands::table::table_of;

/// Objects of a rollout, in the order of their moves.
pub(super) struct ObjectList<'a> {
    rollout: &'a Rollout,
    all: &'a [Forecast<'a>],
    /// The target version of the rollout, if known.
    target: Option<&'a str>,
}

/// The columns of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ObjectColumns {
    /// Columns for a screen of 80 columns, apart from the reason at the end.
    Few,
    /// Also the role and the target.
    All,
}

impl<'a> ObjectList<'a> {
    pub(super) fn new(rollout: &'a Rollout, status: &RolloutStatus, all: &'a [Forecast<'a>]) -> Self {
        let target = if status.direction == Direction::Undo { rollout.from() } else { Some(rollout.to()) };
        Self { rollout, all, target }
    }

    pub(super) fn table(&self, columns: ObjectColumns) -> String {
        let parts: Vec<String> = self.rollout.parts().map(str::to_uppercase).collect();
        let mut head = vec!["NAMESPACE", "NAME"];
        head.extend(self.has_role(columns).then_some("ROLE"));
        head.push("WAVE");
        head.extend((columns == ObjectColumns::All).then_some("TARGET"));
        head.extend(self.has_label().then_some("VERSION"));
        head.extend(parts.iter().map(String::as_str));
        head.push("STATE");
        head.extend(self.has_reasons().then_some("WHY"));
        let rows: Vec<Vec<String>> = self.all.iter().map(|one| self.row(one, columns)).collect();
        table_of(&head, rows.iter().map(Vec::as_slice))
    }

    fn row(&self, one: &Forecast<'_>, columns: ObjectColumns) -> Vec<String> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let mut row = vec![text(one.object.namespace()), one.object.name().to_owned()];
        row.extend(self.has_role(columns).then(|| one.object.role().unwrap_or(NONE).to_owned()));
        row.push(one.wave.to_owned());
        row.extend((columns == ObjectColumns::All).then(|| text(self.target_of(one))));
        row.extend(self.has_label().then(|| text(one.object.version())));
        row.extend(self.parts_of(one));
        row.push(one.object_state.word().to_owned());
        row.extend(self.has_reasons().then(|| why(one)));
        row
    }

    /// Returns whether any object has a reason for its state.
    fn has_reasons(&self) -> bool {
        self.all.iter().any(|one| !why(one).is_empty())
    }

    /// One name on each line, as input for commands.
    pub(super) fn names(&self) -> String {
        self.all.iter().map(|one| format!("{}\n", one.object.title())).collect()
    }

    /// The objects, for programs.
    pub(super) fn json(&self) -> Value {
        let one = |one: &Forecast<'_>| {
            json!({
                "namespace": one.object.namespace(), "name": one.object.name(), "uid": one.object.uid(),
                "role": one.object.role(), "wave": one.wave, "target": self.target_of(one),
                "version": one.object.version(), "parts": self.parts_json(one), "state": one.object_state.word(),
                "why": one.object_state.why(), "unhealthy": one.object.unhealthy(),
            })
        };
        self.all.iter().map(one).collect()
    }

    /// The versions of each part, one cell each.
    pub(super) fn parts_of(&self, one: &Forecast<'_>) -> impl Iterator<Item = String> {
        one.parts.iter().map(|versions| match versions.as_deref() {
            Ok([]) => NONE.to_owned(),
            Ok(versions) => versions.join(", "),
            Err(_) => UNKNOWN.to_owned(),
        })
    }

    fn parts_json(&self, one: &Forecast<'_>) -> Value {
        let part = |(part, versions): (&str, &Result<Vec<String>, String>)| {
            let version_text = match versions {
                Ok(versions) => json!({"versions": versions}),
                Err(why) => json!({"versions": null, "why": why}),
            };
            (part.to_owned(), version_text)
        };
        Value::Object(self.rollout.parts().zip(&one.parts).map(part).collect::<Map<_, _>>())
    }

    /// The target of an object. `None` for objects outside of the rollout.
    fn target_of(&self, one: &Forecast<'_>) -> Option<&'a str> {
        self.target.filter(|_| !matches!(one.object_state, ObjectState::Outside | ObjectState::Deleted))
    }

    fn has_role(&self, columns: ObjectColumns) -> bool {
        self.rollout.knows_roles() && columns == ObjectColumns::All
    }

    /// Returns whether the version label adds information to the parts.
    pub(super) fn has_label(&self) -> bool {
        !self.rollout.has_workflows() || self.rollout.parts().next().is_none()
    }
}

/// Returns whether something prevents the move of an object.
pub(super) fn is_stopped(one: &Forecast<'_>) -> bool {
    !matches!(one.object_state, ObjectState::Old | ObjectState::New | ObjectState::Deleted)
}

/// The reason for the state of an object, or its health problem.
pub(super) fn why(one: &Forecast<'_>) -> String {
    match (one.object_state.why(), one.object.unhealthy()) {
        ("", Some(why)) => format!("unhealthy: {why}"),
        (why, _) => why.to_owned(),
    }
}

/// The cell of an absent value.
pub(super) const NONE: &str = "-";
/// The cell of an unknown value.
const UNKNOWN: &str = "?";

#[cfg(test)]
mod tests {
    use pointsman_core::definition::Kind;
    use pointsman_rollout::{ClockReading, FleetObject, PlanInput, forecast, read_rollout};

    use super::*;

    /// Two masters, one of them updated, and two workers, one of them with an unknown version.
    fn hosts() -> [Value; 4] {
        let image = |version: &str| json!({"image": format!("kube-apiserver:{version}"), "version": version});
        let host = |name: &str, personality: &str, control_plane: Value, kubelet: Value| {
            let labels = json!({"personality": personality, "host": name});
            json!({
                "metadata": {"namespace": "site", "name": name, "uid": format!("u-{name}"), "labels": labels},
                "spec": {"personality": personality},
                "status": {
                    "controlPlane": control_plane, "kubelet": kubelet, "conditions": [{"type": "Ready", "status": "True"}],
                },
            })
        };
        let old = || json!("v1.16.4");
        [
            host("controller-0", "controller", image("v1.16.4"), old()),
            host("controller-1", "controller", image("v1.17.1"), old()),
            host("compute-0", "worker", Value::Null, old()),
            host("compute-1", "worker", Value::Null, Value::Null),
        ]
    }

    fn version_text(check: impl FnOnce(&ObjectList<'_>)) {
        let definition = include_str!("../../../../../tests/data/hosts/hosts.yaml");
        let kind = Kind::from_crd(definition, include_str!("../../../../../tests/data/hosts/hosts.crd.yaml")).unwrap();
        let rollout = read_rollout("r", include_str!("../../../../../tests/data/hosts/rollout.yaml"), &kind).unwrap();
        let fleet: Vec<FleetObject> = hosts().iter().map(|host| FleetObject::of(host, &rollout).unwrap()).collect();
        let status = RolloutStatus::default();
        let now = ClockReading { wall: 1_795_000_000, steady: std::time::Duration::ZERO };
        let all = forecast(&rollout, &status, &fleet, PlanInput { consistent: true, ..PlanInput::default() }, now);
        check(&ObjectList::new(&rollout, &status, &all));
    }

    #[test]
    fn host_table_has_part_versions() {
        version_text(|objects| {
            let table = objects.table(ObjectColumns::Few);
            assert_eq!(
                table,
                "NAMESPACE   NAME           WAVE            CONTROL-PLANE   KUBELET   STATE\n\
                 site        controller-0   first-master    v1.16.4         v1.16.4   Pending\n\
                 site        controller-1   second-master   v1.17.1         v1.16.4   Pending\n\
                 site        compute-0      workers         -               v1.16.4   Pending\n\
                 site        compute-1      workers         -               ?         Pending\n"
            );
            assert!(table.lines().all(|line| line.len() <= 80), "{table}");
            let wide = objects.table(ObjectColumns::All);
            assert!(
                wide.starts_with("NAMESPACE   NAME           ROLE         WAVE            TARGET    CONTROL-PLANE")
            );
            assert!(wide.contains("   compute-0      worker       workers         v1.17.1   -               v1.16.4"));
            assert_eq!(objects.names(), "site/controller-0\nsite/controller-1\nsite/compute-0\nsite/compute-1\n");
        });
    }

    #[test]
    fn json_separates_absent_from_unknown() {
        version_text(|objects| {
            let json = objects.json();
            assert_eq!(
                (&json[0]["role"], &json[0]["target"], &json[0]["version"]),
                (&json!("controller"), &json!("v1.17.1"), &Value::Null)
            );
            let one = |version: &str| json!({"versions": [version]});
            assert_eq!(json[1]["parts"], json!({"control-plane": one("v1.17.1"), "kubelet": one("v1.16.4")}));
            let unknown = json!({"versions": null, "why": "status.kubelet is not set"});
            assert_eq!(json[3]["parts"], json!({"control-plane": {"versions": []}, "kubelet": unknown}));
        });
    }
}
