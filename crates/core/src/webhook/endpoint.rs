//! Which of the three calls a request is.

/// Which of the three webhook calls a request is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Endpoint {
    /// `POST /convert`: a `ConversionReview`.
    Convert,
    /// `POST /mutate`: an `AdmissionReview` answered with a patch.
    Mutate,
    /// `POST /validate`: an `AdmissionReview` answered with a verdict.
    Validate,
}
