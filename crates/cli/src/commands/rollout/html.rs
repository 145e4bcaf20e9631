//! The plan of a rollout as an HTML page.

use std::collections::BTreeMap;

use pointsman_rollout::{Forecast, Rollout, RolloutStatus, gate_descriptions};

use super::object_table::{NONE, ObjectList, is_stopped, why};
use crate::commands::objects_page::{ObjectsPage, bar, escaped};
use crate::commands::verdict::Verdict;

/// The page: summary lines, waves with counts, and the objects, in the words of the table.
pub(super) fn page(
    rollout: &Rollout,
    forecasts: &[Forecast<'_>],
    verdict: &Verdict,
    cluster: &str,
    summary: &str,
) -> String {
    let from = rollout.from().map_or_else(|| "any version".to_owned(), str::to_owned);
    let title = format!("Plan of rollout {}: from {from} to {}", rollout.name(), rollout.to());
    let above = format!("<h2>The rollout</h2>\n{}{}", listed(summary), waves(rollout, forecasts));
    let objects = ObjectList::new(rollout, &RolloutStatus::default(), forecasts);
    let mut columns = vec!["Object"];
    columns.extend(rollout.knows_roles().then_some("Role"));
    columns.push("Wave");
    columns.extend(objects.has_label().then_some("Version"));
    columns.extend(rollout.parts());
    columns.extend(["State", "Why"]);
    // Objects that do not move come first.
    let (stopped, others): (Vec<_>, Vec<_>) = forecasts.iter().partition(|one| is_stopped(one));
    let rows = stopped.into_iter().chain(others).map(|one| row(&objects, rollout, one)).collect();
    let cluster = Some(cluster);
    ObjectsPage { title, verdict, cluster, above, columns: &columns, numbers: &[], rows, objects: forecasts.len() }
        .html()
}

/// Lines as a list. Indented lines are the steps of the line before, in order.
fn listed(lines: &str) -> String {
    let mut html = "<ul>\n".to_owned();
    let mut lines = lines.lines().peekable();
    while let Some(line) = lines.next() {
        let mut steps = String::new();
        while let Some(step) = lines.next_if(|next| next.starts_with("  ")) {
            let (name, does) = step.trim_start().split_once("   ").unwrap_or((step, ""));
            steps.push_str(&format!("<li><b>{}</b> {}</li>\n", escaped(name), escaped(does.trim_start())));
        }
        let steps = if steps.is_empty() { steps } else { format!("\n<ol>\n{steps}</ol>\n") };
        html.push_str(&format!("<li>{}{steps}</li>\n", escaped(line)));
    }
    html + "</ul>\n"
}

/// The number of objects in each wave, and their states.
fn waves(rollout: &Rollout, forecasts: &[Forecast<'_>]) -> String {
    let of = |wave: &str| forecasts.iter().filter(|one| one.wave == wave).collect::<Vec<_>>();
    let most = rollout.waves().map(|wave| of(wave).len()).max().unwrap_or_default();
    let gates = gate_descriptions(rollout);
    let rows = rollout.waves().map(|wave| {
        let objects = of(wave);
        let mut states: BTreeMap<&str, usize> = BTreeMap::new();
        objects.iter().for_each(|one| *states.entry(one.object_state.word()).or_default() += 1);
        let states: Vec<String> = states.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let waits = gates.iter().filter(|gate| gate.wave == wave);
        let waits: String = waits.map(|gate| format!("; {}: {}", gate.side.word(), gate.waits())).collect();
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td>{}</td><td>{}{}</td></tr>\n",
            escaped(wave),
            objects.len(),
            bar(objects.len(), most, 200),
            states.join(", ").to_lowercase(),
            escaped(&waits)
        )
    });
    let rows: String = rows.collect();
    format!("<h2>Waves</h2>\n<table class=\"totals\"><tbody>\n{rows}</tbody></table>\n")
}

fn row(objects: &ObjectList<'_>, rollout: &Rollout, one: &Forecast<'_>) -> String {
    let cell = |text: &str| format!("<td>{}</td>", escaped(text));
    let role = rollout.knows_roles().then(|| cell(one.object.role().unwrap_or(NONE)));
    let label = objects.has_label().then(|| cell(one.object.version().unwrap_or_default()));
    let parts = objects.parts_of(one).map(|versions| cell(&versions));
    let cells = role.into_iter().chain([cell(one.wave)]).chain(label).chain(parts);
    format!(
        "<tr{} data-state=\"{}\"><th scope=\"row\">{}</th>{}{}{}</tr>\n",
        if is_stopped(one) { " class=\"stop\"" } else { "" },
        one.object_state.word().replace(' ', "-"),
        escaped(&one.object.title()),
        cells.collect::<String>(),
        cell(one.object_state.word()),
        cell(&why(one))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_a_list_of_their_own() {
        let html = listed(
            "move 2\neach object, step by step:\n  stop     sets <a>\n  start   sets b\nthe path permits an undo\n",
        );
        let steps = "<ol>\n<li><b>stop</b> sets &lt;a&gt;</li>\n<li><b>start</b> sets b</li>\n</ol>\n";
        let expected = format!(
            "<ul>\n<li>move 2</li>\n<li>each object, step by step:\n{steps}</li>\n<li>the path permits an undo</li>\n</ul>\n"
        );
        assert_eq!(html, expected);
    }
}
