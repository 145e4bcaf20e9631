//! A hand-over with a fact, based on the documented example: shoots, their clusters, the Deployments of their control
//! planes, and a mutation server that may be behind.

mod bad;
mod fake_runner;
mod garden;
mod laws;
