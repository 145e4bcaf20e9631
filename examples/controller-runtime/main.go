// A controller whose versions run side by side. Each version reconciles only objects with its label, and has its own
// Lease. CONTROLLER_VERSION is its version.
package main

import (
	"context"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct{ client.Client }

// Reconcile is your code. A missing object may have changed its label: then the other version handles its finalizer.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := materialize()
	err := r.Get(ctx, request.NamespacedName, object)
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// Typed objects such as &v1alpha2.Materialize{} work as well.
func materialize() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "materialize.cloud", Version: "v1alpha2", Kind: "Materialize"})
	return object
}

func run() error {
	version := os.Getenv("CONTROLLER_VERSION") // 2.17.0
	mine := labels.SelectorFromSet(labels.Set{"materialize.cloud/controller-version": version})
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		LeaderElection:   true,
		LeaderElectionID: "materialize-operator-v" + strings.ReplaceAll(version, ".", "-"),
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			materialize(): {Label: mine},
		}},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(materialize()).Complete(&reconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}
