//! The examples in the help of each subcommand of `rollout`.

pub(super) const ABORT: &str = "\
Examples:
  Stay where it is, for good; what was moved stays moved:
    pointsman rollout abort eck-2-17";

pub(super) const APPROVE: &str = "\
Examples:
  Behind the canary, let the others go:
    pointsman rollout approve eck-2-17 canary

  Where a wave asks for two approvals, say which one is meant:
    pointsman rollout approve eck-2-17 rest --before";

pub(super) const UNDO: &str = "\
Examples:
  Take back what was moved, the last one first:
    pointsman rollout undo eck-2-17
    pointsman rollout run eck-2-17";

pub(super) const CLEAN: &str = "\
Examples:
  Once a rollout is over, and nobody wants to know any more what it did:
    pointsman rollout clean eck-2-17";

pub(super) const CRD: &str = "\
Examples:
  Once, in each cluster:
    pointsman rollout crd | kubectl apply --server-side -f -";

pub(super) const LEASE: &str = "\
Examples:
  What to start the controller of a version with:
    pointsman rollout lease elasticsearch 2.17.0";

pub(super) const LIST: &str = "\
Examples:
  Where each rollout is, and what it waits for:
    pointsman rollout list -o wide

  For an alert:
    pointsman rollout list -o prometheus > rollouts.prom";

pub(super) const PRIORITIZE: &str = "\
Examples:
  One object before the others of its wave:
    pointsman rollout prioritize eck-2-17 search/orders";

pub(super) const OBJECTS: &str = "\
Examples:
  Which object is how far, and why it does not go:
    pointsman rollout objects eck-2-17

  Their names alone:
    pointsman rollout objects eck-2-17 -o name";

pub(super) const PAUSE: &str = "\
Examples:
  Something looks odd: move nothing more until it is understood.
    pointsman rollout pause eck-2-17
    pointsman rollout resume eck-2-17";

pub(super) const PLAN: &str = "\
Examples:
  What would happen to each object, as the API server judges it:
    pointsman rollout plan -f rollout.yaml --server

  A page to attach to the change:
    pointsman rollout plan -f rollout.yaml -o html > plan.html";

pub(super) const POLICIES: &str = "\
Examples:
  Before somebody else, such as a GitOps tool, applies the StagedRollout:
    pointsman rollout policies -f rollout.yaml | kubectl apply -f -";

pub(super) const RESUME: &str = "\
Examples:
  After what failed was mended:
    pointsman rollout resume eck-2-17";

pub(super) const RIGHTS: &str = "\
Examples:
  For the service account that runs it:
    pointsman rollout rights -f rollout.yaml | kubectl apply -f -";

pub(super) const RUN: &str = "\
Examples:
  One rollout, until it is over:
    pointsman rollout run eck-2-17

  As far as it goes now, for a pipeline that comes again:
    pointsman rollout run eck-2-17 --once

  All rollouts of a cluster, as a Deployment of one replica:
    pointsman rollout run --namespace pointsman

Exit codes:
  0    complete, or undone or aborted by a person; with --once, also waiting
  1    failed, refused, undone by itself, or objects without annotation remain;
       with --once, also paused. Without --once, run waits for a resume. With
       several rollouts: one of these applies to at least one of them
  2    wrong flags
  130  stopped by Ctrl-C or SIGTERM";

pub(super) const STATUS: &str = "\
Examples:
  What it waits for, and what to do next:
    pointsman rollout status eck-2-17";

pub(super) const START: &str = "\
Examples:
  First what the API server says of it, then in earnest:
    pointsman rollout start -f rollout.yaml --dry-run=server
    pointsman rollout start -f rollout.yaml";

pub(super) const VERSIONS: &str = "\
Examples:
  Which versions run, and where the fleet may go from there:
    pointsman rollout versions elasticsearch";
