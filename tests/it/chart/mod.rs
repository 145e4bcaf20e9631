//! The chart and what is made of it, up to where a cluster is needed: tests/cluster/chart.rs goes on from there.

mod dashboard;
mod helm;
mod image;
mod pod;
mod rendered;
mod sources;
