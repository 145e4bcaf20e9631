//! `pointsman webhooks policy`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::registration::promoting;

use super::documents::{Guard, print};
use crate::commands::format::Format;
use crate::commands::kind_names::find;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::usage::Usage;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct PolicyArgs {
    /// Kind of the rollouts, by name, kind or plural.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Action of the policy for an invalid write.
    #[arg(long, value_enum, default_value_t = Guard::Deny)]
    guard: Guard,
    /// Output format.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Prints the policy and its binding.
pub(super) fn run(args: &PolicyArgs) -> anyhow::Result<ExitCode> {
    let Some(mode) = args.guard.mode() else {
        return Err(Usage("--guard none: there is no policy to print".to_owned()).into());
    };
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let Some(documents) = promoting(kind, mode) else {
        anyhow::bail!("the definition of {} has no rollout status: add `rolloutStatus`", kind.name());
    };
    print(&documents, args.output)
}

const EXAMPLES: &str = "\
While a condition shows a promotion in progress, the API server refuses a status
that requests another rollout. It refuses controllers as well, and does so while
no pointsman server runs. After the promotion is complete, it accepts any status.

Examples:
  Only warn first, then refuse:
    pointsman webhooks policy --kind materialize --guard warn

    pointsman webhooks policy --kind materialize | kubectl apply -f -

Exit codes:
  0  printed
  1  the kind has no such policy
  2  the flags are wrong";
