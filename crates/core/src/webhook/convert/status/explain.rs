//! Describes the changes of rollout requests and hashes in a conversion up, for people.

use crate::definition::{Place, StatusMapping};
use crate::json::Json;
use crate::webhook::convert::change::{Change, Trace};
use crate::webhook::convert::error::ConvertError;
use crate::webhook::convert::kept::Kept;
use crate::webhook::convert::tree;

/// The requests and hashes of an object before its conversion.
pub(crate) struct Traced<'s> {
    pairs: Vec<(Field<'s>, Field<'s>)>,
}

struct Field<'s> {
    place: &'s Place,
    value: Option<String>,
}

impl<'s> Traced<'s> {
    /// Reads an object of the older version.
    pub(crate) fn before(root: &mut Json<'_>, status: &'s StatusMapping) -> Result<Self, ConvertError> {
        let (requests, hashes) = (&status.requests, &status.hashes);
        let mut pairs = Vec::new();
        for (request, hash) in [(&requests.requested, &hashes.requested), (&requests.completed, &hashes.completed)] {
            let field = |root: &mut Json<'_>, place: &'s Place| read(root, place).map(|value| Field { place, value });
            pairs.push((field(root, request)?, field(root, hash)?));
        }
        Ok(Self { pairs })
    }

    /// Records the differences in the newer version.
    pub(crate) fn record_changes_after(
        self,
        root: &mut Json<'_>,
        to_keep: &Kept<'_>,
        trace: &mut Trace<'_>,
    ) -> Result<(), ConvertError> {
        let named = |field: &Field<'_>, value: &Option<String>| {
            let value = value.iter().map(|value| (field.place.id.clone(), value.clone()));
            value.collect::<Vec<_>>()
        };
        for (request, hash) in self.pairs {
            let now = read(root, hash.place)?;
            let mut before = named(&request, &request.value);
            let mut after = Vec::new();
            if now != hash.value {
                before.extend(named(&hash, &hash.value));
                after = named(&hash, &now);
            }
            let kept = to_keep.fields.has(&request.place.id);
            trace.record(|| {
                (!before.is_empty() || !after.is_empty()).then(|| Change {
                    operation: "rollout".to_owned(),
                    before,
                    after,
                    kept,
                    given_back: false,
                })
            });
        }
        Ok(())
    }
}

fn read(root: &mut Json<'_>, place: &Place) -> Result<Option<String>, ConvertError> {
    Ok(tree::get(root, "", &place.path)?.map(|value| value.to_text()))
}
