//! The subcommands of `rollout`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::rollout::ROLLOUT_CRD;

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
    /// End a rollout: what is under way ends, and nothing more is moved.
    #[command(after_help = examples::ABORT)]
    Abort(ChangeArgs),
    /// Approve a waiting wave, before it starts or after it ends.
    #[command(after_help = examples::APPROVE)]
    Approve(ApproveArgs),
    /// Take every object back that a rollout has moved.
    #[command(after_help = examples::UNDO)]
    Undo(ChangeArgs),
    /// Take off the objects what a rollout that is over has left on them.
    #[command(after_help = examples::CLEAN)]
    Clean(CleanArgs),
    /// Print what a cluster has to know of StagedRollouts: their CRD, and the policy that keeps those that are under
    /// way.
    #[command(after_help = examples::CRD)]
    Crd,
    /// Print what the Lease of a controller version is called, for whoever starts the controller.
    #[command(after_help = examples::LEASE)]
    Lease(LeaseArgs),
    /// List rollouts.
    #[command(after_help = examples::LIST)]
    List(ListRolloutsArgs),
    /// Tell an object to go before the others of its wave.
    #[command(after_help = examples::PRIORITIZE)]
    Prioritize(PrioritizeArgs),
    /// Show how each object of a rollout stands.
    #[command(after_help = examples::OBJECTS)]
    Objects(ObjectsArgs),
    /// Move nothing more for now. Run keeps watching what is under way.
    #[command(after_help = examples::PAUSE)]
    Pause(ChangeArgs),
    /// Say what a rollout would do, object by object. Nothing is written.
    #[command(after_help = examples::PLAN)]
    Plan(PlanRolloutArgs),
    /// Print the policy that refuses what a rollout freezes, for whoever applies it without start.
    #[command(after_help = examples::POLICIES)]
    Policies(PoliciesArgs),
    /// Let a rollout go on after it was paused, or after something failed.
    #[command(after_help = examples::RESUME)]
    Resume(ChangeArgs),
    /// Print the ClusterRole that running a rollout takes: what its workflows do, and nothing else.
    #[command(after_help = examples::RIGHTS)]
    Rights(RightsArgs),
    /// Run a rollout, or all of a cluster: move objects, wave by wave.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Show a rollout.
    #[command(after_help = examples::STATUS)]
    Status(RolloutStatusArgs),
    /// Apply a StagedRollout, after checking it, and what freezes what it names. Run moves the objects.
    #[command(after_help = examples::START)]
    Start(StartArgs),
    /// Say which versions of a kind run, which one is meant, and which may follow.
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
A StagedRollout says which objects go from which controller version to which, in which
waves, and how many at once; the definition of their kind says what a healthy
one looks like. Whatever is known stands on the objects and in the StagedRollout: run
can be killed at any time, and the same command goes on. See docs/rollouts.md.

Examples:
  Once, in each cluster:
    pointsman rollout crd | kubectl apply --server-side -f -

  What a rollout would do, as every webhook judges it:
    pointsman rollout plan -f rollout.yaml --server

  Begin, and look on:
    pointsman rollout start -f rollout.yaml
    pointsman rollout run eck-2-17

  What it freezes meanwhile, for whoever applies the StagedRollout without start:
    pointsman rollout policies -f rollout.yaml | kubectl apply -f -

  All rollouts of a cluster, also those that come, as a Deployment of one replica:
    pointsman rollout run --namespace pointsman

  Meanwhile:
    pointsman rollout approve eck-2-17 canary
    pointsman rollout objects eck-2-17
    pointsman rollout prioritize eck-2-17 search/orders

  Which versions run, and where the fleet may go from there:
    pointsman rollout versions elasticsearch

Exit codes:
  0  it was done; of run and plan: nothing needs a person
  1  something needs a person, or the cluster could not be asked
  2  the flags are wrong";
