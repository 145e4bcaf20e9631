//! The choice of the cluster, without a cluster.

use std::fs;

use tempfile::TempDir;

use super::*;

/// The message names the file once, with its source.
#[test]
fn unreachable_cluster_is_reported_once() {
    let home = TempDir::new().unwrap();
    let gone = home.path().join("gone").display().to_string();
    let broken = home.path().join("broken").display().to_string();
    fs::write(&broken, "clusters: {").unwrap();
    let asks = |set: &[(&str, &str)], flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
        command.arg("status").args(flags).env_clear().env("HOME", home.path()).envs(set.iter().copied());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let nowhere = "error: no cluster is configured: KUBECONFIG is not set, ~/.kube/config does not exist, and this is no Pod with a service account\nhint: give --kubeconfig, or set KUBECONFIG\n";
    assert_eq!(asks(&[], &[]), nowhere);
    assert_eq!(asks(&[("KUBECONFIG", "")], &[]), nowhere);
    let unread = format!("error: the kubeconfig {gone} cannot be read: No such file or directory (os error 2)\n");
    for said in [asks(&[("KUBECONFIG", &gone)], &[]), asks(&[], &["--kubeconfig", &gone])] {
        assert!(said.starts_with(&unread) && said.matches(&gone).count() == 1, "{said}");
    }
    for said in [asks(&[("KUBECONFIG", &broken)], &[]), asks(&[], &["--kubeconfig", &broken])] {
        assert!(said.starts_with(&format!("error: the kubeconfig {broken} cannot be used: ")), "{said}");
    }
    // A kubeconfig without a cluster.
    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::write(home.path().join(".kube/config"), "apiVersion: v1\nkind: Config\n").unwrap();
    let said = asks(&[], &[]);
    assert!(said.starts_with("error: the kubeconfig ~/.kube/config cannot be used: "), "{said}");
}
