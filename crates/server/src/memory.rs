//! How much memory a server is given, and what that allows.

use super::cgroup;
use super::spans::{Collector, SPANS};

/// What fits into an amount of memory.
///
/// With a limit of 128 MiB: 32 MiB are the process itself, a quarter is for connections (341 of 96 KiB), an eighth
/// stays free for what an allocator cannot give back, and the rest, 48 MiB, is the budget of requests. Read the other
/// way round, the limit that a budget and a number of connections need is
/// `(32 MiB + 96 KiB × connections + budget) × 8 / 7`, and where spans are sent to a collector, `10 MiB × 8 / 7` more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// For [`Options::memory_budget`](super::Options::memory_budget), in bytes.
    pub budget: u64,
    /// For [`Options::max_connections`](super::Options::max_connections).
    pub connections: usize,
}

impl Memory {
    /// What fits into the memory limit of the cgroup that this process is in, which is that of its container; the
    /// default where there is none. Beside it is room for the spans that wait, where there is a collector for them.
    #[must_use]
    pub fn of_this_process(collector: Option<&Collector>) -> Self {
        cgroup::memory_limit().map_or_else(Self::default, |limit| Self::beside_spans(limit, collector))
    }

    fn beside_spans(limit: u64, collector: Option<&Collector>) -> Self {
        Self::within(limit.saturating_sub(collector.map_or(0, |_| SPANS.div_ceil(7) * 8)))
    }

    /// What fits into `limit` bytes; never less than [`Memory::LEAST`] allows, nor more than the default.
    #[must_use]
    pub fn within(limit: u64) -> Self {
        let limit = limit.max(Self::LEAST);
        let whole = Self::default();
        let connections = (limit / 4 / CONNECTION).min(whole.connections as u64);
        let usable = limit - limit / 8 - PROCESS - connections * CONNECTION;
        let connections = usize::try_from(connections).unwrap_or(whole.connections);
        Self { budget: usable.min(whole.budget), connections }
    }

    /// The memory that this needs without spans, in bytes: what `resources.limits.memory` has to be, at least.
    #[must_use]
    pub fn limit(self) -> u64 {
        let connections = CONNECTION.saturating_mul(self.connections as u64);
        PROCESS.saturating_add(connections).saturating_add(self.budget).div_ceil(7).saturating_mul(8)
    }

    /// 64 MiB: below that, little is left for requests.
    pub const LEAST: u64 = 64 << 20;
}

/// Enough for the largest body beside small ones, and for every API server of a large control plane.
impl Default for Memory {
    fn default() -> Self {
        Self { budget: 512 << 20, connections: 2048 }
    }
}

/// The program, its kinds and its threads.
const PROCESS: u64 = 32 << 20;

/// A connection that is as expensive as it can be: two buffers of 32 KiB over HTTP/1.1, a TLS record in each direction
/// of 16 KiB. Over HTTP/2 it is 32 KiB that have arrived and are not read, the same records, and 4 KiB for each of
/// eight streams.
const CONNECTION: u64 = 96 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting_settings_need_no_more() {
        for mib in [64, 100, 128, 256, 777, 1024, 65_536] {
            let memory = Memory::within(mib << 20);
            assert!(memory.limit() <= mib << 20, "{mib} MiB: {memory:?}");
        }
        let memory = Memory::within(128 << 20);
        assert_eq!((memory.budget >> 20, memory.connections), (48, 341));
        assert_eq!(Memory::within(u64::MAX), Memory::default());
        assert_eq!(Memory::within(1), Memory::within(Memory::LEAST));
    }

    #[test]
    fn spans_have_separate_memory() {
        let collector = "http://127.0.0.1:4318".parse().ok();
        for mib in [76, 128, 842, 65_536] {
            let memory = Memory::beside_spans(mib << 20, collector.as_ref());
            assert!(memory.limit() + SPANS * 8 / 7 <= mib << 20, "{mib} MiB: {memory:?}");
            assert_eq!(Memory::beside_spans(mib << 20, None), Memory::within(mib << 20));
        }
    }
}
