//! The server over real sockets.

// With this attribute, clippy's allowances for tests also apply to helpers.
#![cfg(test)]

mod admin;
mod alerts;
mod connections;
mod given_up;
mod held_streams;
mod http;
mod neighbours;
mod overload;
mod reload;
mod shutdown;
mod spans;
mod support;
mod tls;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
