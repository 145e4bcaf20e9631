//! How large request bodies may be.

use pointsman_core::webhook::Endpoint;

/// The largest request bodies, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BodyLimits {
    /// For `/mutate` and `/validate`.
    pub admission: u64,
    /// For `/convert`.
    pub convert: u64,
}

impl BodyLimits {
    /// One limit for conversions; admission keeps its default where that is smaller.
    #[must_use]
    pub fn up_to(convert: u64) -> Self {
        Self { admission: ADMISSION.min(convert), convert }
    }

    pub(super) fn of(self, endpoint: Endpoint) -> u64 {
        match endpoint {
            Endpoint::Convert => self.convert,
            Endpoint::Mutate | Endpoint::Validate => self.admission,
        }
    }

    /// The same, but none larger than `most`.
    pub(super) fn within(self, most: u64) -> Self {
        Self { admission: self.admission.min(most), convert: self.convert.min(most) }
    }
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { admission: ADMISSION, convert: CONVERT }
    }
}

/// 8 MiB: an AdmissionReview carries an object and its old self. etcd takes requests of 1.5 MiB, the API server bodies
/// of 3 MiB; twice 3 MiB and less than 1 MiB of everything else is 7 (controller-runtime
/// pkg/webhook/admission/http.go, `maxRequestSize`), rounded up.
const ADMISSION: u64 = 8 << 20;

/// 64 MiB: a ConversionReview is one object in practice but may be a whole page of a list, 500 objects of the usual
/// 10 to 100 KiB. Far above what was ever seen, and a bound on what one request can cost us.
const CONVERT: u64 = 64 << 20;
