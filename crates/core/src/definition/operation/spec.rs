//! All operations, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::compiler::{Branching, Compile, Compiler, Nesting};
use super::pattern::{MatchedPlace, Pattern};
use super::place_spec::PlaceSpec;
use super::{
    blank::BlankSpec, clamp::ClampSpec, compute::ComputeSpec, each::EachSpec, mapping::Operation, measure::MeasureSpec,
    move_into_map::MoveIntoMapSpec, object_move::MoveSpec, retype::retyped, single_version::FilledSpec,
    single_version::OneSidedSpec, split::SplitSpec, values::ValuesSpec, when::WhenSpec, wrap::wrapped,
};
use crate::definition::side::Side;
use crate::definition::yaml::Spanned;

/// A scalar with another type.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "takes a path, quoted if YAML reads the path as a number or a boolean (n, y), {from: PATH, to: PATH}, or \
                 one of these with `as` for durations: {field: PATH, as: seconds}",
    rename = "Type"
)]
pub(crate) enum TypeSpec {
    /// The same value in another type.
    Scalar(PlaceSpec),
    /// A duration.
    Measure(MeasureSpec),
}

/// One change between two versions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename = "Operation")]
pub(crate) enum OperationSpec {
    /// Only the newer version has the field.
    Add(OneSidedSpec),
    /// A string, number or boolean of the older version that means "no value" is absent in the newer version.
    Blank(BlankSpec),
    /// A number of the older version outside of a bound maps to that bound in the newer version.
    Clamp(ClampSpec),
    /// The fields of each version result from expressions over the fields of the other version.
    Compute(ComputeSpec),
    /// Only the older version has the field.
    Drop(OneSidedSpec),
    /// Operations on each item of a list, or each value of a map.
    Each(EachSpec<Self>),
    /// Only one version requires the field: sets the value for clients if the field was never set.
    Fill(FilledSpec),
    /// The field has another path.
    Move(MoveSpec<Self>),
    /// A field of the older version is an entry of a map in both versions.
    MoveIntoMap(MoveIntoMapSpec),
    /// The field has another name (same as `move`).
    Rename(MoveSpec<Self>),
    /// One string of the older version is several fields of the newer one, such as `host:port`.
    Split(SplitSpec),
    /// A scalar has another type: string on one side, number or boolean on the other.
    Type(TypeSpec),
    /// The values have other names.
    Values(ValuesSpec),
    /// Operations that run only if a condition on a field of the older version or on a fact holds.
    When(WhenSpec<Self>),
    /// A single value of the older version is a list with one element in the newer one.
    Wrap(PlaceSpec),
}

impl Compile for OperationSpec {
    fn compile(&self, more: &[&Self], compiler: &mut Compiler<'_>) -> Option<Operation> {
        match self {
            Self::Add(field) => field.compile("add", Side::Newer, compiler),
            Self::Blank(blank) => blank.compile(compiler),
            Self::Clamp(clamp) => clamp.compile(compiler),
            Self::Compute(compute) => compute.compile(compiler),
            Self::Drop(field) => field.compile("drop", Side::Older, compiler),
            Self::Each(each) => {
                let more = more.iter().filter_map(|more| more.items());
                each.compile(more, compiler)
            }
            Self::Fill(filled) => filled.compile(compiler),
            Self::Move(pair) => pair.compile("move", compiler),
            Self::MoveIntoMap(moved) => moved.compile(compiler),
            Self::Rename(pair) => pair.compile("rename", compiler),
            Self::Split(split) => split.compile(compiler),
            Self::Type(TypeSpec::Scalar(place)) => retyped(place, compiler),
            Self::Type(TypeSpec::Measure(measure)) => measure.compile(compiler),
            Self::Values(values) => values.compile(compiler),
            // The compiler handles the nested operations one by one.
            Self::When(_) => None,
            Self::Wrap(place) => wrapped(place, compiler),
        }
    }

    fn continues(&self, other: &Self) -> bool {
        matches!((self.items(), other.items()), (Some(one), Some(two)) if one.is_on(two))
    }

    fn pattern(&self) -> Option<(Pattern<'_>, Option<Side>)> {
        let (path, only) = self.place()?;
        Some((Pattern::read(path)?, only))
    }

    fn at_place(spec: &Spanned<Self>, place: &MatchedPlace) -> Spanned<Self> {
        let here = |operation| Spanned { value: operation, line: spec.line };
        let innermost = here(spec.value.at(place.field.to_string()));
        place.lists.iter().rev().fold(innermost, |inside, list| here(Self::Each(EachSpec::around(list, inside))))
    }

    fn nesting(&self) -> Option<&dyn Nesting<Self>> {
        match self {
            Self::Move(moved) | Self::Rename(moved) => moved.nesting(),
            _ => None,
        }
    }

    fn when(&self) -> Option<&dyn Branching<Self>> {
        match self {
            Self::When(when) => Some(when),
            _ => None,
        }
    }
}

impl OperationSpec {
    /// The path of an operation on one field or list, and the side if only one version has the field.
    fn place(&self) -> Option<(&str, Option<Side>)> {
        match self {
            Self::Add(field) => Some((field.path(), Some(Side::Newer))),
            Self::Drop(field) => Some((field.path(), Some(Side::Older))),
            Self::Blank(blank) => Some((blank.path(), None)),
            Self::Fill(filled) => Some((filled.path(), None)),
            Self::Clamp(clamp) => Some((clamp.path()?, None)),
            Self::Each(each) => Some((each.path()?, None)),
            Self::Type(TypeSpec::Measure(measure)) => Some((measure.path()?, None)),
            Self::Type(TypeSpec::Scalar(place)) | Self::Wrap(place) => Some((place.path()?, None)),
            Self::Values(values) => Some((values.path()?, None)),
            Self::Compute(_)
            | Self::Move(_)
            | Self::MoveIntoMap(_)
            | Self::Rename(_)
            | Self::Split(_)
            | Self::When(_) => None,
        }
    }

    /// The same operation on another field or list.
    fn at(&self, path: String) -> Self {
        match self {
            Self::Add(field) => Self::Add(field.at(path)),
            Self::Drop(field) => Self::Drop(field.at(path)),
            Self::Blank(blank) => Self::Blank(blank.at(path)),
            Self::Fill(filled) => Self::Fill(filled.at(path)),
            Self::Clamp(clamp) => Self::Clamp(clamp.at(path)),
            Self::Each(each) => Self::Each(each.at(path)),
            Self::Type(TypeSpec::Measure(measure)) => Self::Type(TypeSpec::Measure(measure.at(path))),
            Self::Type(TypeSpec::Scalar(_)) => Self::Type(TypeSpec::Scalar(PlaceSpec::Path(path))),
            Self::Wrap(_) => Self::Wrap(PlaceSpec::Path(path)),
            Self::Values(values) => Self::Values(values.at(path)),
            other => other.clone(),
        }
    }

    fn items(&self) -> Option<&EachSpec<Self>> {
        match self {
            Self::Each(each) => Some(each),
            _ => None,
        }
    }
}
