//! Reads the flags of a server from its Pod.

use clap::{Args, Command, FromArgMatches};
use pointsman_core::webhook::Settings;

use crate::commands::admission::AdmissionArgs;

/// The admission settings of a server. `None` if the flags are not those of a server, or invalid.
pub(super) fn settings(args: &[String]) -> Option<Settings> {
    let mut flags = args.iter().skip_while(|arg| *arg != "serve");
    let command = AdmissionArgs::augment_args(Command::new("serve").no_binary_name(true));
    let takes = |flag: &str| {
        let named = command.get_arguments().find(|known| known.get_long() == flag.strip_prefix("--"));
        named.map(|known| known.get_action().takes_values())
    };
    flags.next()?;
    let mut ours: Vec<&str> = Vec::new();
    while let Some(flag) = flags.next() {
        let (name, has_value) = flag.split_once('=').map_or((flag.as_str(), false), |(name, _)| (name, true));
        let Some(takes) = takes(name) else { continue };
        ours.push(flag);
        if takes && !has_value {
            ours.extend(flags.next().map(String::as_str));
        }
    }
    let matches = command.try_get_matches_from(ours).ok()?;
    Some(AdmissionArgs::from_arg_matches(&matches).ok()?.settings())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_parse_like_the_server() {
        let read = |args: &[&str]| settings(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        let all = [
            "/pointsman",
            "serve",
            "--listen=[::]:8443",
            "--controller-version",
            "2.17.0",
            "--kinds",
            "/k",
            "--served-versions=2.16.0,2.17.0",
            "--default-version",
            "--log-level=info",
        ];
        let seen = read(&all).unwrap();
        assert_eq!(seen.controller.as_ref().map(|version| version.as_str()), Some("2.17.0"));
        assert!(seen.default && seen.served.len() == 2 && seen.shadowed.is_empty());
        assert!(read(&["serve"]).is_some_and(|seen| seen.controller.is_none()));
        assert!(read(&["sidecar", "--controller-version=1"]).is_none());
        assert!(read(&["serve", "--default-version"]).is_none(), "the server would not start either");
    }
}
