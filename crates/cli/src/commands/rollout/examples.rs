//! The examples in the help of each subcommand of `rollout`.

pub(super) const ABORT: &str = "\
Examples:
  Stop the rollout; moved objects stay on the new version:
    pointsman rollout abort eck-2-17";

pub(super) const APPROVE: &str = "\
Examples:
  Approve the canary, so that the next wave starts:
    pointsman rollout approve eck-2-17 canary

  If a wave needs two approvals, give the one before the wave:
    pointsman rollout approve eck-2-17 rest --before";

pub(super) const UNDO: &str = "\
Examples:
  Move the objects back, the last one first:
    pointsman rollout undo eck-2-17
    pointsman rollout run eck-2-17";

pub(super) const CLEAN: &str = "\
Examples:
  Remove the rollout's annotations, after you have read its results:
    pointsman rollout clean eck-2-17";

pub(super) const CRD: &str = "\
Examples:
  Once, in each cluster:
    pointsman rollout crd | kubectl apply --server-side -f -";

pub(super) const LEASE: &str = "\
Examples:
  Print the lease flags for the controller of a version:
    pointsman rollout lease elasticsearch 2.17.0 \\
      --kinds examples/kinds/elasticsearch";

pub(super) const LIST: &str = "\
Examples:
  Show the progress of each rollout, and what it waits for:
    pointsman rollout list -o wide

  For an alert:
    pointsman rollout list -o prometheus > rollouts.prom";

pub(super) const PRIORITIZE: &str = "\
Examples:
  One object before the others of its wave:
    pointsman rollout prioritize eck-2-17 search/orders";

pub(super) const OBJECTS: &str = "\
Examples:
  Show the state of each object, and the reason for each wait:
    pointsman rollout objects eck-2-17

  Only their names:
    pointsman rollout objects eck-2-17 -o name";

pub(super) const PAUSE: &str = "\
Examples:
  Stop the rollout while you investigate, then continue:
    pointsman rollout pause eck-2-17
    pointsman rollout resume eck-2-17";

pub(super) const PLAN: &str = "\
Examples:
  Show the steps of each object, with the decision of the API server:
    pointsman rollout plan -f rollout.yaml --server

  Write a page for the change request:
    pointsman rollout plan -f rollout.yaml -o html > plan.html";

pub(super) const POLICIES: &str = "\
Examples:
  Before another runner, such as a GitOps tool, applies the StagedRollout:
    pointsman rollout policies -f rollout.yaml | kubectl apply -f -";

pub(super) const RESUME: &str = "\
Examples:
  Continue after you have fixed the failure:
    pointsman rollout resume eck-2-17";

pub(super) const RIGHTS: &str = "\
Examples:
  For the service account that runs it:
    pointsman rollout rights -f rollout.yaml | kubectl apply -f -";

pub(super) const RUN: &str = "\
Examples:
  Run one rollout to its end:
    pointsman rollout run eck-2-17

  Run one rollout until the next wait, for a pipeline with repeated runs:
    pointsman rollout run eck-2-17 --once

  Run all rollouts of a cluster, in a Deployment of one replica:
    pointsman rollout run --namespace pointsman-system

Exit codes:
  0    complete, or undone or aborted by a user; with --once, also waiting
  1    failed, refused, rolled back automatically, or objects without annotation
       remain; with --once, also paused (without --once, run waits for a
       resume). With several rollouts: any rollout has such a result
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";

pub(super) const STATUS: &str = "\
Examples:
  Show what the rollout waits for, and the next step:
    pointsman rollout status eck-2-17

  Watch it until the end:
    pointsman rollout status eck-2-17 --watch

Exit codes:
  0    shown; with --watch, complete
  1    no such rollout; with --watch, failed or aborted
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";

pub(super) const START: &str = "\
Examples:
  Validate the rollout on the API server, then start it:
    pointsman rollout start -f rollout.yaml --dry-run=server
    pointsman rollout start -f rollout.yaml";

pub(super) const VERSIONS: &str = "\
Examples:
  List the running versions, and the allowed target versions:
    pointsman rollout versions elasticsearch \\
      --kinds examples/kinds/elasticsearch";
