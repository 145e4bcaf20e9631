//! Selects cluster and credentials, by the rules of kubectl.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri, header::USER_AGENT};
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use pointsman_core::did_you_mean;

use super::cluster::Cluster;
use super::error_chain::chain;

/// Selection of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// The kubeconfig; if missing, `$KUBECONFIG`, `~/.kube/config`, or the Pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// A context, instead of the current one.
    pub context: Option<String>,
}

/// An error of connecting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The kubeconfig is unreadable.
    #[error("the kubeconfig {} cannot be read", file.display())]
    Unread {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The kubeconfig is invalid.
    #[error("the kubeconfig {} cannot be used", file.display())]
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: Box<KubeconfigError>,
    },
    /// The context does not exist in kubectl's configuration.
    #[error("no context {context:?} in the kubeconfig{meant}; known contexts: {known}")]
    Context {
        /// Its name.
        context: String,
        /// A suggestion, if similar.
        meant: String,
        /// Existing contexts.
        known: String,
    },
    /// The service account of this Pod is invalid.
    #[error("the service account of this Pod cannot be used")]
    Pod {
        /// The cause.
        source: Box<InferConfigError>,
    },
    /// Neither a kubeconfig nor a service account exists.
    #[error(
        "no cluster is configured: KUBECONFIG is not set, ~/.kube/config does not exist, and this is no Pod \
             with a service account"
    )]
    Nowhere,
    /// The certificates or credentials are invalid.
    #[error("the certificates or credentials of the kubeconfig cannot be used: {reason}")]
    Credentials {
        /// The cause, as text: its error chain is repetitive.
        reason: String,
    },
}

impl ConnectError {
    /// The remedy, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unread { .. } => Some("check --kubeconfig, or KUBECONFIG"),
            Self::Kubeconfig { .. } => Some("check --kubeconfig and --context"),
            Self::Context { .. } => Some("list the contexts: kubectl config get-contexts"),
            Self::Nowhere => Some("give --kubeconfig, or set KUBECONFIG"),
            Self::Pod { .. } | Self::Credentials { .. } => None,
        }
    }
}

/// Selects the cluster, without a call.
///
/// # Errors
/// No kubeconfig exists, or it is invalid.
pub async fn connect(options: &ConnectOptions) -> Result<Cluster, ConnectError> {
    cluster_of(config(options).await?)
}

/// The cluster of a kubeconfig from a Secret, without a call. The kubeconfig must be self-contained: its author is
/// another person than the operator, and must not run programs or read files here.
///
/// # Errors
/// The problem, as text.
pub(crate) async fn connect_by_text(text: &str) -> Result<Cluster, String> {
    // The parser's error quotes the line, which may contain a token.
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| "the file is no kubeconfig".to_owned())?;
    if let Some(why) = reaches_out(&kubeconfig) {
        return Err(why);
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    cluster_of(config.map_err(|error| chain(&error))?).map_err(|error| error.to_string())
}

/// External references in a kubeconfig, and insecure settings.
fn reaches_out(kubeconfig: &Kubeconfig) -> Option<String> {
    for cluster in kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref()) {
        if !cluster.server.as_ref().is_some_and(|server| is_guarded(server)) {
            return Some(
                "`server` is no https address: an attacker on the network could read the credentials".to_owned(),
            );
        }
        if cluster.proxy_url.is_some() {
            return Some(
                "the kubeconfig contains a proxy, `proxy-url`: set the proxy in the environment of this command \
                     instead"
                    .to_owned(),
            );
        }
        if cluster.certificate_authority.is_some() {
            return Some(format!("the kubeconfig names a file, `certificate-authority`: {INSIDE}"));
        }
        if cluster.insecure_skip_tls_verify.unwrap_or_default() {
            return Some(
                "the kubeconfig contains `insecure-skip-tls-verify`: an attacker on the network could read the \
                     credentials"
                    .to_owned(),
            );
        }
    }
    for user in kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref()) {
        let files = [
            ("tokenFile", user.token_file.is_some()),
            ("client-certificate", user.client_certificate.is_some()),
            ("client-key", user.client_key.is_some()),
        ];
        if let Some((name, _)) = files.iter().find(|(_, is_there)| *is_there) {
            return Some(format!("the kubeconfig names a file, `{name}`: {INSIDE}"));
        }
        if user.exec.is_some() || user.auth_provider.is_some() {
            return Some(
                "the kubeconfig runs a program, `exec` or `auth-provider`: use a token or a client certificate \
                     instead"
                    .to_owned(),
            );
        }
    }
    None
}

