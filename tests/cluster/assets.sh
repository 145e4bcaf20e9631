#!/usr/bin/env bash
# Builds the programs the cluster tests run against, and prints where they are.
# `assets.sh --help` explains the use, and README.md in this folder the reasons.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
all_versions="1.36 1.37 1.34"

usage() {
    cat <<'EOF'
usage: assets.sh [1.36|1.37|1.34|helm|promtool]...  print the assets directory of each
                                      version (default: all three), building what is
                                      missing; helm's and promtool's have nothing else
       assets.sh --verify [VERSION]...  the same, with a full checksum comparison
       assets.sh --built [VERSION]...   the same, and exit code 3 where something is
                                      missing, instead of building it
       assets.sh --record             write the checksums of what is built into
                                      SHA256SUMS.<os>-<arch>-<go version>
       assets.sh --help               this text

The directory can be used as KUBEBUILDER_ASSETS. It holds etcd, kube-apiserver
and kubectl; the one of 1.36 also kube-controller-manager, cert-manager-controller,
cert-manager-cainjector, cert-manager-crds/ and helm. Progress goes to stderr.

Environment:
  KUBEBUILDER_ASSETS  if it holds etcd, kube-apiserver and kubectl, its path is
                      printed for every version and nothing is built
  POINTSMAN_ASSETS    the cache (default ${XDG_CACHE_HOME:-~/.cache}/pointsman/assets)

Exit codes: 0 done; 1 a build failed; 2 wrong use; 3 not built, and no Go >= 1.26
or not asked to; 4 checksum mismatch.
EOF
}

# ---- programs ---------------------------------------------------------------

# The module directories of each version.
modules_of() {
    case $1 in
        1.36) echo "etcd kubernetes-1.36 cert-manager helm" ;;
        1.37 | 1.34) echo "etcd kubernetes-$1" ;;
        helm) echo "helm" ;;
        promtool) echo "promtool" ;;
        *) return 1 ;;
    esac
}

every_module="etcd kubernetes-1.36 kubernetes-1.37 kubernetes-1.34 cert-manager helm promtool"

# The programs of a module, as "name=package". The first of a Kubernetes module
# is by far the largest; the others find most of their packages in Go's cache.
programs_of() {
    case $1 in
        etcd) echo "etcd=go.etcd.io/etcd/server/v3" ;;
        kubernetes-1.36)
            echo "kube-apiserver=k8s.io/kubernetes/cmd/kube-apiserver"
            echo "kube-controller-manager=k8s.io/kubernetes/cmd/kube-controller-manager"
            echo "kubectl=k8s.io/kubernetes/cmd/kubectl"
            ;;
        kubernetes-*)
            echo "kube-apiserver=k8s.io/kubernetes/cmd/kube-apiserver"
            echo "kubectl=k8s.io/kubernetes/cmd/kubectl"
            ;;
        cert-manager)
            echo "cert-manager-controller=github.com/cert-manager/cert-manager/cmd/controller"
            echo "cert-manager-cainjector=github.com/cert-manager/cert-manager/cmd/cainjector"
            ;;
        helm) echo "helm=helm.sh/helm/v3/cmd/helm" ;;
        promtool) echo "promtool=github.com/prometheus/prometheus/cmd/promtool" ;;
    esac
}

# Tests of rules need no service discovery, which has most of the dependencies of Prometheus.
tags_of() {
    case $1 in promtool) echo " -tags=remove_all_sd" ;; esac
}

# Without these, kube-apiserver reports version v0.0.0-master, and helm assumes older versions of itself and the cluster.
ldflags_of() {
    local flags="-s -w" version
    case $1 in
        kubernetes-*)
            version=$(sed -n 's|^[[:space:]]*k8s\.io/kubernetes v\([0-9.]*\).*$|\1|p' "$here/$1/go.mod")
            local set="-X k8s.io/component-base/version" minor=${version#*.}
            flags="$flags $set.gitVersion=v$version $set.gitMajor=${version%%.*} $set.gitMinor=${minor%%.*}"
            ;;
        helm)
            version=$(sed -n 's|^[[:space:]]*helm\.sh/helm/v3 \(v[0-9.]*\).*$|\1|p' "$here/$1/go.mod")
            flags="$flags -X helm.sh/helm/v3/internal/version.version=$version"
            # The Kubernetes version that `helm template` assumes, as in the Makefile of helm.
            version=$(sed -n 's|^[[:space:]]*k8s\.io/client-go v0\.\([0-9]*\).*$|\1|p' "$here/$1/go.mod")
            local rules=helm.sh/helm/v3/pkg/lint/rules chartutil=helm.sh/helm/v3/pkg/chartutil
            flags="$flags -X $rules.k8sVersionMajor=1 -X $rules.k8sVersionMinor=$version"
            flags="$flags -X $chartutil.k8sVersionMajor=1 -X $chartutil.k8sVersionMinor=$version"
            ;;
    esac
    echo "$flags"
}

