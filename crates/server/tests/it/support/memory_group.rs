//! A process group with a memory limit that the kernel enforces by a kill, as for a container.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The control group of one process. Exists only if the machine permits it: usually for root in a container, not for a
/// user.
pub(crate) struct MemoryGroup {
    path: PathBuf,
    /// The file with the number of kills.
    events: &'static str,
}

impl MemoryGroup {
    /// Control groups of version 2 or 1 (Linux admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst).
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

    /// Writes only to an existing file: not every directory belongs to the kernel.
    fn set(&self, name: &str, value: u64) -> io::Result<()> {
        File::options().write(true).open(self.path.join(name))?.write_all(value.to_string().as_bytes())
    }

    /// Number of kills by the kernel.
    pub(crate) fn kills(&self) -> u64 {
        let events = fs::read_to_string(self.path.join(self.events)).unwrap();
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.expect("the kernel counts kills").parse().unwrap()
    }
}

impl Drop for MemoryGroup {
    /// Removes the group when empty: ended processes leave the group a moment later.
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}
