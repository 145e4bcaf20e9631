//! Why one version may not follow another.

use std::fmt;

use semver::Version;

/// Why one version may not follow another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refused {
    pub(crate) running: Version,
    pub(crate) wanted: Version,
    /// The next version on the shortest way there, if a way is known.
    pub(crate) next: Option<Version>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { running, wanted, next } = self;
        let what = if wanted.cmp_precedence(running).is_lt() { "downgrade" } else { "upgrade" };
        write!(f, "no {what} from {running} to {wanted} is allowed")?;
        match next {
            Some(next) => write!(f, "; go to {next} first"),
            None => write!(f, ", and no way over other versions is known"),
        }
    }
}