build_flags="-trimpath -buildvcs=false"
build_env="CGO_ENABLED=0 GOFLAGS=-mod=readonly GOTOOLCHAIN=local GOWORK=off GOAMD64=v1"

# ---- helpers -----------------------------------------------------------------

say() { echo "assets: $*" >&2; }

fail() { # exit code, then words
    local code=$1
    shift
    say "$*"
    exit "$code"
}

if command -v sha256sum >/dev/null; then
    sha256() { sha256sum "$@"; }
else
    sha256() { shasum -a 256 "$@"; }
fi

os=$(uname -s | tr '[:upper:]' '[:lower:]')
arch=$(uname -m)
case $arch in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac

# The key of a module directory: all inputs of its programs except the Go version,
# so that a newer Go keeps a valid cache.
key_of() {
    {
        cat "$here/$1/go.mod" "$here/$1/go.sum"
        echo "$os $arch $build_env $build_flags$(tags_of "$1") $(ldflags_of "$1")"
        programs_of "$1"
    } | sha256 | cut -c1-12
}

# Writes SHA256SUMS and SIZES for the files of the directory.
seal() (
    cd "$1"
    find . -type f | sed 's|^\./||' | LC_ALL=C sort | while read -r name; do
        sha256 "$name" >&3
        echo "$(wc -c <"$name" | tr -d ' ') $name"
    done 3>"$1.sums" >"$1.sizes"
    mv "$1.sums" SHA256SUMS
    mv "$1.sizes" SIZES
)

# Whether the directory is complete: sizes always, contents with --verify.
intact() (
    cd "$1" 2>/dev/null || exit 1
    [ -s SIZES ] && [ -s SHA256SUMS ] || exit 1
    while read -r size name; do
        [ -f "$name" ] && [ "$(wc -c <"$name")" -eq "$size" ] || exit 1
    done <SIZES
    if [ -n "$verify" ]; then sha256 -c SHA256SUMS >/dev/null 2>&1 || exit 1; fi
)

# Compares a module's checksums with the committed ones of this Go version, if any.
compare() { # module, directory
    local expected="$here/SHA256SUMS.$os-$arch-$(cat "$2/GOVERSION")" want
    [ -f "$expected" ] || return 0
    want=$(sed -n "s|^\([0-9a-f]*  \)$1/|\1|p" "$expected")
    [ -n "$want" ] || return 0 # a module that was not recorded yet
    [ "$want" = "$(cat "$2/SHA256SUMS")" ] && return 0
    say "CHECKSUM MISMATCH for $1 ($2); expected by $(basename "$expected") (<), found (>):"
    diff <(echo "$want") "$2/SHA256SUMS" >&2 || true
    return 4
}

# Go >= 1.26, or exit 3 with one line.
need_go() {
    local have="no Go" version ways="install Go >= 1.26, or set KUBEBUILDER_ASSETS to a directory with etcd, kube-apiserver and kubectl"
    if command -v go >/dev/null; then
        version=$(GOTOOLCHAIN=local go env GOVERSION)
        case $version in
            go1.2[6-9]* | go1.[3-9][0-9]* | go[2-9]*) go_version=${version%% *} && return ;;
        esac
        have="only $version"
    fi
    fail 3 "the test cluster's programs are not built in $cache and there is $have to build them: $ways"
}

# ---- building ----------------------------------------------------------------

step=0
steps=0

# One module's programs into its part directory, atomically.
build_part() { # module, directory
    local module=$1 out=$2 program name began flags tmp
    tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
    trash=$tmp
    flags=$(ldflags_of "$module")
    while IFS='=' read -r name program; do
        step=$((step + 1))
        began=$(date +%s)
        say "[$step/$steps] building $name ($module, $go_version) ..."
        # stdin is the list of programs, fd 9 the lock: neither is for the build.
        (cd "$here/$module" && env $build_env nice -n 10 \
            go build $build_flags $(tags_of "$module") -ldflags "$flags" -o "$tmp/$name" "$program") </dev/null 9>&- >&2 ||
            fail 1 "building $name failed (see above; the sources come through GOPROXY)"
        say "[$step/$steps] built $name in $(($(date +%s) - began)) s, $(($(wc -c <"$tmp/$name") / 1048576)) MiB"
    done < <(programs_of "$module")
    if [ "$module" = cert-manager ]; then extract_crds "$tmp/cert-manager-crds"; fi
    seal "$tmp"
    echo "$go_version" >"$tmp/GOVERSION"
    chmod 755 "$tmp"
    compare "$module" "$tmp" || exit 4
    rm -rf "$out"
    mv "$tmp" "$out"
    trash=
}

# cert-manager keeps its CRDs as Helm templates; only labels are templated.
extract_crds() {
    local source crd
    source=$(cd "$here/cert-manager" && env $build_env go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)
    mkdir "$1"
    for crd in "$source"/deploy/crds/crd-*.yaml; do
        sed '/{{/d' "$crd" >"$1/$(basename "$crd" | sed 's/^crd-//')"
    done
}

part_of() { echo "$cache/parts/$1-$(key_of "$1")"; }

