//! Why one version may not follow another.

use std::fmt;

use semver::Version;

/// Why one version may not follow another.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    pub(crate) running: Version,
    pub(crate) wanted: Version,
    /// The next version on the shortest path, if known.
    pub(crate) next: Option<Version>,
}

impl Refused {
    /// The refusal, with versions in this spelling.
    pub fn refusal_message(&self, spell: impl Fn(&Version) -> String) -> String {
        let Self { running, wanted, next } = self;
        let what = if wanted.cmp_precedence(running).is_lt() { "downgrade" } else { "upgrade" };
        let way = match next {
            Some(next) => format!("; first move to {}", spell(next)),
            None => ", and no path over other versions is known".to_owned(),
        };
        format!("no {what} from {} to {} is allowed{way}", spell(running), spell(wanted))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.refusal_message(Version::to_string))
    }
}
