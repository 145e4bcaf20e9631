//! The kinds of the scenarios.

use std::fs;
use std::path::Path;

use pointsman_core::definition::Kind;
use serde_json::{Value, json};

/// A kind with two versions and an example of each.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
    pub(crate) scale: bool,
    /// The group of the definition.
    pub(crate) group: &'static str,
    pub(crate) definition: &'static str,
    pub(crate) crd_file: &'static str,
    pub(crate) crd: &'static str,
    /// The spec of the same object in both versions, as a user writes it.
    pub(crate) specs: fn() -> (Value, Value),
}

impl Sample {
    pub(crate) fn old_spec(&self) -> Value {
        (self.specs)().0
    }

    pub(crate) fn new_spec(&self) -> Value {
        (self.specs)().1
    }

    pub(crate) fn spec(&self, version: &str) -> Value {
        if version == self.old { self.old_spec() } else { self.new_spec() }
    }

    /// Writes the definition with another group, so that scenarios are independent, and returns the CRD.
    pub(crate) fn install(&self, group: &str, dir: &Path) -> Value {
        fs::create_dir_all(dir).unwrap();
        if group == self.group {
            // Adds a kind of a user.
            WIDGET.install("beside.example.com", dir);
            let kinds = Kind::embedded().unwrap();
            let built_in = kinds.iter().find(|kind| kind.group() == group);
            return built_in.expect("a built-in kind").crd().clone();
        }
        let crd = self.crd.replace(self.group, group);
        // Built-in kinds are served as well, under their own names.
        let unnamed = |line: &&str| !line.starts_with("name: ");
        let renamed: Vec<&str> = self.definition.lines().filter(unnamed).collect();
        let name = group.replace('.', "-");
        let definition = format!("{}\nname: {name}\n", renamed.join("\n"));
        fs::write(dir.join("kind.yaml"), &definition).unwrap();
        fs::write(dir.join(self.crd_file), &crd).unwrap();
        for (file, text) in BESIDE.iter().filter(|(file, _)| definition.contains(file)) {
            fs::write(dir.join(file), text.replace("mattermost.com", &gone(group))).unwrap();
        }
        let read = |file: &str| fs::read_to_string(dir.join(file));
        let kind = Kind::load("kind.yaml", &definition, &mut |file| read(file)).unwrap();
        kind.crd().clone()
    }
}

/// CRDs of replaced kinds, by file.
const BESIDE: [(&str, &str); 1] = [(
    "clusterinstallations.crd.yaml",
    include_str!("../../../examples/kinds/mattermost/clusterinstallations.crd.yaml"),
)];

/// The group of the replaced kind of a scenario.
pub(crate) fn gone(group: &str) -> String {
    format!("was.{group}")
}

/// The kind that replaces ClusterInstallation.
pub(crate) static MATTERMOST: Sample = Sample {
    name: "mattermost",
    kind: "Mattermost",
    plural: "mattermosts",
    old: "v1beta1",
    new: "v1beta1",
    scale: false,
    group: "installation.mattermost.com",
    definition: include_str!("../../../examples/kinds/mattermost/mattermost.yaml"),
    crd_file: "mattermosts.crd.yaml",
    crd: include_str!("../../../examples/kinds/mattermost/mattermosts.crd.yaml"),
    specs: || (json!({"version": "5.31.0"}), json!({"version": "5.31.0"})),
};

/// One field for host and port becomes two: the kind of the conversion tests of Kubernetes.
pub(crate) static WIDGET: Sample = Sample {
    name: "widget",
    kind: "Widget",
    plural: "widgets",
    old: "v1",
    new: "v2",
    scale: true,
    group: "example.com",
    definition: include_str!("../../data/kinds/widgets.yaml"),
    crd_file: "widgets.crd.yaml",
    crd: include_str!("../../data/kinds/widgets.crd.yaml"),
    specs: || {
        let old = json!({"hostPort": "example.com:8080", "replicas": 2});
        let new = json!({"host": "example.com", "port": 8080, "replicas": 2});
        (old, new)
    },
};

/// A kind whose newer version requires more fields.
pub(crate) static LETTER: Sample = Sample {
    name: "letter",
    kind: "Letter",
    plural: "letters",
    old: "v1",
    new: "v2",
    scale: false,
    group: "example.com",
    definition: include_str!("../../data/kinds/letters.yaml"),
    crd_file: "letters.crd.yaml",
    crd: include_str!("../../data/kinds/letters.crd.yaml"),
    specs: || (json!({"address": "Ada", "size": 1}), json!({"recipient": "Ada", "size": 1})),
};

