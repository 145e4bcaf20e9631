//! The `rollout` command.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_rollout::ROLLOUT_CRD;

use super::change::{ApproveArgs, ChangeArgs, CleanArgs};
use super::lease::LeaseArgs;
use super::plan::PlanRolloutArgs;
use super::policies::PoliciesArgs;
use super::prioritize::PrioritizeArgs;
use super::rights::RightsArgs;
use super::run::RunArgs;
use super::start::StartArgs;
use super::status::{ListRolloutsArgs, ObjectsArgs, RolloutStatusArgs};
use super::versions::VersionsArgs;
use super::{change, examples, lease, plan, policies, prioritize, rights, run as running, start, status, versions};
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RolloutArgs {
    #[command(subcommand)]
    command: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    /// Abort a rollout: finish the objects in flight, and move no others.
    #[command(after_help = examples::ABORT)]
    Abort(ChangeArgs),
    /// Approve a waiting wave, before it starts or after it ends.
    #[command(after_help = examples::APPROVE)]
    Approve(ApproveArgs),
    /// Undo a rollout: revert every object that it has moved.
    #[command(after_help = examples::UNDO)]
    Undo(ChangeArgs),
    /// Remove the annotations of a finished rollout from objects.
    #[command(after_help = examples::CLEAN)]
    Clean(CleanArgs),
    /// Print the CRD of StagedRollouts, and the policy that protects them while in progress.
    #[command(after_help = examples::CRD)]
    Crd,
    /// Print the name of the Lease of a controller version, for its deployment.
    #[command(after_help = examples::LEASE)]
    Lease(LeaseArgs),
    /// List rollouts.
    #[command(after_help = examples::LIST)]
    List(ListRolloutsArgs),
    /// Move an object before the others of its wave.
    #[command(after_help = examples::PRIORITIZE)]
    Prioritize(PrioritizeArgs),
    /// Show the state of each object of a rollout.
    #[command(after_help = examples::OBJECTS)]
    Objects(ObjectsArgs),
    /// Pause a rollout. A running `rollout run` continues to watch objects in flight.
    #[command(after_help = examples::PAUSE)]
    Pause(ChangeArgs),
    /// Report the effects of a rollout, object by object. Read-only.
    #[command(after_help = examples::PLAN)]
    Plan(PlanRolloutArgs),
    /// Print the policy that blocks writes to frozen resources. `rollout start` applies it for you.
    #[command(after_help = examples::POLICIES)]
    Policies(PoliciesArgs),
    /// Resume a rollout that was paused, or that failed.
    #[command(after_help = examples::RESUME)]
    Resume(ChangeArgs),
    /// Print the ClusterRole with exactly the rights that a rollout needs.
    #[command(after_help = examples::RIGHTS)]
    Rights(RightsArgs),
    /// Run one rollout, or all rollouts of a cluster: move objects in waves.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Show a rollout.
    #[command(after_help = examples::STATUS)]
    Status(RolloutStatusArgs),
    /// Check and apply a StagedRollout and its policies. `rollout run` moves the objects.
    #[command(after_help = examples::START)]
    Start(StartArgs),
    /// Show the running and desired versions of a kind, and the versions that may follow.
    #[command(after_help = examples::VERSIONS)]
    Versions(VersionsArgs),
}

pub(crate) fn run(args: &RolloutArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        RolloutCommand::Abort(args) => change::abort(args),
        RolloutCommand::Approve(args) => change::approve(args),
        RolloutCommand::Undo(args) => change::undo(args),
        RolloutCommand::Clean(args) => change::clean(args),
        RolloutCommand::Crd => {
            output::data(ROLLOUT_CRD)?;
            Ok(ExitCode::SUCCESS)
        }
        RolloutCommand::Lease(args) => lease::lease(args),
        RolloutCommand::List(args) => status::list(args),
        RolloutCommand::Prioritize(args) => prioritize::prioritize(args),
        RolloutCommand::Objects(args) => status::objects(args),
        RolloutCommand::Pause(args) => change::pause(args),
        RolloutCommand::Plan(args) => plan::plan(args),
        RolloutCommand::Policies(args) => policies::policies(args),
        RolloutCommand::Resume(args) => change::resume(args),
        RolloutCommand::Rights(args) => rights::rights(args),
        RolloutCommand::Run(args) => running::run(args),
        RolloutCommand::Status(args) => status::status(args),
        RolloutCommand::Start(args) => start::start(args),
        RolloutCommand::Versions(args) => versions::versions(args),
    }
}

const EXAMPLES: &str = "\
A StagedRollout moves objects from one controller version to another: it lists the
waves, and how many objects move at once. The definition of the kind describes a
healthy object. All state is in the cluster, in the StagedRollout and on the
objects: you can stop `run` at any time, and the next run continues. See
docs/rollouts.md.

Examples:
  Once, in each cluster:
    pointsman rollout crd | kubectl apply --server-side -f -

  Show the steps of a rollout, with the decision of every webhook:
    pointsman rollout plan -f rollout.yaml --server

  Start a rollout, and follow it:
    pointsman rollout start -f rollout.yaml
    pointsman rollout run eck-2-17

  Apply the policies that freeze fields, if you apply the StagedRollout yourself:
    pointsman rollout policies -f rollout.yaml | kubectl apply -f -

  Run all rollouts of a cluster, in a Deployment of one replica:
    pointsman rollout run --namespace pointsman-system

  During a rollout:
    pointsman rollout approve eck-2-17 canary
    pointsman rollout objects eck-2-17
    pointsman rollout prioritize eck-2-17 search/orders

  List the running versions, and the allowed target versions:
    pointsman rollout versions elasticsearch \\
      --kinds examples/kinds/elasticsearch

Exit codes:
  0  done; for run and plan: no action is needed
  1  an action is needed, or the API server did not respond
  2  the flags are wrong";
