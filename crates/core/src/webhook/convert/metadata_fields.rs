//! Annotations and labels that operations convert. During a conversion, they are in `metadata` of the converted object,
//! so that operations find them like other fields.

use super::annotations::Annotations;
use super::error::ConvertError;
use crate::definition::{Kind, MetadataField, MetadataMap};
use crate::json::{Json, Members};

/// Returns whether operations convert annotations or labels.
pub(super) fn has_any(kind: &Kind) -> bool {
    kind.steps.iter().any(|step| !step.metadata_fields.is_empty())
}

fn of(kind: &Kind) -> impl Iterator<Item = &MetadataField> {
    kind.steps.iter().flat_map(|step| &step.metadata_fields)
}

/// Copies the annotations and labels into the object.
pub(super) fn copy_in<'a>(kind: &Kind, metadata: &Members<'a>, annotations: &Annotations<'a>, root: &mut Json<'a>) {
    let mut shown = [MetadataMap::Annotations, MetadataMap::Labels].map(|map| (map, Members::default()));
    let labels = metadata.get(MetadataMap::Labels.name());
    for MetadataField { map, key } in of(kind) {
        let value = match map {
            MetadataMap::Annotations => annotations.value(key),
            MetadataMap::Labels => labels.and_then(|labels| labels.get(key)).map(Json::into_owned),
        };
        for (_, members) in shown.iter_mut().filter(|(shown, _)| shown == map) {
            if let Some(value) = value.clone().filter(|_| members.get(key).is_none()) {
                members.set(key, value);
            }
        }
    }
    let shown = shown.into_iter().map(|(map, members)| (map.name().into(), Json::Object(members)));
    if let Ok(Some(root)) = root.open() {
        root.set(METADATA, Json::Object(shown.collect()));
    }
}

/// Returns whether the object has annotations that operations convert.
pub(super) fn has_annotations(root: &Json<'_>) -> bool {
    let shown = root.get_path(&[METADATA, MetadataMap::Annotations.name()]);
    shown.is_some_and(|annotations| !annotations.members().is_empty())
}

/// Takes the annotations and labels out of the object, and writes them to its metadata.
pub(super) fn write_back<'a>(
    kind: &'a Kind,
    metadata: &mut Members<'a>,
    annotations: &mut Annotations<'a>,
    root: &mut Json<'a>,
) -> Result<(), ConvertError> {
    let root = root.open().ok().flatten();
    let Some(shown) = root.and_then(|root| root.remove(METADATA)) else { return Ok(()) };
    let mut labels = metadata.remove(MetadataMap::Labels.name());
    for MetadataField { map, key } in of(kind) {
        let value = shown.get_path(&[map.name(), key]).map(Json::into_owned);
        match map {
            MetadataMap::Annotations => annotations.set_converted(key, value),
            MetadataMap::Labels => set(&mut labels, key, value)?,
        }
    }
    if let Some(labels) = labels {
        metadata.add(MetadataMap::Labels.name(), labels);
    }
    Ok(())
}

/// Sets or removes a label. With the last label, the map is removed.
fn set<'a>(labels: &mut Option<Json<'a>>, key: &str, value: Option<Json<'a>>) -> Result<(), ConvertError> {
    let twice = |duplicate| ConvertError::named_twice("metadata.labels", duplicate);
    match (labels.as_mut().filter(|labels| !labels.is_null()), value) {
        (None, None) => {}
        (None, Some(value)) => {
            let mut members = Members::default();
            members.set(key, value);
            *labels = Some(Json::Object(members));
        }
        (Some(there), value) => {
            let Some(members) = there.open().map_err(twice)? else { return Ok(()) };
            match value {
                Some(value) => members.set(key, value),
                None if members.remove(key).is_some() && members.is_empty() => *labels = None,
                None => {}
            }
        }
    }
    Ok(())
}

/// The member of the object that has the annotations and labels.
const METADATA: &str = "metadata";
