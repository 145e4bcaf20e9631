//! The text of an existing definition, and the lines where its lists end.

use serde::Deserialize;
use serde_json::Value;

use super::line_index::LineIndex;
use super::step_outline::{EntryPlace, StepOutline};
use crate::definition::Sides;
use crate::definition::yaml::{Spanned, parse};

/// The text of an existing definition. New entries are inserted at the end of its lists.
#[derive(Clone, Debug)]
pub(super) struct ExistingText {
    lines: Vec<String>,
    pub(super) steps: Vec<StepLines>,
    /// The column of the dashes of the steps, from 0.
    column: usize,
    /// The lines end with a carriage return and a line feed.
    has_returns: bool,
}

/// A step of an existing definition.
#[derive(Clone, Debug)]
pub(super) struct StepLines {
    pub(super) versions: Sides<String>,
    /// The number of lines before the end of the step.
    end: usize,
    operations: ListEnd,
    accept: ListEnd,
}

/// The end of a list in a step.
#[derive(Clone, Debug)]
struct ListEnd {
    /// The number of lines before new entries.
    lines_before: usize,
    /// The column of the dashes, from 0.
    column: usize,
    form: Form,
}

/// How an existing list is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Absent,
    Brackets,
    Block,
}

/// An empty list.
const BRACKETS: &str = "[]";

/// Why new entries cannot be inserted into a definition.
#[derive(Clone, Debug)]
pub(super) enum UnsupportedText {
    /// The definition cannot be read.
    Invalid,
    /// The definition has no steps.
    NoSteps,
    /// A list is not written as a block: its line, from 1, and its key.
    Layout(u64, &'static str),
}

#[derive(Deserialize)]
struct Outlined {
    #[serde(default)]
    steps: Vec<Spanned<Versions>>,
}

#[derive(Deserialize)]
struct Versions {
    from: Option<Value>,
    to: Option<Value>,
}

impl ExistingText {
    /// Finds the lists of a definition.
    ///
    /// # Errors
    /// The definition cannot be read, has no steps, or has a list that is not written as a block.
    pub(super) fn read(text: &str) -> Result<Self, UnsupportedText> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let outlined: Outlined = parse(text).and_then(|node| node.read()).map_err(|_| UnsupportedText::Invalid)?;
        let mut steps = Vec::new();
        let mut column = 0;
        for step in &outlined.steps {
            let name = |name: &Option<Value>| name.as_ref().and_then(Value::as_str).map(str::to_owned);
            let versions = name(&step.value.from).zip(name(&step.value.to)).ok_or(UnsupportedText::Invalid)?;
            let layout = UnsupportedText::Layout(step.line, "steps");
            let first = usize::try_from(step.line).ok().and_then(|line| line.checked_sub(1));
            let (first, keys) = first.and_then(|first| Some((first, step_keys(&lines, first)?))).ok_or(layout)?;
            column = keys.dash;
            let end = block_end(&lines, first, |indent, _| indent >= keys.column);
            let list = |key| list_end(&lines, first..end, keys.column, key);
            let (mut operations, accept) = (list("operations")?, list("accept")?);
            if operations.form == Form::Absent {
                operations.lines_before = line_of_key(&lines, &(first..end), keys.column, "accept")
                    .filter(|at| *at > first)
                    .map_or(end, |at| before_comments(&lines, at));
            }
            steps.push(StepLines { versions: Sides { older: versions.0, newer: versions.1 }, end, operations, accept });
        }
        let has_returns = text.lines().next().is_some_and(|line| text[line.len()..].starts_with("\r\n"));
        match steps.is_empty() {
            true => Err(UnsupportedText::NoSteps),
            false => Ok(Self { lines, steps, column, has_returns }),
        }
    }