/// A kind with two incompatible controllers. The newer version has additional fields.
pub(crate) static ENGINE: Sample = Sample {
    name: "engine",
    kind: "Engine",
    plural: "engines",
    old: "v1",
    new: "v2",
    scale: true,
    group: "example.com",
    definition: include_str!("../../data/kinds/engines.yaml"),
    crd_file: "engines.crd.yaml",
    crd: include_str!("../../data/kinds/engines.crd.yaml"),
    specs: || {
        let old = json!({"power": 75, "replicas": 2, "serial": "T1"});
        let mut new = old.clone();
        new["cooling"] = json!("water");
        new["turbo"] = json!({"pressure": 3});
        (old, new)
    },
};

/// Hosts with versions of a control plane and a kubelet, without conversion.
pub(crate) static HOST: Sample = Sample {
    name: "host",
    kind: "Host",
    plural: "hosts",
    old: "v1",
    new: "v1",
    scale: false,
    group: "example.com",
    definition: include_str!("../../data/hosts/hosts.yaml"),
    crd_file: "hosts.crd.yaml",
    crd: include_str!("../../data/hosts/hosts.crd.yaml"),
    specs: || (json!({"personality": "worker"}), json!({"personality": "worker"})),
};

/// Cluster objects of Gardener, one for each shoot, without a namespace.
pub(crate) static SHOOT: Sample = Sample {
    name: "shoot",
    kind: "Cluster",
    plural: "clusters",
    old: "v1alpha1",
    new: "v1alpha1",
    scale: false,
    group: "extensions.gardener.cloud",
    definition: include_str!("../../../manifests/examples/gardener/clusters.yaml"),
    crd_file: "clusters.crd.yaml",
    crd: include_str!("../../../manifests/examples/gardener/clusters.crd.yaml"),
    specs: || {
        let spec = json!({"cloudProfile": {}, "seed": {}, "shoot": {}});
        (spec.clone(), spec)
    },
};

/// Elasticsearch, a built-in kind: one version, no conversion.
pub(crate) static ELASTICSEARCH: Sample = Sample {
    name: "elasticsearch",
    kind: "Elasticsearch",
    plural: "elasticsearches",
    old: "v1",
    new: "v1",
    scale: false,
    group: "elasticsearch.k8s.elastic.co",
    definition: include_str!("../../../examples/kinds/elasticsearch/elasticsearch.yaml"),
    crd_file: "elasticsearches.crd.yaml",
    crd: include_str!("../../../examples/kinds/elasticsearch/elasticsearches.crd.yaml"),
    specs: || (json!({"version": "8.18.0"}), json!({"version": "8.18.0"})),
};

/// The built-in kind.
pub(crate) static MATERIALIZE: Sample = Sample {
    name: "materialize",
    kind: "Materialize",
    plural: "materializes",
    old: "v1alpha1",
    new: "v1alpha2",
    scale: false,
    group: "materialize.cloud",
    definition: include_str!("../../../crates/core/kinds/materialize/materialize.yaml"),
    crd_file: "materializes.crd.yaml",
    crd: include_str!("../../../crates/core/kinds/materialize/materializes.crd.yaml"),
    specs: || {
        let role = "arn:aws:iam::123456789012:role/environmentd";
        let old = json!({
            "environmentdImageRef": "materialize/environmentd:v26.12.0",
            "backendSecretName": "materialize-backend",
            "environmentId": "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
            "environmentdIamRoleArn": role,
            "requestRollout": "22222222-2222-2222-2222-222222222222",
            "inPlaceRollout": true,
        });
        let new = json!({
            "environmentdImageRef": "materialize/environmentd:v26.12.0",
            "backendSecretName": "materialize-backend",
            "environmentId": "5c8a1f0e-7f2b-4b8e-9d55-2f6f3c1b0a77",
            "serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": role},
        });
        (old, new)
    },
};

/// A kind with every schema keyword that changes objects in the API server.
pub(crate) static FIGURE: Sample = Sample {
    name: "figure",
    kind: "Figure",
    plural: "figures",
    old: "v1",
    new: "v2",
    scale: false,
    group: "example.com",
    definition: include_str!("../data/figures.yaml"),
    crd_file: "figures.crd.yaml",
    crd: include_str!("../data/figures.crd.yaml"),
    specs: || (json!({"real": 1.5, "text": "1"}), json!({"real": "1.5", "text": 1})),
};

/// A kind with a field for each earlier data loss of a conversion.
pub(crate) static PARCEL: Sample = Sample {
    name: "parcel",
    kind: "Parcel",
    plural: "parcels",
    old: "v1",
    new: "v2",
    scale: false,
    group: "example.com",
    definition: include_str!("../data/parcels.yaml"),
    crd_file: "parcels.crd.yaml",
    crd: include_str!("../data/parcels.crd.yaml"),
    specs: || (json!({"image": "i", "note": "n"}), json!({"image": "i"})),
};
