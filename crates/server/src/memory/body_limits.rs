//! Size limits of request bodies.

use pointsman_core::webhook::Endpoint;

/// The maximum sizes of request bodies, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BodyLimits {
    /// For `/mutate` and `/validate`.
    pub admission: u64,
    /// For `/convert`.
    pub convert: u64,
}

impl BodyLimits {
    /// One limit for conversions; admission keeps its default if smaller.
    #[must_use]
    pub fn up_to(convert: u64) -> Self {
        Self { admission: ADMISSION.min(convert), convert }
    }

    pub(crate) fn of(self, endpoint: Endpoint) -> u64 {
        match endpoint {
            Endpoint::Convert => self.convert,
            Endpoint::Mutate | Endpoint::Validate => self.admission,
        }
    }

    /// Both limited to `most`.
    pub(crate) fn within(self, most: u64) -> Self {
        Self { admission: self.admission.min(most), convert: self.convert.min(most) }
    }
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { admission: ADMISSION, convert: CONVERT }
    }
}

/// 8 MiB: an AdmissionReview contains an object and its old version. etcd accepts requests of 1.5 MiB, the API server
/// bodies of 3 MiB. Twice 3 MiB and less than 1 MiB for the rest is 7 (controller-runtime
/// pkg/webhook/admission/http.go, `maxRequestSize`), rounded up.
const ADMISSION: u64 = 8 << 20;

/// 64 MiB: a ConversionReview usually contains one object, and may contain a whole page of a list, 500 objects of 10 to
/// 100 KiB. Far above observed sizes, and a bound on the cost of one request.
const CONVERT: u64 = 64 << 20;