/// True if the connection is protected: by TLS, or on this machine.
fn is_guarded(server: &str) -> bool {
    let Ok(server) = server.parse::<Uri>() else { return false };
    let is_here = |host: &str| host == "127.0.0.1" || host == "[::1]" || host == "localhost";
    server.scheme_str() == Some("https") || server.scheme_str() == Some("http") && server.host().is_some_and(is_here)
}

fn cluster_of(mut config: Config) -> Result<Cluster, ConnectError> {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Retries are handled in this crate, with reports.
    config.default_retry = false;
    config.headers.push(agent());
    // A proxy from the kubeconfig always applies.
    let of_environment = set(["HTTPS_PROXY", "https_proxy"]).and_then(|proxy| proxy.parse().ok());
    if config.proxy_url == of_environment
        && passes_by(&config.cluster_url, &set(["NO_PROXY", "no_proxy"]).unwrap_or_default())
    {
        config.proxy_url = None;
    }
    let address = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| ConnectError::Credentials { reason: chain(&error) })?;
    Ok(Cluster::new(client, address.trim_end_matches('/').to_owned()))
}

async fn config(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let kubeconfig = match (&options.kubeconfig, &options.context) {
        (Some(file), _) => Kubeconfig::read_from(file).map_err(|error| unusable(options, error))?,
        (None, Some(_)) => Kubeconfig::read().map_err(|error| unusable(options, error))?,
        (None, None) => match Config::infer().await {
            Ok(config) => return Ok(config),
            // This error mentions both sources, each twice.
            Err(error) => Kubeconfig::read().map_err(|why| match unusable(options, why) {
                ConnectError::Nowhere if set(["KUBERNETES_SERVICE_HOST"]).is_some() => {
                    ConnectError::Pod { source: Box::new(error) }
                }
                why => why,
            })?,
        },
    };
    if let Some(context) = &options.context {
        has_context(&kubeconfig, context)?;
    }
    let chosen = KubeConfigOptions { context: options.context.clone(), ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &chosen).await.map_err(|error| unusable(options, error))
}

fn unusable(options: &ConnectOptions, error: KubeconfigError) -> ConnectError {
    let named = set(["KUBECONFIG"]);
    let is_explicit = named.is_some() || options.kubeconfig.is_some() || options.context.is_some();
    let theirs = || named.unwrap_or_else(|| "~/.kube/config".to_owned()).into();
    match error {
        KubeconfigError::FindPath if !is_explicit => ConnectError::Nowhere,
        KubeconfigError::ReadConfig(source, _) if !is_explicit && source.kind() == io::ErrorKind::NotFound => {
            ConnectError::Nowhere
        }
        KubeconfigError::ReadConfig(source, file) => ConnectError::Unread { file, source },
        error => {
            let file = options.kubeconfig.clone().unwrap_or_else(theirs);
            ConnectError::Kubeconfig { file, source: Box::new(error) }
        }
    }
}

fn has_context(kubeconfig: &Kubeconfig, context: &str) -> Result<(), ConnectError> {
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|named| named.name.as_str()).collect();
    if names.contains(&context) {
        return Ok(());
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let meant = did_you_mean(context, names);
    Err(ConnectError::Context { context: context.to_owned(), meant, known })
}

/// The first nonempty variable.
fn set<const N: usize>(names: [&str; N]) -> Option<String> {
    names.into_iter().filter_map(|name| std::env::var(name).ok()).find(|text| !text.is_empty())
}

/// True if this server bypasses the proxy, by kubectl's rules: `NO_PROXY` contains its name, domain or network, or it
/// is on this machine. kube compares `NO_PROXY` with the address of the proxy instead.
fn passes_by(server: &Uri, no_proxy: &str) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']).to_lowercase();
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    no_proxy.split(',').map(|entry| entry.trim().to_lowercase()).filter(|entry| !entry.is_empty()).any(|entry| {
        let named = entry.trim_start_matches('*').trim_start_matches('.');
        let in_network = address.is_some_and(|address| is_in(address, &entry));
        let under = host.strip_suffix(named).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        entry == "*" || in_network || (under && !named.is_empty())
    })
}

