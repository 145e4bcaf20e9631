//! `pointsman webhooks stages`.

use std::process::ExitCode;

use clap::Args;
use pointsman_core::registration::staged_webhooks;

use super::addressed::ServerArgs;
use super::comments::WebhookTask;
use super::printed::print_asked;
use crate::commands::ca_file::AuthorityRemarks;
use crate::commands::format::Format;
use crate::commands::kinds_dir::{KindsArgs, KnownStages};
use crate::commands::usage::Usage;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct StagesArgs {
    /// Definition of stages, by its name, or the kind or plural that it is about.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// Form of the result.
    #[arg(short, long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    #[command(flatten)]
    kinds: KindsArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints the configuration.
pub(super) fn run(args: &StagesArgs, remarks: AuthorityRemarks) -> anyhow::Result<ExitCode> {
    let all = args.kinds.load_all()?.staged;
    let staged = &find(&all, &args.kind)?.staged;
    let client = args.server.client_of_stages(remarks)?;
    print_asked(&[staged_webhooks(staged, &client)], args.output, WebhookTask::OfStages)
}

fn find<'k>(all: &'k [KnownStages], name: &str) -> Result<&'k KnownStages, Usage> {
    all.iter().find(|known| known.staged.is_called(name)).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|known| known.staged.name()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Usage(format!("no definition of stages is called {name:?}; known are {known}. They come from --kinds DIR"))
    })
}

const EXAMPLES: &str = "\
Examples:
  A webhook for each stage of a definition:
    pointsman webhooks stages --kind deployments \\
      --kinds manifests/examples/gardener \\
      --service pointsman-system/pointsman:443 \\
      --cert-manager pointsman-system/pointsman

Exit codes:
  0 printed, 1 a file could not be read, 2 the flags are wrong.";
