//! The Pod of a Deployment or a DaemonSet as a local process: volumes are directories, and ports are free local ports.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, PKCS_ED25519};
use serde_json::Value;
use tempfile::TempDir;

/// Files by name.
pub(super) type Files = BTreeMap<String, String>;

/// A running container.
pub(super) struct Pod {
    spec: Value,
    container: Value,
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
    admin: String,
    /// The mounted volumes, removed on drop.
    _volumes: TempDir,
}

impl Pod {
    /// Starts the Deployment or the DaemonSet among the documents, or the Pod if there is only one. ConfigMaps come
    /// from the documents or from `there`, and other volumes from `there`.
    pub(super) fn start(documents: &[Value], there: &BTreeMap<&str, Files>) -> Self {
        let spec = match documents {
            [pod] if pod["kind"] == "Pod" => pod["spec"].clone(),
            _ => server(documents)["spec"]["template"]["spec"].clone(),
        };
        let container = spec["containers"][0].clone();
        let volumes = TempDir::new().unwrap();
        let folder = |path: &str| volumes.path().join(path.trim_start_matches('/'));
        for mount in container["volumeMounts"].as_array().unwrap() {
            let named = |volume: &&Value| volume["name"] == mount["name"];
            let volume = spec["volumes"].as_array().unwrap().iter().find(named).expect("a volume of that name");
            assert!(mount["subPath"].is_null(), "a subPath is never updated");
            project(&folder(mount["mountPath"].as_str().unwrap()), &files(volume, documents, there));
        }
        let args = container["args"].as_array().unwrap().iter().map(|arg| here(arg.as_str().unwrap(), volumes.path()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_pointsman"));
        command.env_clear().current_dir(volumes.path()).args(args);
        for variable in container["env"].as_array().into_iter().flatten() {
            let value = here(variable["value"].as_str().unwrap(), volumes.path());
            command.env(variable["name"].as_str().unwrap(), value);
        }
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let [address, admin] = listening(&mut stderr);
        Self { spec, container, child, stderr, address, admin, _volumes: volumes }
    }

    /// The address of the webhooks.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The response to a probe: retries for ten seconds until the status is 200.
    pub(super) fn probe(&self, probe: &str) -> String {
        let get = &self.container[probe]["httpGet"];
        let path = get["path"].as_str().expect("an HTTP probe");
        assert!(get["port"] == "admin" || get["port"] == 8080, "{probe}");
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let answer = self.get(path);
            if answer.starts_with("HTTP/1.1 200") || Instant::now() > until {
                return answer;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(&self.admin) else { return String::new() };
        write!(stream, "GET {path} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// Sends SIGTERM, as the kubelet does. Returns the exit code, and whether the process ended within the grace
    /// period.
    pub(super) fn terminate(mut self) -> (Option<i32>, bool) {
        let patience = Duration::from_secs(self.spec["terminationGracePeriodSeconds"].as_u64().unwrap());
        let began = Instant::now();
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), began.elapsed() < patience)
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The workload of the servers.
pub(super) fn server(documents: &[Value]) -> &Value {
    let serves = |document: &&Value| document["kind"] == "Deployment" || document["kind"] == "DaemonSet";
    documents.iter().find(serves).expect("a Deployment or a DaemonSet")
}

/// An argument for this machine: mounted paths below a folder, and any port.
fn here(arg: &str, volumes: &Path) -> String {
    let listens = ["=[::]:", "=127.0.0.1:"].iter().find_map(|address| arg.split_once(address));
    if let Some((flag, _)) = listens {
        return format!("{flag}=127.0.0.1:0");
    }
    match arg.split_once('/') {
        Some((flag, path)) if flag.is_empty() || flag.ends_with('=') => {
            format!("{flag}{}/{path}", volumes.display())
        }
        _ => arg.to_owned(),
    }
}

/// The addresses of the webhooks and of the probes, from a log line in either format.
fn listening(stderr: &mut impl BufRead) -> [String; 2] {
    let mut said = String::new();
    while stderr.read_line(&mut said).unwrap() > 0 {
        let line = said.lines().last().unwrap();
        if line.contains("listening") {
            return ["addr", "admin"].map(|name| {
                let (_, rest) = line.split_once(name).expect("both addresses");
                let address = rest.split_once("127.0.0.1").expect("an address").1;
                let port: String = address.chars().skip(1).take_while(char::is_ascii_digit).collect();
                format!("127.0.0.1:{port}")
            });
        }
    }
    panic!("it ended: {said}");
}

/// The files of a volume.
fn files(volume: &Value, documents: &[Value], there: &BTreeMap<&str, Files>) -> Files {
    let items = |source: &Value| -> Vec<String> {
        let items = source["items"].as_array().expect("the keys that are mounted");
        items.iter().map(|item| item["path"].as_str().unwrap().to_owned()).collect()
    };
    let config_map = |source: &Value| {
        let name = source["name"].as_str().unwrap();
        let rendered = |document: &&Value| document["kind"] == "ConfigMap" && document["metadata"]["name"] == name;
        match documents.iter().find(rendered) {
            Some(document) => serde_json::from_value(document["data"].clone()).unwrap(),
            None => there.get(name).unwrap_or_else(|| panic!("no ConfigMap {name}")).clone(),
        }
    };
    let name = volume["name"].as_str().unwrap();
    if volume["secret"].is_object() {
        let (cert, key, authority) = pair();
        let content = |path: &str| match path {
            "tls.crt" => cert.clone(),
            "tls.key" => key.clone(),
            _ => authority.clone(),
        };
        return items(&volume["secret"]).into_iter().map(|path| (path.clone(), content(&path))).collect();
    }
    if volume["configMap"].is_object() {
        return config_map(&volume["configMap"]);
    }
    let mut all = Files::new();
    match volume["projected"]["sources"].as_array() {
        Some(sources) => {
            for (file, text) in sources.iter().flat_map(|source| config_map(&source["configMap"])) {
                assert!(all.insert(file.clone(), text).is_none(), "{file} is there twice");
            }
        }
        None => all.clone_from(there.get(name).unwrap_or_else(|| panic!("no volume {name}"))),
    }
    all
}

/// Links as the kubelet creates them: `tls.crt -> ..data/tls.crt`, `..data -> ..1`.
fn project(folder: &Path, files: &Files) {
    fs::create_dir_all(folder.join("..1")).unwrap();
    symlink("..1", folder.join("..data")).unwrap();
    for (file, text) in files {
        fs::write(folder.join("..1").join(file), text).unwrap();
        symlink(Path::new("..data").join(file), folder.join(file)).unwrap();
    }
}

/// A certificate as the chart requests, its key, and an authority.
pub(super) fn pair() -> (String, String, String) {
    let mut leaf = CertificateParams::new(["pointsman.pointsman-system.svc".to_owned()]).unwrap();
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let cert = leaf.self_signed(&key).unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = authority.self_signed(&KeyPair::generate().unwrap()).unwrap();
    (cert.pem(), key.serialize_pem(), authority.pem())
}
