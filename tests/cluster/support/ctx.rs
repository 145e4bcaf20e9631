//! The resources of one scenario: a kind in its own group, a namespace and an instance of pointsman.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use pointsman_core::definition::Kind;
use serde_json::{Value, json};

use super::client::Answer;
use super::metrics;
use super::pointsman::{Pointsman, Setup, write_pair};
use super::process::{SOON, eventually, free_port};
use super::sample::Sample;
use super::test_cluster::{Route, Running, TestCluster};

pub(crate) struct TestContext<'a> {
    pub(crate) test_cluster: &'a TestCluster,
    pub(crate) sample: &'static Sample,
    pub(crate) route: Route,
    /// The namespace, and the first label of the group.
    pub(crate) ns: String,
    pub(crate) group: String,
    pub(crate) dir: PathBuf,
    pub(crate) setup: Setup,
    /// `None` while stopped.
    pub(crate) pointsman: RefCell<Option<Pointsman>>,
    /// Servers that must respond until the API server stops.
    kept: RefCell<Vec<Running>>,
    /// The CRD of the definition.
    pub(crate) crd: Value,
}

impl<'a> TestContext<'a> {
    pub(crate) fn new(
        test_cluster: &'a TestCluster,
        sample: &'static Sample,
        name: &str,
        group: Option<&str>,
        log: PathBuf,
    ) -> Self {
        let ns = name.to_owned();
        let group = group.map_or_else(|| group_of(&ns), str::to_owned);
        let dir = test_cluster.dir.path().join(&ns);
        let crd = sample.install(&group, &dir.join("kinds"));
        let names = ["localhost", "127.0.0.1", &format!("pointsman.{ns}.svc")].map(str::to_owned);
        let (cert, key) = write_pair(&dir, &test_cluster.authority.issue(&names));
        let (kinds, port) = (dir.join("kinds"), free_port());
        let setup = Setup { cert, key, kinds, log, host: "127.0.0.1".to_owned(), port, flags: Vec::new() };
        let ctx = Self {
            test_cluster,
            sample,
            route: test_cluster.plan.route,
            pointsman: RefCell::new(Some(Pointsman::start(&setup))),
            kept: RefCell::default(),
            ns,
            group,
            dir,
            setup,
            crd,
        };
        let namespace = json!({"metadata": {"name": ctx.ns}});
        ctx.post("/api/v1/namespaces", &namespace).ok();
        ctx
    }

    /// The kind of the definition.
    pub(crate) fn kind(&self) -> Kind {
        let read = |file: &str| fs::read_to_string(self.setup.kinds.join(file));
        let definition = read("kind.yaml").unwrap();
        Kind::load("kind.yaml", &definition, &mut |file| read(file)).unwrap()
    }

    /// Creates the CRD with this instance as webhook, and waits until every version is served.
    pub(crate) fn enable(&self, storage: &str) {
        self.install(&self.enabled(storage));
    }

    pub(crate) fn install(&self, crd: &Value) {
        self.post(CRDS, crd).ok();
        for version in [self.sample.old, self.sample.new] {
            let served = |entry: &Value| entry["name"] == version && entry["served"] == true;
            if crd["spec"]["versions"].as_array().unwrap().iter().any(served) {
                self.wait_until_served(version);
            }
        }
    }

    /// The CRD with the webhook of this instance.
    pub(crate) fn enabled(&self, storage: &str) -> Value {
        let mut crd = self.crd.clone();
        crd["spec"]["conversion"] = self.conversion();
        for version in crd["spec"]["versions"].as_array_mut().unwrap() {
            version["storage"] = json!(version["name"] == storage);
        }
        crd
    }

    pub(crate) fn conversion(&self) -> Value {
        let port = self.setup.port;
        let mut client = match self.route {
            Route::Url => json!({"url": format!("https://127.0.0.1:{port}/convert")}),
            Route::Service => {
                let spec = json!({"type": "ExternalName", "externalName": "localhost"});
                let service = json!({"metadata": {"name": "pointsman"}, "spec": spec});
                let path = format!("/api/v1/namespaces/{}/services", self.ns);
                // Exists already if the CRD is enabled again.
                let answer = self.post(&path, &service);
                assert!(answer.is_ok() || answer.code == 409, "{}", answer.message());
                json!({"service": {"name": "pointsman", "namespace": self.ns, "port": port, "path": "/convert"}})
            }
        };
        client["caBundle"] = json!(STANDARD.encode(&self.test_cluster.authority.pem));
        let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": client});
        json!({"strategy": "Webhook", "webhook": webhook})
    }

    /// An established CRD is not served yet, and a served one is not served by all API servers yet.
    fn wait_until_served(&self, version: &str) {
        let object = self.object(version, "probe");
        let path = format!("{}?dryRun=All", self.all(version));
        let mut last = String::new();
        eventually(&format!("{version} is served"), SOON, || {
            let answer = self.post(&path, &object);
            last.clone_from(&answer.message());
            // 404: not there yet. 503: the handler of a changed CRD is being replaced and accepts no more requests
            // (apiextensions-apiserver customresource_handler.go, `waitGroup`).
            assert!(answer.is_ok() || matches!(answer.code, 404 | 503), "{version}: {last}");
            answer.is_ok().then_some(())
        });
    }

