//! `pointsman roll move`.

use std::process::ExitCode;

use clap::Args;
use pointsman_cluster::{RollClock, SurveyAsks, get_roll, set_next, survey_roll};
use pointsman_core::roll::{NextMove, RollStatus, forecast, next_move};
use serde_json::json;

use super::known::{advise, checked};
use super::prometheus_args::PrometheusArgs;
use crate::commands::cluster_args::ClusterArgs;
use crate::commands::kinds_dir::KindsArgs;
use crate::commands::output;

#[derive(Args, Debug)]
pub(crate) struct MoveArgs {
    /// Name of the Roll.
    #[arg(value_name = "NAME")]
    name: String,
    /// Object that goes next, or its name alone where the kind is in no namespace.
    #[arg(value_name = "NAMESPACE/OBJECT")]
    object: String,
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    kinds: KindsArgs,
}

/// Tells an object to go next.
pub(super) fn move_next(args: &MoveArgs) -> anyhow::Result<ExitCode> {
    let (all, staged) = args.kinds.load_with_stages()?;
    let looks = args.prometheus.survey(SurveyAsks::Nobody, staged)?;
    let said = args.cluster.with(async |cluster| {
        let document = get_roll(&cluster, &args.name).await.map_err(advise)?;
        let (kind, roll) = checked(&document, &all)?;
        let status = RollStatus::of(&document);
        let looked = survey_roll(&cluster, kind, &document, &roll, &status, &looks);
        let survey = looked.await.map_err(advise)?;
        let told = forecast(&roll, &status, &survey.fleet, survey.facts.clone(), RollClock::start().now());
        match next_move(&roll, &status, &told, &args.object).map_err(anyhow::Error::msg)? {
            NextMove::Needless(why) => anyhow::bail!("cannot tell roll {} to move that next: {why}", args.name),
            NextMove::Told { next, when } if Some(&json!(next)) == document.pointer("/spec/next") => {
                anyhow::bail!("cannot tell roll {} to move that next: it was told already: {when}", args.name)
            }
            NextMove::Told { next, when } => {
                set_next(&cluster, &document, &next).await.map_err(advise)?;
                Ok(when)
            }
        }
    })?;
    output::text(&format!("roll {}: {said}\n", args.name))?;
    Ok(ExitCode::SUCCESS)
}
