#!/usr/bin/env bash
# Renders manifests/chart as plain manifests for kustomize, into manifests/plain.
#   render.sh          writes them
#   render.sh --check  compares them with the chart: exit code 1 if they differ
# HELM is the path of helm. `tests/cluster/assets.sh helm` builds one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
helm=${HELM:-helm}
command -v "$helm" >/dev/null || {
    echo "no helm: HELM names one, tests/cluster/assets.sh helm builds one" >&2
    exit 2
}

header="# Generated from manifests/chart by manifests/render.sh."
namespace='apiVersion: v1
kind: Namespace
metadata:
  name: pointsman-system
  labels:
    app.kubernetes.io/name: pointsman
    pod-security.kubernetes.io/enforce: restricted
'

# Omits the parts of Helm, such as the Pod of `helm test`. The values select the options.
render() { # values, more flags of helm
    local values=$1
    shift
    "$helm" template pointsman chart --skip-tests --namespace pointsman-system --values "chart/ci/$values-values.yaml" "$@" |
        sed -e '/^# Source: /d' -e '/^ *helm\.sh\/chart: /d' -e '/^ *app\.kubernetes\.io\/managed-by: Helm$/d'
}

plain() { # the set of manifests
    case $1 in
        cert-manager | secret)
            printf '%s\n%s' "$header" "$namespace"
            if [ "$1" = secret ]; then
                render plain --set certificate.source=secret --set certificate.secretName=pointsman-tls
            else
                render plain
            fi
            ;;
        monitoring)
            printf '%s\n' "$header"
            render monitoring --show-only templates/monitoring.yaml
            ;;
        migrate)
            printf '%s\n' "$header"
            render migrate --show-only templates/migrate.yaml
            ;;
    esac
}

differs=0
for what in cert-manager secret monitoring migrate; do
    text=$(plain "$what")
    if [ "${1:-}" = --check ]; then
        diff -u "plain/$what/pointsman.yaml" <(echo "$text") || differs=1
    else
        echo "$text" >"plain/$what/pointsman.yaml"
    fi
done
[ "$differs" = 0 ] || echo "manifests/plain differs from manifests/chart: run manifests/render.sh" >&2
exit "$differs"
