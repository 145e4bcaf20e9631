{{/* The release's name, where it says what it is; it is a Service's name with up to eleven characters behind it. */}}
{{- define "pointsman.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "pointsman.name" .) .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "pointsman.name" .) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "pointsman.name" -}}
{{- .Values.nameOverride | default "pointsman" -}}
{{- end -}}

{{- define "pointsman.selector" -}}
app.kubernetes.io/name: {{ include "pointsman.name" . }}
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

{{/* Which definitions there are, for every program that reads them: flags, mounts and volumes. */}}
{{- define "pointsman.kindsArgs" -}}
{{- $args := list -}}
{{- if include "pointsman.kindsDirectory" . }}{{ $args = append $args "- --kinds=/kinds/files" }}{{ end -}}
{{- if .Values.kinds.volume }}{{ $args = append $args "- --kinds=/kinds/volume" }}{{ end -}}
{{- if not .Values.kinds.builtIn }}{{ $args = append $args "- --no-built-in" }}{{ end -}}
{{- join "\n" $args -}}
{{- end -}}

{{- define "pointsman.kindsMounts" -}}
{{- $mounts := list -}}
{{- if include "pointsman.kindsDirectory" . }}{{ $mounts = append $mounts "- {name: kinds, mountPath: /kinds/files, readOnly: true}" }}{{ end -}}
{{- if .Values.kinds.volume }}{{ $mounts = append $mounts "- {name: kinds-volume, mountPath: /kinds/volume, readOnly: true}" }}{{ end -}}
{{- join "\n" $mounts -}}
{{- end -}}

{{- define "pointsman.kindsVolumes" -}}
{{- if include "pointsman.kindsDirectory" . -}}
- name: kinds
  projected:
    sources:
    {{- if .Values.kinds.files }}
    - configMap:
        name: {{ include "pointsman.fullname" . }}-kinds
    {{- end }}
    {{- range .Values.kinds.configMaps }}
    - configMap:
        name: {{ . }}
    {{- end }}
{{ end -}}
{{- with .Values.kinds.volume -}}
- name: kinds-volume
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Whether each API server has a replica on its own node. */}}
{{- define "pointsman.controlPlane" -}}
{{- if (.Values.controlPlane | default dict).enabled }}yes{{ end -}}
{{- end -}}

{{/* Labels of Pods that are not servers, by their component: neither the Service nor the NetworkPolicy, which lets nothing
     out, is for them. */}}
{{- define "pointsman.otherLabels" -}}
{{- $component := index . 0 }}
{{- with index . 1 -}}
app.kubernetes.io/name: {{ include "pointsman.name" . }}-{{ $component }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ $component }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}
{{- end -}}
