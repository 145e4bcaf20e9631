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
        return Err(Usage("--guard none: then there is nothing to print".to_owned()).into());
    };
    let all = args.kinds.load()?;
    let kind = &find(&all, &args.kind)?.kind;
    let Some(documents) = promoting(kind, mode) else {
        anyhow::bail!(
            "the definition of {} does not say how a status speaks of rollouts: give it `status` under `rollout`",
            kind.name()
        );
    };
    print(&documents, args.output)
}

const EXAMPLES: &str = "\
While a condition says that a rollout is being promoted, the API server refuses
a status that requests another one, also from a controller, and also while no
server of ours is up. Once the status says that it is completed, anything goes.

Examples:
  Find out who would be refused, then refuse them:
    pointsman webhooks policy --kind materialize --guard warn

    pointsman webhooks policy --kind materialize | kubectl apply -f -

Exit codes:
  0  printed
  1  there is nothing to print
  2  the flags are wrong";
