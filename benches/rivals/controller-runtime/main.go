// A conversion webhook as users of controller-runtime write it: typed structs, a hub and a spoke.
//
// It only converts, and limits nothing. It serves on a loopback port, with the certificate files of its flags.
package main

import (
	"log"
	"os"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: controller-runtime PORT DIRECTORY-OF-tls.crt-AND-tls.key")
	}
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	ctrllog.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	older := schema.GroupVersion{Group: "materialize.cloud", Version: "v1alpha1"}
	newer := schema.GroupVersion{Group: "materialize.cloud", Version: "v1alpha2"}
	scheme.AddKnownTypeWithName(older.WithKind("Materialize"), &MaterializeV1alpha1{})
	scheme.AddKnownTypeWithName(newer.WithKind("Materialize"), &MaterializeV1alpha2{})
	metav1.AddToGroupVersion(scheme, older)
	metav1.AddToGroupVersion(scheme, newer)

	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: os.Args[2]})
	server.Register("/convert", conversion.NewWebhookHandler(scheme, conversion.NewRegistry()))
	if err := server.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
