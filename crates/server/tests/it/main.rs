//! The server over real sockets.

// Here clippy's allowances for tests hold in helpers, too.
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

/// As in the program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
