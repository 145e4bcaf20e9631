//! The chart and its rendered manifests without a cluster; tests/cluster/chart.rs installs the chart.

mod dashboard;
mod helm;
mod image;
mod pod;
mod rendered;
mod sources;
mod values;
