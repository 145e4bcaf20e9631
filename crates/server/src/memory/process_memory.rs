//! Settings derived from the memory limit.

use super::cgroup;
use crate::telemetry::spans::{Collector, SPANS};

/// Settings for an amount of memory.
///
/// With a limit of 128 MiB: 32 MiB are the process itself, a quarter is for connections (341 of 96 KiB), an eighth is
/// reserve for allocator overhead, and the rest, 48 MiB, is the budget of requests. Conversely, a budget and a number
/// of connections need a limit of `(32 MiB + 96 KiB × connections + budget) × 8 / 7`, plus `10 MiB × 8 / 7` if spans
/// are sent to a collector.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// For [`Options::memory_budget`](crate::Options::memory_budget), in bytes.
    pub budget: u64,
    /// For [`Options::max_connections`](crate::Options::max_connections).
    pub connections: usize,
}

impl Memory {
    /// Settings for the memory limit of the process's cgroup, which is that of its container; the default without a
    /// limit. Reserves memory for queued spans if a collector is configured.
    #[must_use]
    pub fn of_this_process(collector: Option<&Collector>) -> Self {
        cgroup::memory_limit().map_or_else(Self::default, |limit| Self::without_spans(limit, collector))
    }

    fn without_spans(limit: u64, collector: Option<&Collector>) -> Self {
        Self::within(limit.saturating_sub(collector.map_or(0, |_| SPANS.div_ceil(7) * 8)))
    }

    /// Settings for `limit` bytes; at least those of [`Memory::LEAST`], at most the default.
    #[must_use]
    pub fn within(limit: u64) -> Self {
        let limit = limit.max(Self::LEAST);
        let whole = Self::default();
        let connections = (limit / 4 / CONNECTION).min(whole.connections as u64);
        let usable = limit - limit / 8 - PROCESS - connections * CONNECTION;
        let connections = usize::try_from(connections).unwrap_or(whole.connections);
        Self { budget: usable.min(whole.budget), connections }
    }

    /// The memory limit for these settings without spans, in bytes: the minimum of `resources.limits.memory`.
    #[must_use]
    pub fn limit(self) -> u64 {
        let connections = CONNECTION.saturating_mul(self.connections as u64);
        PROCESS.saturating_add(connections).saturating_add(self.budget).div_ceil(7).saturating_mul(8)
    }

    /// 64 MiB: a smaller limit leaves little for requests.
    pub const LEAST: u64 = 64 << 20;
}

/// Sufficient for the largest body alongside small ones, and for every API server of a large control plane.
impl Default for Memory {
    fn default() -> Self {
        Self { budget: 512 << 20, connections: 2048 }
    }
}

/// The program, its kinds and its threads.
const PROCESS: u64 = 32 << 20;

/// The maximum of a connection: two buffers of 32 KiB in HTTP/1.1, and a TLS record of 16 KiB per direction. In HTTP/2
/// it is 32 KiB of unread data, the same records, and 4 KiB for each of eight streams.
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
            let memory = Memory::without_spans(mib << 20, collector.as_ref());
            assert!(memory.limit() + SPANS * 8 / 7 <= mib << 20, "{mib} MiB: {memory:?}");
            assert_eq!(Memory::without_spans(mib << 20, None), Memory::within(mib << 20));
        }
    }
}
