//! The three webhook endpoints.

/// The endpoint of a request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Endpoint {
    /// `POST /convert`: a `ConversionReview`.
    Convert,
    /// `POST /mutate`: an `AdmissionReview`, with a patch as the response.
    Mutate,
    /// `POST /validate`: an `AdmissionReview`, with a verdict as the response.
    Validate,
}
