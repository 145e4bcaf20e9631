//! The memory limit of the process, from its cgroup or container.

use std::fs;
use std::path::Path;

/// The memory limit of this process in bytes; `None` if absent or unreadable.
///
/// Each cgroup of the path has its own limit, and the smallest applies (Linux admin-guide/cgroup-v2.rst, `memory.max`;
/// cgroup-v1/memory.rst, `memory.limit_in_bytes`).
pub(crate) fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    smallest(&groups, Path::new("/sys/fs/cgroup"))
}

/// `groups` has lines such as `0::/kubepods/pod1` (version 2) and `5:memory:/kubepods/pod1` (version 1).
fn smallest(groups: &str, mounted: &Path) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be the host's, and the mounted root its own cgroup: tries both.
        let own = root.join(path.trim_start_matches('/'));
        for group in own.ancestors().take_while(|group| group.starts_with(&root)) {
            let limit = fs::read_to_string(group.join(file)).ok();
            limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
        }
    }
    // Version 1 encodes "none" as the largest multiple of the page size.
    limits.into_iter().filter(|limit| *limit < UNLIMITED).min()
}

/// 4 EiB.
const UNLIMITED: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_cgroup_limit_wins() {
        let mounted = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = mounted.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let limit = |groups| smallest(groups, mounted.path());
        assert_eq!(limit("0::/pods/one\n"), None);
        write("pods/one/memory.max", "max\n");
        assert_eq!(limit("0::/pods/one\n"), None);
        write("pods/memory.max", "134217728\n");
        assert_eq!(limit("0::/pods/one\n"), Some(128 << 20));
        write("pods/one/memory.max", "67108864\n");
        assert_eq!(limit("0::/pods/one\n"), Some(64 << 20));
        // The path on the host.
        write("memory.max", "1048576\n");
        assert_eq!(limit("0::/kubelet/elsewhere\n"), Some(1 << 20));

        write("memory/pods/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit("5:cpu,memory:/pods\n4:pids:/\n"), None);
        write("memory/pods/memory.limit_in_bytes", "268435456\n");
        assert_eq!(limit("5:cpu,memory:/pods\n4:pids:/\n"), Some(256 << 20));
    }
}
