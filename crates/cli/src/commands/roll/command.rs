//! The subcommands of `roll`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pointsman_core::roll::ROLL_CRD;

use super::change::{ApproveArgs, ChangeArgs, CleanArgs};
use super::lease::LeaseArgs;
use super::look::{ListRollsArgs, ObjectsArgs, ShowRollArgs};
use super::move_next::MoveArgs;
use super::plan::PlanRollArgs;
use super::policies::PoliciesArgs;
use super::rights::RightsArgs;
use super::run::RunArgs;
use super::start::StartArgs;
use super::versions::VersionsArgs;
use super::{change, examples, lease, look, move_next, plan, policies, rights, run as running, start, versions};
use crate::commands::output;

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RollArgs {
    #[command(subcommand)]
    command: RollCommand,
}

#[derive(Debug, Subcommand)]
enum RollCommand {
    /// End a roll: what is under way ends, and nothing more is moved.
    #[command(after_help = examples::ABORT)]
    Abort(ChangeArgs),
    /// Approve a waiting wave, before it starts or after it ends.
    #[command(after_help = examples::APPROVE)]
    Approve(ApproveArgs),
    /// Take every object back that a roll has moved.
    #[command(after_help = examples::BACK)]
    Back(ChangeArgs),
    /// Take off the objects what a roll that is over has left on them.
    #[command(after_help = examples::CLEAN)]
    Clean(CleanArgs),
    /// Print what a cluster has to know of Rolls: their CRD, and the policy that keeps those that are under way.
    #[command(after_help = examples::CRD)]
    Crd,
    /// Print what the Lease of a controller version is called, for whoever starts the controller.
    #[command(after_help = examples::LEASE)]
    Lease(LeaseArgs),
    /// List rolls.
    #[command(after_help = examples::LIST)]
    List(ListRollsArgs),
    /// Tell an object to go before the others of its wave.
    #[command(after_help = examples::MOVE)]
    Move(MoveArgs),
    /// Show how each object of a roll stands.
    #[command(after_help = examples::OBJECTS)]
    Objects(ObjectsArgs),
    /// Move nothing more for now. Run keeps watching what is under way.
    #[command(after_help = examples::PAUSE)]
    Pause(ChangeArgs),
    /// Say what a roll would do, object by object. Nothing is written.
    #[command(after_help = examples::PLAN)]
    Plan(PlanRollArgs),
    /// Print the policy that refuses what a roll freezes, for whoever applies it without start.
    #[command(after_help = examples::POLICIES)]
    Policies(PoliciesArgs),
    /// Let a roll go on after it was paused, or after something failed.
    #[command(after_help = examples::RESUME)]
    Resume(ChangeArgs),
    /// Print the ClusterRole that running a roll takes: what its journeys do, and nothing else.
    #[command(after_help = examples::RIGHTS)]
    Rights(RightsArgs),
    /// Run a roll, or all of a cluster: move objects, wave by wave.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Show a roll.
    #[command(after_help = examples::SHOW)]
    Show(ShowRollArgs),
    /// Apply a Roll, after checking it, and what freezes what it names. Run moves the objects.
    #[command(after_help = examples::START)]
    Start(StartArgs),
    /// Say which versions of a kind run, which one is meant, and which may follow.
    #[command(after_help = examples::VERSIONS)]
    Versions(VersionsArgs),
}

pub(crate) fn run(args: &RollArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        RollCommand::Abort(args) => change::abort(args),
        RollCommand::Approve(args) => change::approve(args),
        RollCommand::Back(args) => change::back(args),
        RollCommand::Clean(args) => change::clean(args),
        RollCommand::Crd => {
            output::data(ROLL_CRD)?;
            Ok(ExitCode::SUCCESS)
        }
        RollCommand::Lease(args) => lease::lease(args),
        RollCommand::List(args) => look::list(args),
        RollCommand::Move(args) => move_next::move_next(args),
        RollCommand::Objects(args) => look::objects(args),
        RollCommand::Pause(args) => change::pause(args),
        RollCommand::Plan(args) => plan::plan(args),
        RollCommand::Policies(args) => policies::policies(args),
        RollCommand::Resume(args) => change::resume(args),
        RollCommand::Rights(args) => rights::rights(args),
        RollCommand::Run(args) => running::run(args),
        RollCommand::Show(args) => look::show(args),
        RollCommand::Start(args) => start::start(args),
        RollCommand::Versions(args) => versions::versions(args),
    }
}

const EXAMPLES: &str = "\
A Roll says which objects go from which controller version to which, in which
waves, and how many at once; the definition of their kind says what a healthy
one looks like. Whatever is known stands on the objects and in the Roll: run
can be killed at any time, and the same command goes on. See docs/rolls.md.

Examples:
  Once, in each cluster:
    pointsman roll crd | kubectl apply --server-side -f -

  What a roll would do, as every webhook judges it:
    pointsman roll plan -f roll.yaml --server

  Begin, and look on:
    pointsman roll start -f roll.yaml
    pointsman roll run eck-2-17

  What it freezes meanwhile, for whoever applies the Roll without start:
    pointsman roll policies -f roll.yaml | kubectl apply -f -

  All rolls of a cluster, also those that come, as a Deployment of one replica:
    pointsman roll run --namespace pointsman

  Meanwhile:
    pointsman roll approve eck-2-17 canary
    pointsman roll objects eck-2-17
    pointsman roll move eck-2-17 search/orders

  Which versions run, and where the fleet may go from there:
    pointsman roll versions elasticsearch

Exit codes:
  0  it was done; of run and plan: nothing needs a person
  1  something needs a person, or the cluster could not be asked
  2  the flags are wrong";
