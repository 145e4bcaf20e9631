module pointsman.example/tests/cluster/cert-manager

go 1.24.0

tool (
	github.com/cert-manager/cert-manager/cmd/cainjector
	github.com/cert-manager/cert-manager/cmd/controller
)

require github.com/cert-manager/cert-manager v1.11.5
