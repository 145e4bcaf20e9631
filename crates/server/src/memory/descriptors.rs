//! File descriptors: for the connections, plus a reserve.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number of connections with descriptors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Descriptors {
    /// Of the webhooks.
    pub(crate) webhooks: usize,
    /// Of the admin port.
    pub(crate) admin: usize,
}

impl Descriptors {
    /// Raises the soft limit of this process to the needs of the connections, within the hard limit. (The usual soft
    /// limit of 1024 is for programs that call `select`; Go's runtime raises it likewise.)
    pub(crate) fn raise(webhooks: usize, admin: usize) -> Self {
        let wanted = webhooks.saturating_add(admin).saturating_add(RESERVED) as u64;
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // Unlimited.
        let Some(soft) = current else {
            return Self { webhooks, admin };
        };
        let hard = maximum.unwrap_or(u64::MAX);
        let raised = wanted.min(hard).max(soft);
        let soft = match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
            Ok(()) => raised,
            Err(error) => {
                tracing::warn!(%error, limit = soft, "failed to raise the limit of file descriptors");
                soft
            }
        };
        let fit = Self::within(soft, webhooks, admin);
        if fit.webhooks < webhooks {
            tracing::warn!(
                limit = soft,
                wanted,
                connections = fit.webhooks,
                "fewer connections than configured, file descriptors are limited (ulimit -n)"
            );
        }
        fit
    }

    /// The rest of `limit`, at least a quarter each.
    fn within(limit: u64, webhooks: usize, admin: usize) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let quarter = limit / 4;
        let admin = admin.min(quarter);
        let left = limit.saturating_sub(admin.saturating_add(RESERVED));
        Self { webhooks: webhooks.min(left.max(quarter)).max(1), admin: admin.max(1) }
    }
}

/// Sockets, timers, signals and the file watch need about 15; certificates are read one file at a time. The same number
/// again is for evicted connections that have not ended yet.
const RESERVED: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_kept_back() {
        for (limit, webhooks, admin) in
            [(1_048_576, 2048, 64), (2144, 2048, 64), (1024, 928, 64), (128, 64, 32), (40, 10, 10), (1, 1, 1)]
        {
            let fit = Descriptors::within(limit, 2048, 64);
            assert_eq!(fit, Descriptors { webhooks, admin }, "{limit}");
        }
    }
}
