// One version of a controller beside another: it sees the objects that its label says are its own, and holds a Lease of
// its own. Which version it is, CONTROLLER_VERSION says.
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

// Reconcile is yours. An object that is gone may only have left the selection: its finalizer is the other version's then.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := materialize()
	err := r.Get(ctx, request.NamespacedName, object)
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// Typed objects do as well, such as &v1alpha2.Materialize{}.
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
