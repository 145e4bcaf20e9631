{{/* The release's name, where it says what it is; it is a Service's name with up to eleven characters behind it. */}}
{{- define "pointsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "pointsman" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-pointsman" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: pointsman
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pointsman.labels" -}}
{{ include "pointsman.selector" . }}
app.kubernetes.io/component: server
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "pointsman.image" -}}
{{- $repository := required "image.repository: say where your image is; there is no published one (docs/install.md)" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "pointsman.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.secret" -}}
{{- if .Values.certificate.secretName -}}
{{- .Values.certificate.secretName -}}
{{- else -}}
{{- include "pointsman.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "pointsman.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{- .Values.priorityClass.name | default (include "pointsman.fullname" .) -}}
{{- else -}}
{{- .Values.priorityClass.name -}}
{{- end -}}
{{- end -}}

{{/* Whether there is a directory that is put together from ConfigMaps. */}}
{{- define "pointsman.kindsDirectory" -}}
{{- if or .Values.kinds.files .Values.kinds.configMaps }}yes{{ end -}}
{{- end -}}