# Hard links of the parts' files, so that a version directory costs no space.
assemble() { # version, directory
    local module tmp
    tmp=$(mktemp -d "$cache/.tmp.XXXXXX")
    trash=$tmp
    for module in $(modules_of "$1"); do
        part=$(part_of "$module")
        (cd "$part" && sed 's/^[0-9]* //' SIZES) | while read -r name; do
            mkdir -p "$(dirname "$tmp/$name")"
            ln "$part/$name" "$tmp/$name"
        done
        cat "$part/SIZES" >>"$tmp/SIZES"
        cat "$part/SHA256SUMS" >>"$tmp/SHA256SUMS"
    done
    chmod 755 "$tmp"
    rm -rf "$2"
    mv "$tmp" "$2"
    trash=
}

directory_of() { # version
    local module keys=
    for module in $(modules_of "$1"); do keys="$keys$(key_of "$module")"; done
    echo "$cache/$1-$(echo "$keys" | sha256 | cut -c1-12)"
}

# Everything that is missing for the versions given.
build_missing() {
    local version module modules= missing= part
    for version in "$@"; do
        for module in $(modules_of "$version"); do
            case " $modules " in *" $module "*) ;; *) modules="$modules $module" ;; esac
        done
    done
    for module in $modules; do
        if intact "$(part_of "$module")"; then continue; fi
        missing="$missing $module"
        steps=$((steps + $(programs_of "$module" | wc -l)))
    done
    if [ -n "$missing" ]; then
        need_go
        [ -z "$own" ] || say "KUBEBUILDER_ASSETS ($own) lacks etcd, kube-apiserver or kubectl: not used"
    fi
    for module in $missing; do
        part=$(part_of "$module")
        if [ -d "$part" ]; then say "$part is damaged, building it again"; fi
        build_part "$module" "$part"
    done
    for version in "$@"; do
        intact "$(directory_of "$version")" || assemble "$version" "$(directory_of "$version")"
    done
}

record() {
    local module go= part out
    for module in $every_module; do
        part=$(part_of "$module")
        intact "$part" || fail 1 "$module is not built: run assets.sh first"
        [ -z "$go" ] || [ "$go" = "$(cat "$part/GOVERSION")" ] ||
            fail 1 "built with different versions of Go: remove $cache and run assets.sh first"
        go=$(cat "$part/GOVERSION")
    done
    out="$here/SHA256SUMS.$os-$arch-$go"
    for module in $every_module; do
        sed "s|  |  $module/|" "$(part_of "$module")/SHA256SUMS"
    done >"$out"
    say "wrote $out"
}

# ---- main --------------------------------------------------------------------

verify=
build=1
action=print
versions=
for arg in "$@"; do
    case $arg in
        -h | --help) usage && exit ;;
        --verify) verify=1 ;;
        --built) build= ;;
        --record) action=record ;;
        -*) usage >&2 && exit 2 ;;
        *)
            modules_of "$arg" >/dev/null || fail 2 "no version $arg: there are $all_versions"
            versions="$versions $arg"
            ;;
    esac
done
versions=${versions:-$all_versions}
cache=${POINTSMAN_ASSETS:-${XDG_CACHE_HOME:-$HOME/.cache}/pointsman/assets}
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac

if [ "$action" = record ]; then
    verify=1
    record
    exit
fi

own=${KUBEBUILDER_ASSETS:-}
case $versions in " helm" | " promtool" | " helm promtool") own= ;; esac # it never holds these
if [ -n "$own" ] && [ -x "$own/etcd" ] && [ -x "$own/kube-apiserver" ] && [ -x "$own/kubectl" ]; then
    for version in $versions; do (cd "$own" && pwd); done
    exit
fi

# The parts are only needed for building and for --verify, which asks more.
ready() { # version
    intact "$(directory_of "$1")" || return 1
    [ -n "$verify" ] || return 0
    for module in $(modules_of "$1"); do intact "$(part_of "$module")" || return 1; done
}

missing=
for version in $versions; do
    ready "$version" || missing="$missing $version"
done

if [ -n "$missing" ]; then
    [ -n "$build" ] || fail 3 "not built:$missing (tests/cluster/assets.sh$missing builds it)"
    # Fails without Go before it creates a cache directory.
    go_version=
    [ -d "$cache/parts" ] || need_go
    mkdir -p "$cache/parts"
    if command -v flock >/dev/null; then
        exec 9>"$cache/.lock"
        flock -n 9 || {
            say "another run is building in $cache: waiting for it"
            flock 9
        }
        rm -rf "$cache"/.tmp.*
    fi
    trash=
    trap '[ -z "$trash" ] || rm -rf "$trash"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    # Another run may have built it meanwhile: this looks again, under the lock.
    build_missing $missing
fi

if [ -n "$verify" ]; then
    for version in $versions; do
        for module in $(modules_of "$version"); do
            compare "$module" "$(part_of "$module")" || exit 4
        done
    done
fi

for version in $versions; do directory_of "$version"; done