    /// Writes the definition with new entries in its steps. The steps after its own are new, too.
    pub(super) fn write(&self, steps: &[StepOutline]) -> LineIndex<EntryPlace> {
        let mut text = LineIndex::default();
        let steps_end = self.steps.last().map_or(0, |step| step.end);
        for (line, content) in self.lines.iter().map(Some).chain([None]).enumerate() {
            for (index, (lines, step)) in self.steps.iter().zip(steps).enumerate() {
                if line == lines.operations.lines_before && !step.entries.is_empty() {
                    lines.operations.begin("operations", &mut text);
                    step.write_operations(index, 0, &mut text);
                }
                if line == lines.accept.lines_before && !step.accept.is_empty() {
                    lines.accept.begin("accept", &mut text);
                    step.write_acceptances(index, 0, &mut text);
                }
            }
            if line == steps_end {
                text.margin = self.column;
                let new = steps.iter().enumerate().skip(self.steps.len());
                new.for_each(|(index, step)| step.write(index, &mut text));
            }
            text.margin = 0;
            let is_filled = self.steps.iter().zip(steps).any(|(lines, step)| {
                let lists = [(&lines.operations, step.entries.is_empty()), (&lines.accept, step.accept.is_empty())];
                lists
                    .iter()
                    .any(|(end, is_empty)| end.form == Form::Brackets && end.lines_before == line + 1 && !is_empty)
            });
            if let Some(content) = content {
                let block = is_filled.then(|| content.replacen(BRACKETS, "", 1));
                text.push(0, block.as_deref().map_or(content, str::trim_end), None);
            }
        }
        if self.has_returns {
            text.text = text.text.replace('\n', "\r\n");
        }
        text
    }
}

impl ListEnd {
    fn begin(&self, key: &str, text: &mut LineIndex<EntryPlace>) {
        text.margin = self.column;
        if self.form == Form::Absent {
            text.push(0, &format!("{key}:"), None);
        }
    }
}

/// The columns of a step: its dash and its keys.
struct StepKeys {
    dash: usize,
    column: usize,
}

/// Finds the columns of a step that begins in a line with a dash. `None` in another style.
fn step_keys(lines: &[String], first: usize) -> Option<StepKeys> {
    let text = lines.get(first)?;
    let dash = indent(text);
    let rest = text.get(dash..)?.strip_prefix('-')?;
    let column = dash + 1 + indent(rest);
    rest.trim_start().starts_with(|first: char| first.is_ascii_alphabetic()).then_some(StepKeys { dash, column })
}

/// Finds the end of a list of a step.
fn list_end(
    lines: &[String],
    step: std::ops::Range<usize>,
    column: usize,
    key: &'static str,
) -> Result<ListEnd, UnsupportedText> {
    let Some(at) = line_of_key(lines, &step, column, key) else {
        return Ok(ListEnd { lines_before: step.end, column, form: Form::Absent });
    };
    let text = lines.get(at).and_then(|text| text.get(column + key.len() + 1..)).unwrap_or_default();
    let value = text.split_once(" #").map_or(text, |(value, _)| value).trim();
    if value == BRACKETS {
        return Ok(ListEnd { lines_before: at + 1, column, form: Form::Brackets });
    }
    let item = (at + 1..step.end).find(|line| lines.get(*line).is_some_and(|text| is_content(text)));
    let item = item.and_then(|line| Some((line, lines.get(line)?)));
    match item {
        Some((line, text)) if value.is_empty() && text.trim_start().starts_with('-') => {
            let column = indent(text);
            let end = block_end(lines, line, |indent, is_item| indent > column || indent == column && is_item);
            Ok(ListEnd { lines_before: end, column, form: Form::Block })
        }
        _ => Err(UnsupportedText::Layout(at as u64 + 1, key)),
    }
}

/// The line of a key of a step, from 0.
fn line_of_key(lines: &[String], step: &std::ops::Range<usize>, column: usize, key: &str) -> Option<usize> {
    let is_key = |line: &usize| {
        let text = lines.get(*line).and_then(|text| text.get(column..)).unwrap_or_default();
        let is_at_column = *line == step.start || lines.get(*line).is_some_and(|text| indent(text) == column);
        is_at_column && text.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
    };
    step.clone().find(is_key)
}

/// The number of lines before a line and the comments above it.
fn before_comments(lines: &[String], line: usize) -> usize {
    let comments = lines.iter().take(line).rev().take_while(|line| line.trim_start().starts_with('#')).count();
    line - comments
}

/// The number of lines before the end of a block that begins in a line. `continues` is called with the indentation of
/// each further line, and whether it begins with a dash.
fn block_end(lines: &[String], first: usize, continues: impl Fn(usize, bool) -> bool) -> usize {
    let further = lines.iter().enumerate().skip(first + 1).filter(|(_, line)| is_content(line));
    let inside = further.take_while(|(_, line)| continues(indent(line), line.trim_start().starts_with('-')));
    inside.last().map_or(first, |(line, _)| line) + 1
}

fn is_content(line: &str) -> bool {
    let text = line.trim_start();
    !text.is_empty() && !text.starts_with('#')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
