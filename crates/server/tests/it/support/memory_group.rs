//! A group of processes that the kernel kills rather than let it have more memory, as it does with a container.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The group of one process. Only where this machine lets a test make one: a container's root may, a person may not.
pub(crate) struct MemoryGroup {
    path: PathBuf,
    /// The file that counts its kills.
    events: &'static str,
}

impl MemoryGroup {
    /// Of version 2 of control groups, or 1 (Linux admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
    pub(crate) fn around(process: u32, mib: u64) -> Option<Self> {
        [("", "memory.max", "memory.events"), ("memory", "memory.limit_in_bytes", "memory.oom_control")]
            .into_iter()
            .find_map(|(hierarchy, limit, events)| {
                let path = Path::new("/sys/fs/cgroup").join(hierarchy).join(format!("pointsman-{process}"));
                fs::create_dir(&path).ok()?;
                let made = Self { path, events };
                let bounded = made.set(limit, mib << 20);
                bounded.and_then(|()| made.set("cgroup.procs", process.into())).is_ok().then_some(made)
            })
    }

    /// Only a file that is there: not every directory is one of the kernel's.
    fn set(&self, name: &str, value: u64) -> io::Result<()> {
        File::options().write(true).open(self.path.join(name))?.write_all(value.to_string().as_bytes())
    }

    /// How often the kernel has killed.
    pub(crate) fn kills(&self) -> u64 {
        let events = fs::read_to_string(self.path.join(self.events)).unwrap();
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.expect("the kernel counts kills").parse().unwrap()
    }
}

impl Drop for MemoryGroup {
    /// Once the group is empty: processes that have ended leave it a moment later.
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