    /// Changes the storage version, and waits until the change is in force.
    pub(crate) fn store(&self, storage: &str) {
        self.change_crd(|crd| {
            for version in crd["spec"]["versions"].as_array_mut().unwrap() {
                version["storage"] = json!(version["name"] == storage);
            }
        });
        let mut count = 0;
        eventually("the storage version", SOON, || {
            count += 1;
            let name = format!("probe-{count}");
            let answer = self.create(storage, &self.object(storage, &name));
            let stored = answer.is_ok().then(|| self.etcd(&name));
            self.delete(storage, &name);
            let wanted = format!("{}/{storage}", self.group);
            stored.filter(|object| object["apiVersion"] == wanted)
        });
    }

    /// Changes the CRD, despite concurrent changes.
    pub(crate) fn change_crd(&self, change: impl Fn(&mut Value)) {
        let path = format!("{CRDS}/{}", self.crd_name());
        eventually("the CRD is changed", SOON, || {
            let mut crd = self.call(Method::GET, &path, None).ok();
            change(&mut crd);
            let answer = self.call(Method::PUT, &path, Some((JSON, crd.to_string())));
            assert!(answer.is_ok() || answer.code == 409, "{}", answer.message());
            answer.is_ok().then_some(())
        });
    }

    pub(crate) fn crd_name(&self) -> String {
        format!("{}.{}", self.sample.plural, self.group)
    }

    /// A complete object, as a user writes it.
    pub(crate) fn object(&self, version: &str, name: &str) -> Value {
        self.with_spec(version, name, self.sample.spec(version))
    }

    pub(crate) fn with_spec(&self, version: &str, name: &str, spec: Value) -> Value {
        json!({
            "apiVersion": format!("{}/{version}", self.group), "kind": self.sample.kind,
            "metadata": {"name": name, "namespace": self.ns}, "spec": spec,
        })
    }

    /// The path of a collection.
    pub(crate) fn all(&self, version: &str) -> String {
        let (group, ns, plural) = (&self.group, &self.ns, self.sample.plural);
        format!("/apis/{group}/{version}/namespaces/{ns}/{plural}")
    }

    /// The path of an object, or of a subresource such as `w1/status`.
    pub(crate) fn one(&self, version: &str, name: &str) -> String {
        format!("{}/{name}", self.all(version))
    }

    pub(crate) fn key(&self, name: &str) -> String {
        let (group, ns, plural) = (&self.group, &self.ns, self.sample.plural);
        format!("/registry/{group}/{plural}/{ns}/{name}")
    }

    /// The stored object.
    #[track_caller]
    pub(crate) fn etcd(&self, name: &str) -> Value {
        self.test_cluster.etcd.read(&self.key(name)).expect("stored")
    }

    pub(crate) fn call(&self, method: Method, path: &str, body: Option<(&str, String)>) -> Answer {
        self.test_cluster.api.client.call(method, path, body)
    }

    /// A GET that must succeed.
    pub(crate) fn call_get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).ok()
    }

    /// Retries until there is a value: caches follow etcd, and handlers follow the CRD.
    #[track_caller]
    pub(crate) fn eventually<T>(&self, ask: impl FnMut() -> Option<T>) -> T {
        let place = std::panic::Location::caller();
        eventually(&place.to_string(), SOON, ask)
    }

    /// The number of successful and failed conversions.
    pub(crate) fn conversions(&self) -> (u64, u64) {
        metrics::of_crd(self.test_cluster, &self.crd_name())
    }

    /// Keeps a value until the API server stops.
    pub(crate) fn keep(&self, what: impl Send + 'static) {
        self.kept.borrow_mut().push(Box::new(what));
    }

    /// Stops the instance as the kubelet does.
    pub(crate) fn stop_pointsman(&self) {
        if let Some(mut pointsman) = self.pointsman.borrow_mut().take() {
            pointsman.drain();
        }
    }

    /// Removes the kind with its objects, and waits until the API server stops serving the kind.
    pub(crate) fn clean(&self) {
        let path = format!("{CRDS}/{}", self.crd_name());
        self.call(Method::DELETE, &path, None);
        let group = format!("/apis/{}", self.group);
        for path in [path, group] {
            // After a recent change of the CRD, its finalizer may meet a new cache and take minutes (3 min 10 s on
            // 1.36).
            eventually(&format!("{path} is gone"), Duration::from_secs(300), || {
                (self.call(Method::GET, &path, None).code == 404).then_some(())
            });
        }
    }
}

impl Drop for TestContext<'_> {
    /// The caches of the API server still convert deleted objects, for an unknown time.
    fn drop(&mut self) {
        let pointsman = self.pointsman.take().map(|pointsman| Box::new(pointsman) as Running);
        self.test_cluster.leave_running(self.kept.take().into_iter().chain(pointsman));
    }
}

/// The group of a scenario.
pub(crate) fn group_of(name: &str) -> String {
    format!("{name}.example.com")
}

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
