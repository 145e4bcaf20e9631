//! A hand-over that is a fact, with the example that people read: shoots, their clusters, the Deployments of their
//! control planes, and a server of mutations that may be behind.

mod bad;
mod fake_runner;
mod garden;
mod laws;