/// True if an address is in a network such as `10.0.0.0/8`.
fn is_in(address: IpAddr, network: &str) -> bool {
    let Some((base, length)) = network.split_once('/') else { return false };
    let (Ok(base), Ok(length)) = (base.parse::<IpAddr>(), length.parse::<u32>()) else { return false };
    let (address, base, bits) = match (address, base) {
        (IpAddr::V4(address), IpAddr::V4(base)) => (u128::from(address.to_bits()), u128::from(base.to_bits()), 32),
        (IpAddr::V6(address), IpAddr::V6(base)) => (address.to_bits(), base.to_bits(), 128),
        _ => return false,
    };
    let rest = bits - length.min(bits);
    address.checked_shr(rest).unwrap_or_default() == base.checked_shr(rest).unwrap_or_default()
}

/// The user agent in audit logs.
fn agent() -> (HeaderName, HeaderValue) {
    (USER_AGENT, HeaderValue::from_static(concat!("pointsman/", env!("CARGO_PKG_VERSION"))))
}

/// The remedy for a kubeconfig in a Secret.
const INSIDE: &str = "copy the content into the kubeconfig, as `…-data` or `token`";

/// Shorter than kubectl's dial timeout, which is too long for interactive use when a host drops packets.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::tests::waited;

    #[test]
    fn stored_kubeconfig_runs_no_plugin() {
        let kubeconfig = |cluster: &str, user: &str| {
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: \
                 a}}}}]\nclusters: [{{name: a, cluster: {{{cluster}}}}}]\nusers: [{{name: a, user: {{{user}}}}}]\n"
            )
        };
        let with =
            |cluster: &str, user: &str| waited(connect_by_text(&kubeconfig(cluster, user))).err().unwrap_or_default();
        let (fine, token) = ("server: 'https://a.example.com'", "token: sesame");
        assert_eq!(with(fine, token), "");
        assert_eq!(with("server: 'http://127.0.0.1:8080'", token), "");
        // The client library validates inline data.
        let whole = "server: 'https://a', certificate-authority-data: YQ==";
        let whole = Kubeconfig::from_yaml(&kubeconfig(whole, "client-certificate-data: YQ==, client-key-data: YQ=="));
        assert_eq!(reaches_out(&whole.unwrap()), None);
        for (cluster, user, expected) in [
            ("server: 'http://a.example.com'", token, "no https address"),
            ("server: 'http://127.0.0.1.example.com'", token, "no https address"),
            ("certificate-authority-data: ''", token, "no https address"),
            ("server: 'https://a', proxy-url: 'http://u:sesame@b'", token, "`proxy-url`"),
            ("server: 'https://a', certificate-authority: /etc/passwd", token, "`certificate-authority`"),
            ("server: 'https://a', insecure-skip-tls-verify: true", token, "`insecure-skip-tls-verify`"),
            (fine, "tokenFile: /var/run/token", "`tokenFile`"),
            (fine, "client-certificate: /crt", "`client-certificate`"),
            (fine, "client-key: /key", "`client-key`"),
            (fine, "exec: {command: sesame, apiVersion: v1}", "the kubeconfig runs a program, `exec`"),
            (fine, "auth-provider: {name: gcp, config: {}}", "`auth-provider`"),
            // The parser would quote the line.
            (fine, "token: [sesame]", "the file is no kubeconfig"),
            (fine, "token: 'sesame", "the file is no kubeconfig"),
        ] {
            let message = with(cluster, user);
            assert!(message.contains(expected) && !message.contains("sesame"), "{cluster} {user}: {message}");
        }
    }

    #[test]
    fn no_proxy_hosts_are_direct() {
        let bypasses_proxy = |server: &str, no_proxy: &str| passes_by(&server.parse().unwrap(), no_proxy);
        for server in ["https://127.0.0.1:6443", "https://localhost", "https://[::1]:6443"] {
            assert!(bypasses_proxy(server, ""), "{server}");
        }
        assert!(!bypasses_proxy("https://api.example.com:6443", ""));
        assert!(!bypasses_proxy("https://api.example.com:6443", "example.org, ,ample.com"));
        for no_proxy in ["*", "api.example.com", "x, .example.com", "example.com", "*.EXAMPLE.com"] {
            assert!(bypasses_proxy("https://api.example.com:6443", no_proxy), "{no_proxy}");
        }
        assert!(bypasses_proxy("https://10.1.2.3", "10.0.0.0/8") && bypasses_proxy("https://10.1.2.3", "10.1.2.3"));
        assert!(!bypasses_proxy("https://11.1.2.3", "10.0.0.0/8") && !bypasses_proxy("https://10.1.2.3", "fd00::/8"));
        assert!(bypasses_proxy("https://[fd00::1]", "fd00::/8") && bypasses_proxy("https://10.1.2.3", "0.0.0.0/0"));
    }
}
