//! A directory that is mounted and updated like by a kubelet (Kubernetes pkg/volume/util/atomic_writer.go).

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use pointsman_server::CertPaths;
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use super::certs::Pair;

/// A mounted Secret: `tls.crt -> ..data/tls.crt`, `..data -> ..1/`.
pub(crate) struct Volume {
    dir: TempDir,
    generation: u32,
}

impl Volume {
    pub(crate) fn new(pair: &Pair) -> Self {
        let dir = TempDir::new().unwrap();
        let mut volume = Self { dir, generation: 0 };
        volume.swap(pair);
        volume
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn cert_paths(&self) -> CertPaths {
        CertPaths { cert: self.file("tls.crt"), key: self.file("tls.key") }
    }

    /// From now on, opening the certificate blocks until the result is dropped, or for the 45 seconds that Linux grants
    /// the holder: a hanging mount. The blocker is a lease (fcntl(2), `F_SETLEASE`).
    pub(crate) fn hang(&self) -> Hang {
        let mut holder = Command::new("perl");
        holder.args(["-e", LEASE]).arg(self.file("tls.crt")).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        let mut says = BufReader::new(holder.stdout.take().unwrap()).lines();
        assert_eq!(says.next().unwrap().unwrap(), "held");
        Hang { holder, says: Some(says) }
    }

    /// Swaps in another pair.
    pub(crate) fn swap(&mut self, pair: &Pair) {
        self.swap_files(&[("tls.crt", &pair.cert), ("tls.key", &pair.key)]);
    }

    /// Swaps in other files: unlisted files are deleted.
    pub(crate) fn swap_files(&mut self, files: &[(&str, &str)]) {
        self.generation += 1;
        let name = format!("..{}", self.generation);
        fs::create_dir(self.file(&name)).unwrap();
        for (file, text) in files {
            fs::write(self.file(&name).join(file), text).unwrap();
        }
        let old = fs::read_link(self.file("..data")).ok();
        symlink(&name, self.file("..data_tmp")).unwrap();
        fs::rename(self.file("..data_tmp"), self.file("..data")).unwrap();
        for (file, _) in files {
            if fs::symlink_metadata(self.file(file)).is_err() {
                symlink(Path::new("..data").join(file), self.file(file)).unwrap();
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(self.path().join(old)).unwrap();
        }
    }
}

/// A file that cannot be opened during the lifetime of this value.
pub(crate) struct Hang {
    holder: Child,
    says: Option<Lines<BufReader<ChildStdout>>>,
}

impl Hang {
    /// Waits until a process tries to open the file. Works once.
    pub(crate) async fn asked(&mut self) {
        let mut says = self.says.take().unwrap();
        let said = spawn_blocking(move || says.next().unwrap().unwrap());
        assert_eq!(said.await.unwrap(), "asked");
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A lease is granted only if no other process has the file open, and is recalled by SIGIO.
const LEASE: &str = r#"
    $| = 1;
    $SIG{PIPE} = "IGNORE";
    $SIG{IO} = sub { print "asked\n" };
    open(my $file, "+<", $ARGV[0]) or die $!;
    for (1..1000) {
        if (fcntl($file, 1024, 1)) { print "held\n"; sleep 1 for 1..60; exit }
        select(undef, undef, undef, 0.002);
    }
    die "no lease: $!";
"#;
